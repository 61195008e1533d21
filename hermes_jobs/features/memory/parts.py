"""The memories: the built-in one, and the external provider that `memory.provider` names."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hermes_jobs.features.memory.entry_recall import EntryRecall
from hermes_jobs.features.memory.prompt_section import prompt_section
from hermes_jobs.features.memory.provider import Factory, Setup
from hermes_jobs.features.memory.provider_host import PROVIDERS, ProviderHost
from hermes_jobs.features.memory.providers import Providers, switch
from hermes_jobs.features.recall.fused_recall import FusedRecall, RecallPart
from hermes_jobs.features.recall.question_vector import QuestionVectors
from hermes_jobs.features.recall.session_recall import SessionRecall
from hermes_jobs.features.recall.tables.entities import select_names
from hermes_jobs.features.recall.vector_index import VectorIndex
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel.engine.repository import EventReplay
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.plugins.instances import TimeLimits

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hermes_jobs.features.memory.places import MemoryPlaces
    from hermes_jobs.kernel.engine.ports import Embedder
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings
    from hermes_jobs.system.clock import Clock

logger = logging.getLogger(__name__)


def create_memory(
    settings: Settings,
    places: MemoryPlaces,
    *,
    log: EventLog,
    views: Views,
    clock: Clock,
    embedder: Embedder | None = None,
) -> Providers:
    """The memories as configured; a provider whose code fails to load is left out with a warning.

    Raises `Misconfigured` where `memory.provider` names none that exists.
    """
    vectors = _question_vectors(settings, views, clock, embedder)
    entries = EntryRecall(places.recalled, settings.memory.recall_tokens, vectors)
    sessions = SessionRecall(Conversations(views), vectors)
    parts: Sequence[RecallPart] = (entries, sessions) if settings.memory.recall else (entries,)
    providers = Providers(
        lambda session: prompt_section(places.of_session(session.lineage), places.limits),
        FusedRecall(vectors, *parts, names=partial(_names, views)),
        EventReplay(log),
        recall_tokens=settings.memory.recall_tokens,
    )
    name = settings.memory.provider
    if name is None:
        return providers
    PROVIDERS.check_name(name, settings.paths.plugins)
    try:
        factory, setup = factory_and_setup(settings, name)
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        reason = settings.secrets.redact(f"{type(error).__name__}: {error}")
        logger.warning("memory provider %s cannot be loaded: %s", name, reason)
        return providers
    circuit = CircuitBreaker(f"memory provider {name}", clock, settings.secrets.redact)
    providers.add(ProviderHost(name, factory, setup, circuit, TimeLimits(), switch))
    return providers


def _names(views: Views, aliases: Collection[str]) -> tuple[str, ...]:
    return views.read(select_names, aliases)


def _question_vectors(
    settings: Settings, views: Views, clock: Clock, embedder: Embedder | None
) -> QuestionVectors | None:
    """The vectors of questions; None without an embedding model."""
    if embedder is None:
        return None
    circuit = CircuitBreaker("the embedding model", clock, settings.secrets.redact)
    of = settings.embeddings
    return QuestionVectors(
        embedder, VectorIndex(views), circuit, max_length=of.max_chars, minimum=of.threshold
    )


def factory_and_setup(settings: Settings, name: str) -> tuple[Factory, Setup]:
    """The factory of the provider of that name, and its argument.

    Raises `Misconfigured` if there is no such provider, and any exception of its code on import.
    """
    factory = cast(Factory, PROVIDERS.factory_of(name, settings.paths.plugins))
    section = getattr(settings.memory, name, None)
    options: dict[str, Any] = msgspec.structs.asdict(section) if isinstance(section, msgspec.Struct) else {}
    setup = Setup(folder=settings.paths.plugins / name, secret=settings.secrets.get, options=options)
    return factory, setup
