"""What a review has saved that is still there and provisional: entries of the memory, and skills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import cast

import msgspec

from hermes_jobs.domain import events as e
from hermes_jobs.domain.decision import Decision, DecisionResult, StateLoader
from hermes_jobs.domain.memory import memory as memories
from hermes_jobs.domain.session.reviews import SKILL_TOOL
from hermes_jobs.domain.session.session import stream_of as session_stream
from hermes_jobs.domain.skill import skill as skills
from hermes_jobs.eventlog.log import EventLog, RecordedEvent


class _Named(msgspec.Struct):
    name: str = ""


_named = msgspec.json.Decoder(_Named)


def saved_items(log: EventLog, review: str) -> tuple[e.PutIn, ...]:
    """The entries in the order of their writes, then the skills by name. Raises `LogUnavailable`."""
    return (*_entries(log, review), *_skills(log, review))


def _entries(log: EventLog, review: str) -> Iterator[e.PutIn]:
    recorded = log.read(memories.STREAM)
    facts = [cast(e.MemoryEvent, each.event) for each in recorded]
    now = reduce(memories.evolve, facts, memories.Memory())
    for version, fact in enumerate(facts, start=1):
        if not isinstance(fact, e.MemoryAdded | e.MemoryReplaced) or not _is_of(fact, review):
            continue
        if version not in now.undone and fact.content in now.entries(fact.target):
            yield e.PutIn(
                kind="memory",
                name=str(version),
                text=fact.content,
                versions=(version,),
                target=fact.target,
                old=fact.old if isinstance(fact, e.MemoryReplaced) else "",
            )


def _skills(log: EventLog, review: str) -> Iterator[e.PutIn]:
    for name in sorted(set(_written(log.read(session_stream(review))))):
        stream = skills.stream_of(name)
        yield from _skill(name, stream, log.read(stream), review)


def _skill(name: str, stream: str, recorded: Sequence[RecordedEvent], review: str) -> Iterator[e.PutIn]:
    past = skills.history(stream, [cast(e.SkillEvent, each.event) for each in recorded])
    versions = tuple(each.version for each in recorded if _is_of(each.event, review))
    kept = {each.version for each in past[-1].past}
    if versions and past[-1].exists and past[-1].provisional == review and kept.issuperset(versions):
        yield e.PutIn(
            kind="skill", name=name, text=past[-1].main, versions=versions, old=past[versions[0] - 1].main
        )


def taking_back_skill(log: EventLog, name: str, review: str) -> Decision:
    """The change that takes back all that the review wrote of the skill; it raises `Rejected` where others
    wrote it since. Raises `LogUnavailable`."""
    stream = skills.stream_of(name)
    versions = [each.version for each in log.read(stream) if _is_of(each.event, review)]

    def change(load: StateLoader) -> DecisionResult:
        event = skills.undone_since(load(stream), versions)
        return DecisionResult.of(stream, event, answer=f"the skill {name}")

    return change


def _is_of(event: e.Event, review: str) -> bool:
    """Whether the event is a provisional write of the review."""
    evidence = getattr(event, "evidence", None)
    return getattr(event, "provisional", False) and evidence is not None and evidence.session == review


def _written(recorded: Sequence[RecordedEvent]) -> Iterator[str]:
    """The names of the skills that the review asked to write."""
    for each in recorded:
        if isinstance(each.event, e.ToolStarted) and each.event.name == SKILL_TOOL:
            try:
                name = _named.decode(each.event.arguments).name.strip()
            except msgspec.MsgspecError:
                continue
            if name:
                yield name
