"""The saved items that a verification tests, and the past turns that it repeats.

A review saves memory entries and skills; a verification tests those that still exist and are provisional. Its
turns are some that the review has read, and some of other conversations. The choice depends only on the log
at the time when the review was requested: among the turns that were read, those that share more words with
the saved items come first; among the others they come last; then the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import cast

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules import memory as memories
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.replays import replayed_turn
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.rules import skill as skills
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.kernel.turns.reviews import SKILL_TOOL
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.session import stream_of as session_stream
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.search.question import roots


class _Named(msgspec.Struct):
    name: str = ""


_named = msgspec.json.Decoder(described(_Named))


def saved_items(log: EventLog, review: str) -> tuple[replay_events.Inclusion, ...]:
    """The entries in the order of their writes, then the skills by name. Raises `LogUnavailable`."""
    return (*_entries(log, review), *_skills(log, review))


def _entries(log: EventLog, review: str) -> Iterator[replay_events.Inclusion]:
    recorded = log.read(memories.STREAM)
    events = [cast(memory_events.MemoryEvent, record.event) for record in recorded]
    now = reduce(memories.evolve, events, memories.Memory())
    for version, event in enumerate(events, start=1):
        if not isinstance(event, memory_events.MemoryAdded | memory_events.MemoryReplaced) or not _is_of(
            event, review
        ):
            continue
        if version not in now.undone and event.content in now.entries(event.target):
            yield replay_events.Inclusion(
                kind="memory",
                name=str(version),
                text=event.content,
                versions=(version,),
                target=event.target,
                old=event.old if isinstance(event, memory_events.MemoryReplaced) else "",
            )


def _skills(log: EventLog, review: str) -> Iterator[replay_events.Inclusion]:
    for name in sorted(set(_written(log.read(session_stream(review))))):
        stream = skills.stream_of(name)
        yield from _skill(name, stream, log.read(stream), review)


def _skill(
    name: str, stream: str, recorded: Sequence[RecordedEvent], review: str
) -> Iterator[replay_events.Inclusion]:
    past = skills.history(stream, [cast(skills_events.SkillEvent, record.event) for record in recorded])
    versions = tuple(record.version for record in recorded if _is_of(record.event, review))
    remaining = {earlier.version for earlier in past[-1].past}
    if versions and past[-1].exists and past[-1].provisional == review and remaining.issuperset(versions):
        yield replay_events.Inclusion(
            kind="skill", name=name, text=past[-1].main, versions=versions, old=past[versions[0] - 1].main
        )


def taking_back_skill(log: EventLog, name: str, review: str) -> Decision:
    """The decision that reverts all writes of the review to the skill; it raises `Rejected` if others have
    written to it since. Raises `LogUnavailable`."""
    stream = skills.stream_of(name)
    versions = [record.version for record in log.read(stream) if _is_of(record.event, review)]

    def change(load: StateLoader) -> DecisionResult:
        event = skills.undone_since(load(stream), versions)
        return DecisionResult.of(stream, event, answer=f"the skill {name}")

    return change


def _is_of(event: e.Event, review: str) -> bool:
    """Whether the event is a provisional write of the review."""
    evidence = getattr(event, "evidence", None)
    return getattr(event, "provisional", False) and evidence is not None and evidence.session == review


def _written(recorded: Sequence[RecordedEvent]) -> Iterator[str]:
    """The names of the skills to which the review tried to write."""
    for record in recorded:
        if isinstance(record.event, e.ToolStarted) and record.event.name == SKILL_TOOL:
            try:
                name = _named.decode(record.event.arguments).name.strip()
            except msgspec.MsgspecError:
                continue
            if name:
                yield name


CHOSEN: dict[e.VerifyMode, tuple[int, int]] = {"off": (0, 0), "cheap": (1, 1), "full": (5, 3)}
"""The numbers of turns that the review has read, and of others."""


class PastTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was completed at `ended_at` (ISO 8601, UTC), with what a person wrote."""

    id: str
    stream: str
    text: str
    ended_at: str


Others = Callable[[], Sequence[PastTurn]]
"""The newest completed turns of people, newest first."""


class VerifiedTurns:
    """Chooses the turns of a verification. Methods raise `LogUnavailable`."""

    def __init__(self, log: EventLog, sessions: StreamRepository, others: Others) -> None:
        self._log = log
        self._sessions = sessions
        self._others = others

    def of(
        self, request: replay_events.VerificationRequested, saved: Iterable[str]
    ) -> tuple[replay_events.ReplayedTurn, ...]:
        """The turns, each with its last call, those that the review has read first. Empty if none can be
        repeated."""
        words = roots(" ".join(saved))
        stream = stream_of(request.session)
        recorded = self._log.read(stream, upto=request.at)
        num_read, num_others = CHOSEN[request.mode]
        read = sorted(_read(recorded, stream), key=lambda turn: -len(words & roots(turn.text)))
        until = recorded[-1].recorded_at if recorded else ""
        others = [other for other in self._others() if other.stream != stream and other.ended_at <= until]
        others.sort(key=lambda turn: len(words & roots(turn.text)))
        chosen = list(self._replayed(read, num_read))
        if not chosen:
            return ()
        unrelated = (replace(turn, unrelated=True) for turn in self._replayed(others, num_others))
        return (*chosen, *unrelated)

    def _replayed(self, turns: Sequence[PastTurn], most: int) -> Iterator[replay_events.ReplayedTurn]:
        """The first turns that can be repeated."""
        num_replayed = 0
        for candidate in turns:
            if num_replayed == most:
                return
            try:
                turn = replayed_turn(
                    self._sessions, candidate.id, candidate.stream, self._log.read(candidate.stream)
                )
            except Rejected:
                continue
            num_replayed += 1
            yield replace(turn, calls=turn.calls[-1:])


def _read(recorded: Sequence[RecordedEvent], stream: str) -> list[PastTurn]:
    """The turns completed since the previous review, newest first; all completed turns if there are none."""
    texts = {
        record.event.turn: record.event.text
        for record in recorded
        if isinstance(record.event, e.TurnSubmitted)
    }
    requested_at = [record.version for record in recorded if isinstance(record.event, e.ReviewRequested)]
    ended = [record for record in recorded if isinstance(record.event, e.TurnCompleted)]
    since = requested_at[-2] if len(requested_at) > 1 else 0
    late = [record for record in ended if record.version > since] or ended
    return [
        PastTurn(id=turn, stream=stream, text=texts.get(turn, ""), ended_at=record.recorded_at)
        for record in reversed(late)
        if (turn := getattr(record.event, "turn", ""))
    ]
