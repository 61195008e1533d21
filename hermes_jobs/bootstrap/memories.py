"""Which memories an installation has: our own, and the one beside it that the configuration names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hermes_jobs.agent.memory.plugins import PROVIDERS
from hermes_jobs.agent.memory.prompt_section import prompt_section
from hermes_jobs.agent.memory.provider import Factory, Setup
from hermes_jobs.agent.memory.provider_host import ProviderHost, TimeLimits
from hermes_jobs.agent.memory.providers import Providers, switch
from hermes_jobs.agent.memory.session_recall import SessionRecall
from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.ports import Recall
from hermes_jobs.engine.replay import EventReplay
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.application import Application

logger = logging.getLogger(__name__)


def create_memory(application: Application) -> Providers:
    """The memories of an installation. Raises `Misconfigured` where it names one that there is not."""
    settings = application.settings
    providers = Providers(
        lambda _session: prompt_section(application.memory.sync(), application.memory_limits),
        _own_recall(application),
        EventReplay(application.log),
        recall_tokens=settings.memory.recall_tokens,
    )
    name = settings.memory.provider
    if name is None:
        return providers
    PROVIDERS.check_name(name, settings.paths.plugins)
    try:
        factory, setup = factory_and_setup(application, name)
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        said = settings.secrets.redact(f"{type(error).__name__}: {error}")
        logger.warning("memory provider %s cannot be loaded: %s", name, said)
        return providers
    circuit = CircuitBreaker(f"memory provider {name}", application.clock, settings.secrets.redact)
    providers.add(ProviderHost(name, factory, setup, circuit, TimeLimits(), switch))
    return providers


def factory_and_setup(application: Application, name: str) -> tuple[Factory, Setup]:
    """What makes the provider of that name, and with what. Raises `Misconfigured`, or what its code does."""
    settings = application.settings
    factory = cast(Factory, PROVIDERS.factory_of(name, settings.paths.plugins))
    section = getattr(settings.memory, name, None)
    options: dict[str, Any] = msgspec.structs.asdict(section) if isinstance(section, msgspec.Struct) else {}
    setup = Setup(folder=settings.paths.plugins / name, secret=settings.secrets.get, options=options)
    return factory, setup


def _own_recall(application: Application) -> Recall:
    if not application.settings.memory.recall:
        return lambda session, text: ""

    def recall(session: Session, text: str) -> str:
        try:
            return SessionRecall(application.views)(session, text)
        except HermesJobsError as error:
            logger.warning("nothing could be recalled: %s", error)
            return ""

    return recall
