"""Memory providers by name; see `hermes_jobs.plugins` for where they are found."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hermes_jobs.memory.provider import Factory
from hermes_jobs.plugins.kind import PluginKind

PROVIDERS = PluginKind(
    what="memory provider",
    setting="memory.provider",
    group="hermes_jobs.memory_providers",
    bundled={
        "honcho": "hermes_jobs.memory.external.honcho:HonchoMemory",
        "mem0": "hermes_jobs.memory.external.mem0:Mem0Memory",
    },
    attribute="provider",
)


def names(plugins: Path) -> tuple[str, ...]:
    """All that are there, in the order of their names."""
    return PROVIDERS.names(plugins)


def check_name(name: str, plugins: Path) -> None:
    """Raise `Misconfigured` where there is no provider of that name."""
    PROVIDERS.check_name(name, plugins)


def factory_of(name: str, plugins: Path) -> Factory:
    """What makes the provider of that name. Raises `Misconfigured`, or whatever its code raises."""
    return cast(Factory, PROVIDERS.factory_of(name, plugins))
