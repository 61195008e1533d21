"""Counts what the redesign's goals speak of: `python -m tests.docs.house`.

Each line: what it is, its value, the goal, and what this script counts at commit f23fd15e; of features,
which packages import them; behind it, why a goal is missed.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path
from statistics import mean

import grimp

from hermes_jobs.settings import known_keys

PRODUCT = ("hermes_jobs", "workers", "schedules")
KERNEL = ("kernel", "llm", "tools", "text", "system", "folders", "prompt")
"""The kernel with what it stands on."""
WIRING = ("bootstrap", "app.py", "kernel/feature.py")
WHY = {
    "product lines": "since then: files and voice, the web, the API, hooks, editors, Celery",
    "kernel, llm, tools, text, system": "the rules on commands and the scan of texts are 8.5k of it",
    "files that name an event, mean": "it is declared, decided, folded, projected, shown, often due",
    "pairs of structs, five equal fields": "86 are events, stored flat; of the others see ADR 209",
    "function bodies over 40 lines": "a `match` over events with one case each, or options of a client",
    "configuration keys": "78 are documented for scripts; who turns the others: ADR 149 and 209",
    "wiring lines": "endpoints, models by purpose, workers and turns' settings are 880 of it",
    "imports of features by the kernel": "each with its reason in pyproject.toml, contract `features`",
    "features by features, not by api or events": "the pairs are listed in tests/features/test_features.py",
}
"""Why a goal is missed, by row."""
WHY_IMPORTED = {
    "bootstrap": "made with the application",
    "client": "offered by the Python door",
    "features": "used by other features, the pairs are in tests/features/test_features.py",
    "interfaces": "shown by frames of several features: chat, doctor, pages",
    "kernel": "see pyproject.toml, contract `features`",
    "runtime": "see pyproject.toml, contract `features`",
    "tools": "see pyproject.toml, contract `features`",
    "testing": "what tests of users need",
    "workers": "named in Flower and by `up`",
}
"""Why a package imports a feature."""
EQUAL_FIELDS = 5
LONG = 40
EVENTS = re.compile(r"class (\w+)\(Event, frozen=True")


class House:
    """The product's source files in one checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts = {
            file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
            for package in PRODUCT
            for file in sorted((root / package).rglob("*.py"))
        }

    def lines(self, *parts: str) -> int:
        """The lines of those parts of `hermes_jobs`; of everything for none."""
        prefixes = tuple(f"hermes_jobs/{part}" for part in parts)
        return sum(
            text.count("\n")
            for name, text in self.texts.items()
            if not parts or any(name == prefix or name.startswith(f"{prefix}/") for prefix in prefixes)
        )

    def files_naming_an_event(self) -> float:
        """The mean number of files that name an event."""
        events = {name for text in self.texts.values() for name in EVENTS.findall(text)}
        naming = Counter(
            word for text in self.texts.values() for word in events.intersection(re.findall(r"\w+", text))
        )
        return mean(naming[event] for event in events)

    def alike_structs(self) -> int:
        """Pairs of classes that share five fields of the same name and type."""
        structs = [fields for text in self.texts.values() for fields in _fields(ast.parse(text))]
        return sum(len(one & other) >= EQUAL_FIELDS for one, other in combinations(structs, 2))

    def long_bodies(self) -> int:
        """Functions whose body, without signature and docstring, has more than 40 lines."""
        return sum(
            _body_lines(node) > LONG for text in self.texts.values() for node in ast.walk(ast.parse(text))
        )

    def packages_of_features(self) -> dict[str, set[str]]:
        """The packages outside its folder that import from each feature, as `hermes_jobs/kernel/streams`."""
        found: dict[str, set[str]] = {}
        for name, text in self.texts.items():
            for feature in re.findall(r"hermes_jobs\.features[. ](?:import )?(\w+)", text):
                package = "/".join(name.split("/")[: 2 if name.startswith("hermes_jobs") else 1])
                if not name.startswith(f"hermes_jobs/features/{feature}/"):
                    found.setdefault(feature, set()).add(package)
        return {feature: found.get(feature, set()) for feature in self.features()}

    def features(self) -> list[str]:
        """The folders of features."""
        return sorted({name.split("/")[2] for name in self.texts if re.match(r"\w+/features/\w+/", name)})

    def imports_between_features(self) -> int:
        """The imports of one feature's modules by another, other than its `api` and `events`."""
        found = 0
        for name, text in self.texts.items():
            own = name.split("/")[2] if name.startswith("hermes_jobs/features/") else None
            for feature, rest in re.findall(r"^\s*from hermes_jobs\.features\.(\w+)(.*)$", text, re.M):
                other = own not in (None, "__init__.py", feature)
                found += other and not re.match(r"(\.| import )(api|events)\b", rest)
        return found

    def kernel_naming_features(self) -> int:
        """The imports of features by the kernel that the contract `features` still allows."""
        configuration = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        contracts = configuration["tool"]["importlinter"]["contracts"]
        return sum(len(each["ignore_imports"]) for each in contracts if each["id"] == "features")

    def table(self) -> Iterator[tuple[str, str, str, str]]:
        """The rows: what, value, goal, before."""
        yield "product lines", f"{self.lines():,}", "≤ 100,000", "117,329"
        yield "kernel, llm, tools, text, system", f"{self.lines(*KERNEL):,}", "≤ 45,000", "59,226"
        yield "files that name an event, mean", f"{self.files_naming_an_event():.1f}", "≤ 4", "8.3"
        yield "pairs of structs, five equal fields", str(self.alike_structs()), "≤ 60", "187"
        yield "function bodies over 40 lines", str(self.long_bodies()), "–", "11"
        yield "configuration keys", str(len(known_keys())), "≤ 90", "127"
        yield "wiring lines", f"{self.lines(*WIRING):,}", "≤ 1,200", "3,381"
        yield "import circles", str(circles()), "0", "0"
        yield "imports of features by the kernel", str(self.kernel_naming_features()), "0", "–"
        yield "features by features, not by api or events", str(self.imports_between_features()), "0", "–"
        for feature, packages in self.packages_of_features().items():
            names = ", ".join(sorted(packages)) or "none"
            yield f"packages that import {feature}", str(len(packages)), "0", names


def _body_lines(node: ast.AST) -> int:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _fields(module: ast.Module) -> Iterator[frozenset[tuple[str, str]]]:
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield frozenset(
                (each.target.id, ast.unparse(each.annotation))
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            )


def circles() -> int:
    """Circles of imports in this checkout: 1 where there are some."""
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    imports = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError:
        return 1
    return 0


if __name__ == "__main__":
    house = House(Path(__file__).parents[2])
    rows = [("", "now", "goal", "f23fd15e, or where"), *house.table()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[3], *filter(None, (WHY.get(row[0]),))]))  # noqa: T201
    for package, why in WHY_IMPORTED.items():
        print(f"imports from {package}: {why}")  # noqa: T201
