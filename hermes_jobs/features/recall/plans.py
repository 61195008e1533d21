"""Plans vectors: of the memory's entries, and of the conversations that `memory.recall` searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.memory.rules.memory import STREAM as MEMORY
from hermes_jobs.features.memory.rules.memory import TARGETS
from hermes_jobs.features.recall.events import EmbeddedText
from hermes_jobs.features.recall.rules import digest_of, plan
from hermes_jobs.features.recall.tables.embeddings import (
    select_exchanges,
    select_exchanges_without,
    select_missing,
)
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.system.clock import Clock

TEXTS = 100  # of one call
CHARS = 100_000  # of them together: OpenAI takes 300,000 tokens, and no script needs three for a character
CALLS = 20  # planned at a time; the rest at the workers' next run
QUIET = 600.0  # seconds without a word, after which a conversation's last exchange counts as complete


class EmbeddingPlans(msgspec.Struct, frozen=True, eq=False):
    """Plans calls for vectors, and finds the texts that a plan names.

    `max_chars`: the most of a text that a vector is made of. `conversations`: exchanges get vectors too.
    """

    max_chars: int
    conversations: bool
    log: EventLog
    views: Views
    memory: SyncedMemory
    clock: Clock

    def add(self, engine: Engine, model: str, *, quiet: float = QUIET, again: str = "") -> list[str]:
        """Plan calls for texts without a vector of that model; the streams of the plans.

        Concurrent equal plans become one. What has failed for good is planned again on
        another day, or with another `again`. Raises `LogUnavailable`.
        """
        newest = self.log.key(KEY_SCOPE, NEWEST)
        forgotten = newest.position if newest is not None else 0
        day = datetime.fromtimestamp(self.clock.now(), UTC).date().isoformat()
        streams: list[str] = []
        for texts in self._calls(model, quiet):
            name = digest_of((model, day, str(forgotten), again, *(text.digest for text in texts)))[:16]
            made = engine.change(plan(name, model, texts), "embeddings")
            streams += [write.stream for write in made.writes]
        return streams

    def texts(self, requested: Sequence[EmbeddedText]) -> Mapping[str, str]:
        """The texts of a plan by their digests, as far as they are still there and long."""
        digests = {text.digest for text in requested}
        entries = {digest: text for digest, text in self._entries().items() if digest in digests}
        exchanges = self.views.read(select_exchanges, digests - entries.keys())
        exchange_texts = {
            digest: "\n".join(exchange.texts(self.views.texts_at)) for digest, exchange in exchanges.items()
        }
        return {digest: text[: self.max_chars] for digest, text in {**entries, **exchange_texts}.items()}

    def _calls(self, model: str, quiet: float) -> Iterator[list[EmbeddedText]]:
        """The texts of each call."""
        entries = self._entries()
        missing = self.views.read(select_missing, model, entries)
        waiting = [
            (EmbeddedText(MEMORY, digest), len(text)) for digest, text in entries.items() if digest in missing
        ]
        if self.conversations:
            before = iso(self.clock.now() - quiet)
            exchanges = self.views.read(select_exchanges_without, model, before=before, limit=CALLS * TEXTS)
            waiting += [
                (EmbeddedText(exchange.stream, exchange.digest), min(exchange.chars, self.max_chars))
                for exchange in exchanges
            ]
        call: list[EmbeddedText] = []
        chars = 0
        for text, size in waiting[: CALLS * TEXTS]:
            if call and (len(call) == TEXTS or chars + size > CHARS):
                yield call
                call, chars = [], 0
            call.append(text)
            chars += size
        if call:
            yield call

    def _entries(self) -> dict[str, str]:
        memory = self.memory.logged()
        return {digest_of((text,)): text for target in TARGETS for text in memory.entries(target)}


def plans_of(application: Application) -> EmbeddingPlans:
    """Those of the application's home."""
    settings = application.settings
    return EmbeddingPlans(
        max_chars=settings.embeddings.max_chars,
        conversations=settings.memory.recall,
        log=application.log,
        views=application.views,
        memory=application.memory,
        clock=application.clock,
    )


def plan_vectors(application: Application) -> None:
    """Plan calls for texts without a vector, if embeddings are on. Raises `LogUnavailable`."""
    embedder = application.endpoints.embedder if application.settings.embeddings.model else None
    if embedder is not None:
        plans_of(application).add(application.engine(), embedder.model)
