"""Names of context engines, and their construction arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from hermes_jobs.kernel.engine.ports import ContextEngine
from hermes_jobs.plugins.discovery import PluginKind

Redact = Callable[[str], str]
"""Removes secrets from a text."""


class CompressorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`threshold`: the part of the window at which a history is compressed; `target_ratio`: the part of that
    for the tail; `protect_last`: newest messages, never compressed; `enabled` false: only on request."""

    enabled: bool = True
    threshold: float = 0.50
    target_ratio: float = 0.20
    protect_last: int = 20


class EngineSetup(msgspec.Struct, frozen=True, kw_only=True):
    """`options` are the keys of `compression`, `folder` the engine's own in the home, `secret(name)` a
    variable's value. `redact` is for a summariser's input and output."""

    options: CompressorOptions
    folder: Path
    secret: Callable[[str], str | None]
    redact: Redact


Factory = Callable[[EngineSetup], ContextEngine]
"""Makes an engine, without I/O."""


BUILT_IN = "compressor"
ENGINES = PluginKind(
    what="context engine",
    setting="context.engine",
    group="hermes_jobs.context_engines",
    bundled={BUILT_IN: "hermes_jobs.features.compression.compressor:from_setup"},
    attribute="engine",
)
