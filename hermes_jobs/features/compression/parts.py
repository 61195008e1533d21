"""The context engine that `context.engine` names: the built-in compressor, or a plugin's."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hermes_jobs.errors import Misconfigured
from hermes_jobs.features.compression.engine_host import BuiltIn, ModelInUse, PluginContextEngines
from hermes_jobs.features.compression.setup import BUILT_IN, ENGINES, CompressorOptions, EngineSetup, Factory
from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.kernel.engine.repository import EventReplay
from hermes_jobs.kernel.engine.session_info import kind_of
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.plugins.instances import TimeLimits
from hermes_jobs.settings import REDACTED, Settings

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.system.clock import Clock


def create_context_engines(
    settings: Settings, endpoints: ModelEndpoints, log: EventLog, clock: Clock
) -> BuiltIn | PluginContextEngines:
    """The engines that `context.engine` names. Raises `Misconfigured` where they cannot be loaded."""
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
        redact=lambda text: redact_all(text, settings),
    )
    own = cast(Factory, ENGINES.factory_of(BUILT_IN, plugins))(setup)
    if name == BUILT_IN:
        return BuiltIn(own)
    redact = settings.secrets.redact
    circuit = CircuitBreaker(f"context engine {name}", clock, redact, passes=(ModelError,))
    try:
        factory = cast(Factory, ENGINES.factory_of(name, plugins))
        return PluginContextEngines(
            name,
            lambda: factory(setup),
            own,
            circuit=circuit,
            events=EventReplay(log),
            model_of=lambda session: model_in_use(settings, endpoints, session),
            limits=TimeLimits(),
        )
    except Misconfigured:
        raise
    except Exception as error:
        raise Misconfigured(
            f"The context engine {name!r} cannot be loaded: {redact(f'{type(error).__name__}: {error}')}",
            hint="Mend it, or take the built-in one: hermes-jobs config set context.engine compressor",
        ) from error


def model_in_use(settings: Settings, endpoints: ModelEndpoints, session: Session) -> ModelInUse:
    """The model of the session's next call, with its window in tokens at its endpoint."""
    apart = settings.set_apart("review") if kind_of(session) == "review" else None
    turn = session.current
    name = (turn.model if turn else None) or session.model or settings.model_name
    window = (
        endpoints.by_name.window_of(name) if apart is None else endpoints.windows(apart.base_url).of(name)
    )
    return ModelInUse(name, window)


def redact_all(text: str, settings: Settings) -> str:
    """The text without known secrets and without texts that look like a credential."""
    from hermes_jobs.text.scan.credentials import redact_credentials  # its rules are read from files

    return redact_credentials(settings.secrets.redact_known(text), REDACTED)
