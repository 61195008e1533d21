"""Forgetting in an installation: what is found, and the transaction that removes it from the log.

What follows from that in the files of a home is `cleanup`.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.forgetting.home_texts import HomeTexts
from hermes_jobs.features.forgetting.patterns import Pattern, exact_texts
from hermes_jobs.features.memory.rules.memory import STREAM as MEMORY
from hermes_jobs.features.memory.rules.observations import names_of, of_sessions
from hermes_jobs.features.memory.rules.provenance import Drop
from hermes_jobs.features.schedules.tables import select_schedules
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.log.forget import Matches as Matches  # noqa: PLC0414 - for callers
from hermes_jobs.kernel.log.forget import events_of_type, find, forget
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.forgetting import (
    ENDED_BECAUSE,
    FORGOTTEN,
    PREFIX,
    Removal,
    SessionFamily,
    deleted,
    family_of,
)
from hermes_jobs.kernel.streams.streams import about_sessions
from hermes_jobs.kernel.turns.commands import EndSession
from hermes_jobs.kernel.turns.session import is_session, require_no_children, stream_of
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

logger = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0
RETENTION = "retention"
PATIENCE = 5.0  # seconds that a removal waits for readers of an earlier state
BREATH = 0.1  # seconds between two attempts


class Forgetter:
    """Removes texts from one installation. Every method raises `LogUnavailable`."""

    def __init__(self, application: Application) -> None:
        log = application.log
        assert isinstance(log, SqlEventLog), "only a log in a database can forget"
        self._application = application
        self._log = log

    # --- what there is ----------------------------------------------------------------------------

    def family(self, stream: str, *, with_forks: bool) -> SessionFamily:
        """The streams that go with a session, those of features that are about it among them."""
        return self._families()(stream, with_forks)

    def _families(self) -> Callable[[str, bool], SessionFamily]:
        """Gives the streams that go with a session, with its forks or without, as of now.

        Forks that were deleted before do not count.
        """
        past = [recorded.event for recorded in self.past()]
        deleted = {
            stream_of(session)
            for event in past
            if isinstance(event, e.TextsForgotten)
            for session in event.sessions
        }
        started = events_of_type(self._log, e.SessionStarted)
        delegated = events_of_type(self._log, e.ChildrenStarted)
        about = defaultdict[str, set[str]](set)
        for each in about_sessions():
            for its, event in events_of_type(self._log, each.event):
                for session in each.sessions(its, event):
                    about[session].add(its)

        def family(stream: str, with_forks: bool) -> SessionFamily:
            found = family_of(stream, started, delegated, with_forks=with_forks)
            told = found.streams.union(*(about[session] for session in found.sessions if session in about))
            return replace(found, streams=told, forks=found.forks - deleted)

        return family

    def schedules_of(self, sessions: Collection[str]) -> list[str]:
        """The ids of the schedules that continue in one of these sessions."""
        return [
            schedule.id
            for schedule in self._application.views.read(select_schedules)
            if schedule.plan.session in sessions
        ]

    def find(self, removal: Removal) -> Matches:
        """What the log holds of it. Raises what `hermes_jobs.kernel.log.forget.find` does."""
        return find(self._log, removal)

    def past(self) -> list[RecordedEvent]:
        """What was forgotten so far, in order: events `TextsForgotten`."""
        heads = self._log.streams(PREFIX)
        records = [recorded for head in heads for recorded in self._log.read(head.stream)]
        return sorted(records, key=lambda recorded: recorded.position)

    # --- forgetting -------------------------------------------------------------------------------

    def forget(
        self,
        removal: Removal,
        matches: Matches,
        *,
        cause: e.ForgettingCause,
        by: str = "user",
        why: str = "",
        sessions: Iterable[str] = (),
        force: bool = False,
    ) -> str | None:
        """Remove the texts; returns the id of the forgetting, None if the log had none of them.

        The files of the home follow with `Cleanup`. Raises what `hermes_jobs.kernel.log.forget.forget` does.
        """
        application = self._application
        application.settings.paths.forgetting.touch(mode=0o600)
        self._scrub_files(removal)
        event = e.TextsForgotten(
            forgetting=application.ids.name("f"),
            cause=cause,
            by=by,
            why=why,
            sessions=tuple(sorted(sessions)),
        )
        position = forget(
            self._log,
            removal,
            matches,
            event,
            meta=EventMeta(worker="cli" if by == "user" else by),
            recorded_at=iso(application.clock.now()),
            force=force,
        )
        return event.forgetting if position else None

    def observed_in(self, sessions: Collection[str]) -> frozenset[str]:
        """The texts of the observations of these sessions."""
        return of_sessions((write.event for write in self._application.memory.writes()), sessions)

    def forget_observations(self, texts: Collection[str], *, by: str = "user", why: str = "") -> None:
        """Remove these observations from the memory, and their texts wherever they stand word for word. Work
        that is under way continues."""
        if not texts:
            return
        memory = self._application.memory
        memory.change(Drop(texts), "observations of a deleted session")
        names = names_of([write.event for write in memory.writes()], texts)
        pattern = Pattern(exact_texts(texts), FORGOTTEN)
        tags = Removal(text=lambda text: FORGOTTEN if text in names else text, streams=frozenset({MEMORY}))
        for removal in (tags, Removal(text=pattern, found=pattern.found)):
            self.forget(removal, self.find(removal), cause="memory", by=by, why=why, force=True)

    def end_sessions(self, family: SessionFamily) -> None:
        """End those sessions: they accept no more turns. Raises `Rejected` while one is busy."""
        engine = self._application.engine()
        for stream in sorted(filter(is_session, family.streams)):
            if self._log.head(stream) is not None:
                engine.execute(stream, EndSession(reason=ENDED_BECAUSE))

    def check_idle(self, family: SessionFamily) -> None:
        """Raise `Rejected` where a turn runs or waits in one of these sessions."""
        engine = self._application.engine()
        for stream in sorted(filter(is_session, family.streams)):
            session = engine.sessions.load(stream)
            turn = session.current or next(iter(session.waiting), None)
            if turn is not None:
                raise Rejected(
                    f"Session {session.id} is busy with turn {turn.id}.",
                    kind="busy",
                    hint=f"Wait for it, or cancel it: hermes-jobs turns cancel {turn.id}",
                )
            require_no_children(session)

    def blobs_with(self, found: Callable[[str], bool]) -> frozenset[str]:
        """The digests of the texts read from documents in which something is found, of the sounds in which it
        was heard, and of the pictures that were described with it."""
        blobs = self._application.blobs
        read = (digest for digest in blobs.digests() if found(_text(blobs.get(digest) or b"")))
        heard = (each for _, event in events_of_type(self._log, e.ContextPrefetched) for each in event.heard)
        return frozenset(read).union(each.digest for each in heard if found(each.words))

    def files_with(self, removal: Removal) -> list[str]:
        """Names of places in the home, apart from the log, that hold texts to be forgotten."""
        return HomeTexts(self._application).places(removal.found)

    def _scrub_files(self, removal: Removal) -> None:
        """Remove the texts that the log does not refer to: they cannot be found through it later."""
        texts = HomeTexts(self._application)
        texts.scrub_typed(removal.text if removal.streams is None else self._names_in(removal.streams))
        if isinstance(removal.text, Pattern):
            texts.scrub(removal.text)

    def _names_in(self, streams: Iterable[str]) -> Callable[[str], str]:
        """A function that removes a text if it was submitted in one of those streams."""
        names = {
            recorded.event.text.strip()
            for stream in streams
            if is_session(stream)
            for recorded in self._log.read(stream)
            if isinstance(recorded.event, e.TurnSubmitted)
        }
        return lambda text: "" if text.strip() in names else text

    # --- retention --------------------------------------------------------------------------------

    def apply_retention(self, days: int) -> int:
        """Delete the conversations that were not used for so many days; their number.

        One stays while work is due in it, while a schedule continues in it, and while a fork of it stays.
        """
        old = self._old(days)
        if not old:
            return 0
        streams = frozenset[str]().union(*(family.streams for family in old))
        sessions = frozenset[str]().union(*(family.sessions for family in old))
        removal = Removal(text=deleted, streams=streams, ids=sessions)
        why = f"Not used for {days} days (retention.days)."
        self.forget_observations(self.observed_in(sessions), by=RETENTION, why=why)
        self.forget(removal, self.find(removal), cause="retention", by=RETENTION, why=why, sessions=sessions)
        for family in old:
            self.end_sessions(family)
        return len(old)

    def _children_at_work(self) -> set[str]:
        """The sessions of children that have not ended: no step is due of one that is held back."""
        slots = cast(ChildSlots, self._application.engine().state(child_slots.STREAM))
        return {stream_of(child.session) for child in (*slots.running, *slots.waiting)}

    def _old(self, days: int) -> list[SessionFamily]:
        until = iso(self._application.clock.now() - days * DAY_SECONDS)
        every = self._application.views.sessions(hidden=True, limit=2**31 - 1)
        busy = {row.step.stream for row in self._log.steps()} | self._children_at_work()
        family_of_session = self._families()
        old = {
            session.stream: family_of_session(session.stream, False)
            for session in every
            if session.last_at < until and session.ended_because != ENDED_BECAUSE
        }
        while True:
            remaining = [
                stream
                for stream, family in old.items()
                if not family.streams.isdisjoint(busy)
                or self.schedules_of(family.sessions)
                or any(fork not in old for fork in family.forks)
            ]
            if not remaining:
                return list(old.values())
            for stream in remaining:
                del old[stream]


def _text(content: bytes) -> str:
    """The content where it is text; pictures and documents are not."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""


def forgotten_in(past: Sequence[RecordedEvent], stream: str) -> dict[int, RecordedEvent]:
    """What was forgotten in a stream: for each version the newest forgetting."""
    by_version = {}
    for recorded in past:
        event = recorded.event
        if isinstance(event, e.TextsForgotten):
            by_version.update(
                dict.fromkeys((tombstone.version for tombstone in event.tombstones.get(stream, ())), recorded)
            )
    return by_version
