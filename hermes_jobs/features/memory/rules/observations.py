"""Observations: dated facts from finished conversations, with the turns that state them, as memory entries.

An observation is `episodic` and has the tag `observation`: it is in no prompt, only recalled. If a person
makes it `identity`, or gives it other tags, it becomes an ordinary entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import OBSERVATION, STREAM, TARGETS, Memory, Observed, reading
from hermes_jobs.features.memory.rules.supersession import Slots, named
from hermes_jobs.features.memory.rules.writes import checked
from hermes_jobs.kernel.streams.decision import StateLoader, StreamEvents
from hermes_jobs.text.scan.scanner import scan

MOST = 20  # observations of one answer
LONGEST = 300  # characters of one
MOST_ABOUT, LONGEST_NAME = 8, 40
LONGEST_SLOT = 80
SUPERSEDED = "superseded"
REASONS = {
    "malformed": "It is not of the form that was asked for.",
    "too_many": f"The answer has more than {MOST}.",
    "no_text": "It says nothing.",
    "long": f"It has more than {LONGEST} characters, or several lines.",
    "no_evidence": "It names no turn that says so.",
    "unknown_turn": "It names a turn that is not among those that were read.",
    "bad_date": "Its date is not a date, or is later than what was read.",
    SUPERSEDED: "A newer observation says otherwise.",
}
"""Why an observation is refused, by the kind of the refusal."""


class PortionTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn to read: its id, its session, the time of its end (ISO 8601, UTC) and the day of that for the
    person, the version of the stream, the prompt and the answer."""

    id: str
    session: str
    at: str
    day: str
    version: int
    prompt: str
    answer: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One fact. `number` is its place in the answer, from 1; `day` (ISO 8601) is when it was true; `turns`
    state it, `session` is that of the first, `said_at` (ISO 8601, UTC) the end of the last; `about` names its
    subjects, `slot` the property that it gives a value: see `MemoryAdded`."""

    number: int
    text: str
    day: str
    turns: tuple[str, ...]
    session: str
    said_at: str = ""
    about: tuple[str, ...] = ()
    slot: str = ""


class Written(NamedTuple):
    """The result of saving observations: the events, the numbers of new and of already known ones, and the
    refused ones."""

    writes: tuple[StreamEvents, ...]
    saved: int
    already_known: int
    refused: tuple[consolidation_events.RefusedObservation, ...]


class _Refused(Exception):
    """The observation is refused, for a reason of that kind."""


def observations(
    answers: Sequence[object], turns: Sequence[PortionTurn]
) -> tuple[tuple[Observation, ...], tuple[consolidation_events.RefusedObservation, ...]]:
    """The valid observations of a model's answer, and the refused ones.

    `answers` are the elements of its list, `turns` those that it was shown.
    """
    by_id = {turn.id: turn for turn in turns}
    valid: list[Observation] = []
    refused: list[consolidation_events.RefusedObservation] = []
    for number, answer in enumerate(answers, start=1):
        try:
            valid.append(_observation(number, answer, by_id))
        except _Refused as why:
            kind = str(why)
            refused.append(consolidation_events.RefusedObservation(number, kind, REASONS[kind]))
    return tuple(_with_single_slots(valid)), tuple(refused)


def _with_single_slots(all_observations: Sequence[Observation]) -> Iterable[Observation]:
    """The observations; a slot that several of them share is dropped, because the model states all of them as
    true."""
    counts = Counter(named(observation.slot) for observation in all_observations)
    return (
        replace(observation, slot="") if counts[named(observation.slot)] > 1 else observation
        for observation in all_observations
    )


def _observation(number: int, answer: object, turns: Mapping[str, PortionTurn]) -> Observation:
    """Raises `_Refused`."""
    if not isinstance(answer, dict):
        raise _Refused("malformed")
    if number > MOST:
        raise _Refused("too_many")
    evidence = _evidence(answer.get("turns"), turns)
    return Observation(
        number=number,
        text=_text(answer.get("text")),
        day=_day(answer.get("date"), evidence, turns.values()),
        turns=tuple(turn.id for turn in evidence),
        session=evidence[0].session,
        said_at=max(turn.at for turn in evidence),
        about=_about(answer.get("about")),
        slot=_slot(answer.get("slot")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Refused("no_text")
    text = value.strip()
    if len(text) > LONGEST or "\n" in text:
        raise _Refused("long")
    return text


def _evidence(value: object, turns: Mapping[str, PortionTurn]) -> tuple[PortionTurn, ...]:
    if not isinstance(value, list) or not value:
        raise _Refused("no_evidence")
    if not all(isinstance(turn, str) and turn in turns for turn in value):
        raise _Refused("unknown_turn")
    return tuple(turns[turn] for turn in dict.fromkeys(value))


def _day(value: object, evidence: Sequence[PortionTurn], read: Iterable[PortionTurn]) -> str:
    """The given day; without one, that of the last turn in the evidence."""
    if value in {None, ""}:
        return max(turn.day for turn in evidence)
    try:
        day = date.fromisoformat(value).isoformat() if isinstance(value, str) else ""
    except ValueError:
        day = ""
    if not day or day > max(turn.day for turn in read):
        raise _Refused("bad_date")
    return day


def _about(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _Refused("malformed")
    names = dict.fromkeys(" ".join(name.split()) for name in value)
    return tuple(name for name in names if 0 < len(name) <= LONGEST_NAME)[:MOST_ABOUT]


def _slot(value: object) -> str:
    """The slot named by the model; empty if it is not a short line."""
    slot = " ".join(value.split()) if isinstance(value, str) else ""
    return slot if len(slot) <= LONGEST_SLOT else ""


def written(load: StateLoader, new: Sequence[Observation], limit: int, review: str) -> Written:
    """The new observations as writes to the memory, the oldest first. One replaces older ones that it
    contradicts. `limit` is that of an entry, in characters, `review` the id of the consolidation.
    """
    memory: Memory = load(STREAM)
    events: list[memory_events.MemoryEvent] = []
    refused: list[consolidation_events.RefusedObservation] = []
    already_known = 0
    there = {reading(text) for target in TARGETS for text in memory.entries(target)}
    slots, saved = Slots(memory.observations), 0
    for observation in sorted(new, key=lambda one: (one.day, one.said_at, one.number)):
        if reading(observation.text) in there:
            already_known += 1
            continue
        observed = Observed(observation.day, observation.said_at, observation.slot)
        rivals = slots.rivals(observation.text, observed)
        why = _refusal(observation, limit, is_superseded=rivals.has_newer)
        if why is not None:
            refused.append(why)
            continue
        events.extend(_events(observation, review, rivals.older))
        saved += 1
        slots.add(observation.text, observed, rivals.older)
        there = there.difference(map(reading, rivals.older)) | {reading(observation.text)}
    writes = (StreamEvents(STREAM, tuple(events)),) if events else ()
    return Written(writes, saved, already_known, tuple(refused))


def _refusal(
    observation: Observation, limit: int, *, is_superseded: bool
) -> consolidation_events.RefusedObservation | None:
    """The reason why the memory refuses it, without any of its text."""
    if is_superseded:
        return consolidation_events.RefusedObservation(observation.number, SUPERSEDED, REASONS[SUPERSEDED])
    findings = scan(" ".join((observation.text, observation.slot, *observation.about)))
    if findings:
        why = f"Refused by the rule “{findings[0].rule}”."
        return consolidation_events.RefusedObservation(observation.number, "memory_scan", why)
    try:
        checked(observation.text, limit)
    except Rejected as refused:
        return consolidation_events.RefusedObservation(
            observation.number, refused.kind, "The memory does not take such a text."
        )
    return None


def _events(
    observation: Observation, review: str, older: Sequence[str]
) -> Iterator[memory_events.MemoryEvent]:
    """The event of the observation, which replaces the first of the older ones; the others are removed."""
    evidence = memory_events.Evidence(session=observation.session, turn=observation.turns[0])
    added = memory_events.MemoryAdded(
        target="memory",
        content=observation.text,
        author="consolidation",
        evidence=evidence,
        kind="episodic",
        tags=(OBSERVATION, *(name for name in observation.about if name != OBSERVATION)),
        observed=observation.day,
        observed_in=observation.turns,
        review=review,
        said_at=observation.said_at,
        slot=observation.slot,
    )
    yield memory_events.MemoryReplaced(old=older[0], **msgspec.structs.asdict(added)) if older else added
    why = f"“{observation.text}” takes its place"
    for text in older[1:]:
        yield memory_events.MemoryRemoved(
            target="memory", old=text, author="consolidation", evidence=evidence, why=why
        )


def names_of(events: Sequence[memory_events.MemoryEvent], texts: Collection[str]) -> frozenset[str]:
    """The names that occur in these observations only: no other write has them as a tag or a slot."""
    theirs, others = set[str](), {OBSERVATION, ""}
    for event in events:
        if isinstance(event, memory_events.MemoryAdded | memory_events.MemoryReplaced):
            is_theirs = bool(event.observed) and event.content in texts
            (theirs if is_theirs else others).update((*event.tags, event.slot))
    return frozenset(theirs - others)


def of_sessions(events: Iterable[memory_events.MemoryEvent], sessions: Collection[str]) -> frozenset[str]:
    """The texts of the observations of these sessions, as written, except those that were saved elsewhere,
    too."""
    observed, elsewhere = set[str](), set[str]()
    for event in events:
        is_theirs = event.evidence is not None and event.evidence.session in sessions
        if (
            isinstance(event, memory_events.MemoryAdded | memory_events.MemoryReplaced)
            and event.observed
            and is_theirs
        ):
            observed.add(event.content)
        elif (
            isinstance(event, memory_events.MemoryAdded | memory_events.MemoryConfirmed)
            and not is_theirs
            and not event.undoes
        ):
            elsewhere.add(event.content)
    return frozenset(observed - elsewhere)
