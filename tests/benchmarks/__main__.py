"""Run every benchmark of this folder, or those that are named: `python -m tests.benchmarks [NAME …]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from tests import benchmarks


def run(names: list[str]) -> None:
    """Run the modules with a `main()`, by name."""
    found = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__"]
    for name in names or sorted(found):
        module = importlib.import_module(f"tests.benchmarks.{name}")
        if hasattr(module, "main"):
            print(f"\n== {name} ==\n")
            module.main()


if __name__ == "__main__":
    run(sys.argv[1:])
