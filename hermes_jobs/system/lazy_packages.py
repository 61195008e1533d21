"""Packages whose `__init__` runs when a name in them is first used, and not when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any


@contextmanager
def lazy_packages(*packages: str) -> Iterator[None]:
    """Within it, these packages and those inside them are imported lazily; their modules are not.

    `importlib.util.LazyLoader` cannot do that: to import a module of a package, its `__path__` is read, which
    is a use.
    """
    finder = _Finder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def provide(module: str, names: str) -> None:
    """Put names of a module into its lazy package, whose `__init__` need not run for them.

    Where an update has moved them, it runs at their first use.
    """
    with suppress(ImportError):
        found = vars(import_module(module))
        package = sys.modules[module.rpartition(".")[0]]
        vars(package).update({name: found[name] for name in names.split() if name in found})


class _Finder:
    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages
        self._below = tuple(f"{package}." for package in packages)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._packages and not name.startswith(self._below):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and spec.submodule_search_locations is not None:
            spec.loader = _LazyLoader(spec.loader)
        return spec


class _LazyLoader(Loader):
    """The loader of one package; it needs no `__init__` until `complete`."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._lock = RLock()
        self._has_begun = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Package

    def complete(self, module: ModuleType) -> None:
        """Run the `__init__`, once; another thread waits for its end."""
        with self._lock:
            if not self._has_begun:
                self._has_begun = True
                self._loader.exec_module(module)
                module.__class__ = ModuleType


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        loader = self.__spec__.loader if self.__spec__ is not None else None
        if isinstance(loader, _LazyLoader):
            loader.complete(self)
        if name in self.__dict__:
            return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
