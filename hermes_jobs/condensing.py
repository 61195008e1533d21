"""Which context engine an installation has: our own, or the one that the configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hermes_jobs.context.contained import Contained
from hermes_jobs.context.plugins import BUILT_IN, ENGINES
from hermes_jobs.context.setup import CompressorOptions, EngineSetup, Factory
from hermes_jobs.domain.errors import Misconfigured
from hermes_jobs.domain.scan import scan
from hermes_jobs.engine.ports import ContextEngine

if TYPE_CHECKING:
    from hermes_jobs.settings import Settings

REDACTED = "[REDACTED]"


def context_engine(settings: Settings) -> ContextEngine:
    """The engine that `context.engine` names. Raises `Misconfigured` where none can be had."""
    compression, plugins, name = settings.compression, settings.paths.plugins, settings.context.engine
    setup = EngineSetup(
        options=CompressorOptions(
            enabled=compression.enabled,
            threshold=compression.threshold,
            target_ratio=compression.target_ratio,
            protect_last=compression.protect_last_n,
        ),
        folder=plugins / name,
        secret=settings.secrets.get,
        redact=lambda text: without_secrets(text, settings),
    )
    own = cast(Factory, ENGINES.factory_of(BUILT_IN, plugins))(setup)
    if name == BUILT_IN:
        return own
    redact = settings.secrets.redact
    try:
        engine = cast(Factory, ENGINES.factory_of(name, plugins))(setup)
    except Misconfigured:
        raise
    except Exception as error:
        raise Misconfigured(
            f"The context engine {name!r} cannot be loaded: {redact(f'{type(error).__name__}: {error}')}",
            hint="Mend it, or take the built-in one: hermes-jobs config set context.engine compressor",
        ) from error
    return Contained(name, engine, own, redact)


def without_secrets(text: str, settings: Settings) -> str:
    """The text without the secrets that are known, and without what looks like one."""
    text = settings.secrets.redact_known(text)
    found = sorted((each for each in scan(text) if each.kind == "credential"), key=lambda each: -each.start)
    for each in found:
        text = text[: each.start] + REDACTED + text[each.end :]
    return text
