"""Finds plugins by name.

The order: built-in parts, installed packages, the home's `plugins/`. The first one with the name is used, so
that a file in the home cannot replace a built-in part.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hermes_jobs.errors import Misconfigured

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ForeignForm(Protocol):
    """The form of plugins that were written for another program."""

    def prepare(self, folder: Path) -> None:
        """Before the package in that folder is imported."""

    def factory_of(self, module: ModuleType) -> Any:
        """The factory of the imported package; None where it has none."""


class PluginKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of part that can be chosen by name.

    `what` it is called, `setting` chooses it, `group` is that of its entry points, `bundled` are ours as
    `module:attribute`, and `attribute` is its name in a folder's package. `foreign` reads the packages of
    others that have no such name.
    """

    what: str
    setting: str
    group: str
    bundled: Mapping[str, str]
    attribute: str
    foreign: ForeignForm | None = None

    def names(self, plugins: Path) -> tuple[str, ...]:
        """All that are there, in the order of their names."""
        installed = {point.name for point in entry_points_of(self.group)}
        there = {
            path.parent.name for path in plugins.glob("*/__init__.py") if _NAME.fullmatch(path.parent.name)
        }
        return tuple(sorted({*self.bundled, *installed, *there}))

    def check_name(self, name: str, plugins: Path) -> None:
        """Raise `Misconfigured` where there is none of that name."""
        if name not in self.bundled and name not in self.names(plugins):
            there = ", ".join(self.names(plugins))
            raise Misconfigured(
                f"{self.setting} is {name!r}, and there is no such {self.what}.",
                hint=f"There are: {there}. One of your own is a folder in {plugins}.",
            )

    def factory_of(self, name: str, plugins: Path) -> Any:
        """The factory of that name. Raises `Misconfigured`, and any exception of its code."""
        self.check_name(name, plugins)
        if name in self.bundled:
            module, _, attribute = self.bundled[name].partition(":")
            return getattr(import_module(module), attribute)
        point = next(iter(entry_points_of(self.group).select(name=name)), None)
        if point is not None:
            return point.load()
        if self.foreign is not None:
            self.foreign.prepare(plugins / name)
        package = _module_in(plugins / name)
        factory = getattr(package, self.attribute, None)
        if factory is None and self.foreign is not None:
            factory = self.foreign.factory_of(package)
        if factory is None:
            raise Misconfigured(
                f"{self.setting} is {name!r}, and {plugins / name} brings no {self.what}.",
                hint=f"Its __init__.py has to have one as `{self.attribute}`.",
            )
        return factory


def entry_points_of(group: str) -> EntryPoints:
    """What installed packages bring."""
    from importlib.metadata import entry_points  # a fifth of a short command's imports

    return entry_points(group=group)


def _module_in(folder: Path) -> ModuleType:
    """The package in that folder, under a name that no other module has."""
    name = f"hermes_jobs_plugin_{re.sub(r'[^A-Za-z0-9]', '_', folder.name)}"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not a Python package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
