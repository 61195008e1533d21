"""One page of ratios, or the benchmarks that are named: `python -m tests.benchmarks [NAME …]`.

`all` are all of this folder, which takes an hour.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

from tests import benchmarks


def run(names: list[str]) -> None:
    """Run the modules with a `main()`, by name."""
    modules = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    found = modules - {"__main__", "compare", "page"}
    for name in sorted(found) if names == ["all"] else names or ["page"]:
        module = importlib.import_module(f"tests.benchmarks.{name}")
        if hasattr(module, "main"):
            print(f"\n== {name} ==\n")
            module.main()


if __name__ == "__main__":
    run(sys.argv[1:])
