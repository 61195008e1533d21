"""Plans consolidations: of the turns of finished conversations that no model has read yet."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hermes_jobs.errors import KeyTaken
from hermes_jobs.features.consolidation.events import ConsolidationRequested
from hermes_jobs.features.consolidation.portion import fitting, portion
from hermes_jobs.features.consolidation.rules import FAILURES, KEY_SCOPE, request, stream_of
from hermes_jobs.features.consolidation.tables import select_finished_unread
from hermes_jobs.features.memory.entry_recall import EntryIndex
from hermes_jobs.kernel.events import SessionEnded
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE
from hermes_jobs.kernel.turns.session import stream_of as session_stream_of
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.moments import day_of, iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.consolidation.rules import Consolidation
    from hermes_jobs.features.consolidation.tables import Unread
    from hermes_jobs.features.memory.places import MemoryPlaces
    from hermes_jobs.features.memory.rules.observations import PortionTurn
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.system.clock import Clock
    from hermes_jobs.system.ids import Ids

HOUR = 3_600.0
IDLE_HOURS = 6  # without a message a conversation is finished: a day's next sitting is another one


class ConsolidationPlans:
    """Requests consolidations, at most `per_day`, and reads their turns. `zone` is where days begin; None:
    the machine's."""

    def __init__(
        self,
        *,
        per_day: int,
        log: EventLog,
        views: Views,
        places: MemoryPlaces,
        clock: Clock,
        ids: Ids,
        zone: tzinfo | None,
    ) -> None:
        self._per_day = per_day
        self._log = log
        self._views = views
        self._places = places
        self._clock = clock
        self._ids = ids
        self._zone = zone

    def finished(self, limit: int | None = None) -> tuple[Unread, ...]:
        """The conversations that have ended, were compressed, or were idle for long enough, with turns that
        are not read; the last used first."""
        before = iso(self._clock.now() - IDLE_HOURS * HOUR)
        return self._views.read(select_finished_unread, before, limit)

    def plan(self, engine: Engine) -> list[str]:
        """Request as many as the daily limit allows; their streams. Raises `LogUnavailable`.

        Each takes one of the day's keys in the log, so that the limit applies to all hosts together.
        """
        names = self._free_keys()
        streams: list[str] = []
        for conversation in filter(self._is_due, self.finished()):
            for name in names:
                key = UniqueKey(scope=KEY_SCOPE, key=name, digest=conversation.lineage)
                with suppress(KeyTaken):
                    streams += self._ask(engine, conversation, "clock", (key,))
                    break
        return streams

    def ask(self, engine: Engine, unread: Unread) -> list[str]:
        """Request one for a user; its stream, or none without unread turns."""
        return self._ask(engine, unread, "user")

    def turns(self, state: Consolidation) -> tuple[PortionTurn, ...]:
        """The requested turns that still exist."""
        assert state.requested is not None, f"{state.stream} has no request"
        return self._portion(state.lineage, state.requested.after, state.requested.until)

    def known_entries(self, text: str) -> Sequence[str]:
        """The entries of the memory that prompts have, and those that the text is about with their slots."""
        places = self._places()
        best = EntryIndex(places.recalled).best(text)
        return [
            *(entry.text for entry, rule in places.prompt.items() if rule is None),
            *(f"{entry.text} [slot: {entry.slot}]" if entry.slot else entry.text for entry in best),
        ]

    def _ask(self, engine: Engine, unread: Unread, by: str, keys: tuple[UniqueKey, ...] = ()) -> list[str]:
        turns = fitting(self._portion(unread.lineage, unread.done, unread.until))
        if not turns:
            return []
        requested = ConsolidationRequested(
            review=self._ids.name("o"),
            after=unread.done,
            until=turns[-1].version,
            by=by,
            reason=f"{pluralize(len(turns), 'turn')} that no consolidation has read",
        )
        made = engine.change(request(requested, unread.lineage, keys), "consolidation")
        return [write.stream for write in made.writes if write.stream == stream_of(unread.lineage)]

    def _free_keys(self) -> Iterator[str]:
        """The names of this day's unused keys."""
        for number in range(1, self._per_day + 1):
            name = f"{self._today()}/{number}"
            if self._log.key(KEY_SCOPE, name) is None:
                yield name

    def _portion(self, lineage: str, after: int, until: int) -> tuple[PortionTurn, ...]:
        events = self._log.read(session_stream_of(lineage))
        ends = (event.event for event in events if isinstance(event.event, SessionEnded))
        if any(end.reason == ENDED_BECAUSE for end in ends):
            return ()
        return portion(events, after, until, self._day)

    def _is_due(self, unread: Unread) -> bool:
        """Whether the clock may request it: a failed one is repeated on another day, a few times."""
        if not unread.failed_at:
            return True
        return unread.failures < FAILURES and self._day(unread.failed_at) < self._today()

    def _today(self) -> str:
        return day_of(self._clock.now(), self._zone)

    def _day(self, at: str) -> str:
        moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
        return day_of(moment.timestamp(), self._zone)


def plans_of(application: Application) -> ConsolidationPlans:
    """Those of the application's home."""
    return ConsolidationPlans(
        per_day=application.settings.memory.consolidate_per_day,
        log=application.log,
        views=application.views,
        places=application.memory_places,
        clock=application.clock,
        ids=application.ids,
        zone=application.days,
    )


def plan(application: Application) -> None:
    """Request consolidations of finished conversations, if they are on and there is a model. Raises
    `LogUnavailable`."""
    settings = application.settings
    if settings.memory.consolidate and not (settings.rehearsal and not settings.set_apart("consolidation")):
        plans_of(application).plan(application.engine())
