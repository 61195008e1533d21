"""Types are described to msgspec by one thread at a time, everywhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_jobs.system.struct_types import described
from tests.tables import each_row

ROOT = Path(__file__).parents[2]
BUILTIN = {
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "object",
    "list",
    "dict",
    "tuple",
    "set",
    "Any",
    "Json",
    "msgspec",
}
ONCE = {"AnyLine", "Request", "Answer"}
"""Unions that one module decodes into, when it is imported, and nothing else."""

PURE = ("domain", "text")
"""Packages that may not import `threading`; their types are described while an import holds its lock."""

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("hermes_jobs", "workers", "schedules")
    for path in (ROOT / package).rglob("*.py")
    if path.relative_to(ROOT).parts[1] not in PURE and path.name != "struct_types.py"
)


def undescribed(tree: ast.AST) -> Iterator[str]:
    """The types that a call of msgspec decodes into, where they are not described."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        if name.endswith((".decode", "convert")) and name.startswith(("msgspec.", "json.decode")):
            given = [each.value for each in call.keywords if each.arg == "type"]
            given += call.args[1:2] if name == "msgspec.convert" else []
        elif name.startswith("msgspec.") and name.endswith(".Decoder"):
            given = call.args[:1]
        else:
            continue
        for each in given:
            names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)} - BUILTIN - ONCE
            if names and not ast.unparse(each).startswith("described("):
                yield f"{call.lineno}: {ast.unparse(each)}"


@each_row(FILES)
def test_types_are_described_before_decoding(file: str) -> None:
    assert list(undescribed(ast.parse((ROOT / file).read_text("utf-8")))) == []


def test_an_undescribed_type_is_noticed() -> None:
    code = "msgspec.json.decode(a, type=Kind); msgspec.convert(b, tuple[Kind, ...]); json.decode(c, type=str)"
    assert list(undescribed(ast.parse(code))) == ["1: Kind", "1: tuple[Kind, ...]"]


def test_a_type_is_returned_as_it_is() -> None:
    class Kind(msgspec.Struct):
        number: int

    assert described(Kind) is Kind
    assert msgspec.json.decode(b'{"number":1}', type=described(Kind)) == Kind(1)


@pytest.mark.slow
def test_threads_that_decode_into_a_new_type_at_the_same_moment_do_not_crash_the_process() -> None:
    """Where each described the type for itself, about one in two such processes ended with SIGSEGV."""
    for _ in range(3):
        command = [sys.executable, "-m", "tests.system.threads_decoding"]
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_unions_and_generic_types_are_described_too() -> None:
    class One(msgspec.Struct, tag=True):
        number: int

    class Two(msgspec.Struct, tag=True):
        text: str

    for form in (One | Two, list[One], dict[str, Two]):
        assert described(form) is form  # type: ignore[arg-type]
