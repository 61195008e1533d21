"""How writes to the memory are shown: one in a list, and what led to an entry with what was said there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from hermes_jobs.agent.memory.memory_files import Write
from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.conflicts import conflict
from hermes_jobs.domain.events import (
    Author,
    Evidence,
    MemoryAdded,
    MemoryArranged,
    MemoryConflicted,
    MemoryEvent,
    MemoryRemoved,
    MemoryReplaced,
    MemoryTarget,
    SessionStarted,
)
from hermes_jobs.domain.memory.memory import TARGETS, Memory
from hermes_jobs.domain.memory.provenance import provenance
from hermes_jobs.domain.memory.writes import listed, nearest
from hermes_jobs.domain.session.messages import UserMessage
from hermes_jobs.domain.session.session import stream_of
from hermes_jobs.engine.clock_and_ids import iso
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import format_short_time, format_time, one_line
from hermes_jobs.interfaces.cli.zones import to_local

AUTHORS: dict[Author, str] = {
    "turn": "the agent, in a conversation",
    "review": "the agent, in a review",
    "flush": "the agent, before a compression",
    "user": "you, by command",
    "hand_edit": "you, in the file",
    "curator": "a curator's proposal that you applied",
}
DAY = len("2026-11-01")
ACTIONS = {
    MemoryAdded: "added",
    MemoryReplaced: "replaced",
    MemoryRemoved: "removed",
    MemoryArranged: "arranged",
    MemoryConflicted: "conflict",
}


class MemoryEntry(NamedTuple):
    """An entry that is there, or was."""

    target: MemoryTarget
    text: str


def write_cells(write: Write, undone: Collection[int]) -> tuple[str, ...]:
    """The write as a line of a table."""
    fact, turn = write.fact, write.fact.evidence.turn if write.fact.evidence else None
    return (
        str(write.version),
        format_short_time(write.at),
        fact.author,
        fact.target,
        turn or "",
        f"{'(taken back) ' if write.version in undone else ''}{_what(write)}",
    )


def write_json(write: Write, undone: Collection[int]) -> dict[str, object]:
    """The write for scripts."""
    fact = write.fact
    evidence = fact.evidence or Evidence(session="")
    return {
        "version": write.version,
        "at": write.at,
        "author": fact.author,
        "target": fact.target,
        "action": ACTIONS[type(fact)],
        "content": _content(fact),
        "old": _old(fact),
        "session": evidence.session or None,
        "turn": evidence.turn,
        "call": evidence.call,
        "undoes": fact.undoes,
        "undone": write.version in undone,
        "worker": write.worker,
    }


def _content(fact: MemoryEvent) -> str | None:
    """What there is since the write, besides what was there before."""
    match fact:
        case MemoryAdded() | MemoryReplaced():
            return fact.content
        case MemoryConflicted():
            return fact.theirs
        case MemoryRemoved() | MemoryArranged():
            return None


def _old(fact: MemoryEvent) -> str | None:
    match fact:
        case MemoryReplaced() | MemoryRemoved() | MemoryConflicted():
            return fact.old
        case MemoryAdded() | MemoryArranged():
            return None


def _what(write: Write) -> str:
    fact = write.fact
    undoes = f" (takes back {fact.undoes})" if fact.undoes else ""
    match fact:
        case MemoryAdded():
            return f"+ {fact.content}{undoes}"
        case MemoryRemoved():
            return f"- {fact.old}{undoes}"
        case MemoryReplaced():
            return f"{fact.old} -> {fact.content}{undoes}"
        case MemoryArranged():
            return f"the entries in another order{undoes}"
        case MemoryConflicted():
            return f"conflict: {conflict(fact)}"


def entries_with(text: str, now: Memory, writes: Sequence[Write]) -> list[MemoryEntry]:
    """The entries that hold the text, those that are there first. Raises `Rejected` where none ever did."""
    there = [MemoryEntry(target, entry) for target in TARGETS for entry in now.entries(target)]
    gone = [
        MemoryEntry(write.fact.target, write.fact.content)
        for write in reversed(writes)
        if isinstance(write.fact, MemoryAdded | MemoryReplaced)
    ]
    wanted = text.casefold().strip()
    every = list(dict.fromkeys((*there, *gone)))
    found = [each for each in every if wanted in each.text.casefold()]
    if not found or not wanted:
        near = nearest([each.text for each in every], text)
        raise Rejected(
            f"No entry holds «{one_line(text)}», and none did."
            + (f" The nearest:\n{listed(near)}" if near else ""),
            kind="memory_not_found",
            hint="`hermes-jobs memory show` lists what is there.",
        )
    return found


class Provenance:
    """What entries came from, with what the user said in the turns that they came from."""

    def __init__(self, application: Application, writes: Sequence[Write]) -> None:
        self._application = application
        self._writes = writes

    def as_object(self, entry: MemoryEntry, now: Memory) -> dict[str, object]:
        """The evidence for scripts."""
        return {
            "entry": entry.text,
            "target": entry.target,
            "there": entry.text in now.entries(entry.target),
            "writes": [
                {**write_json(write, now.undone), "text": self._said(write.fact.evidence)}
                for write in self._of(entry)
            ],
        }

    def as_text(self, entry: MemoryEntry, now: Memory) -> str:
        """The evidence for people."""
        is_there = entry.text in now.entries(entry.target)
        head = f"{entry.target}: {entry.text}" + ("" if is_there else " (not there any more)")
        return "\n".join([head, *(line for write in self._of(entry) for line in self._lines(write))])

    def _lines(self, write: Write) -> Iterator[str]:
        fact, evidence = write.fact, write.fact.evidence
        yield f"  {write.version}. {ACTIONS[type(fact)]} {format_time(write.at)} by {AUTHORS[fact.author]}"
        if isinstance(fact, MemoryReplaced):
            yield f"     before: {one_line(fact.old)}"
        if evidence is None:
            return
        yield f"     session {evidence.session}" + (f", turn {evidence.turn}" if evidence.turn else "")
        said = self._said(evidence)
        if said is not None:
            yield f"     you said: {one_line(said)}"

    def _of(self, entry: MemoryEntry) -> list[Write]:
        facts = [write.fact for write in self._writes]
        return [self._writes[version - 1] for version, _ in provenance(entry.text, entry.target, facts)]

    def _said(self, evidence: Evidence | None) -> str | None:
        """What the user had said: in the turn, or last in the conversation that was reviewed."""
        if evidence is None:
            return None
        reviewed = self._reviewed(evidence.session)
        if reviewed is not None:
            return reviewed
        if evidence.turn is None:
            return None
        try:
            return self._application.views.turn(evidence.turn).text
        except Rejected:
            return None

    def _reviewed(self, session: str) -> str | None:
        first = self._application.log.read(stream_of(session), upto=1)
        started = first[0].event if first else None
        if not isinstance(started, SessionStarted) or started.kind != "review":
            return None
        if started.parent is None or started.at is None:
            return None
        conversation = self._application.engine().sessions.load_at(stream_of(started.parent), started.at)
        said = [each for each in conversation.messages if isinstance(each, UserMessage)]
        return said[-1].content if said else None


def moment(date: str) -> str:
    """The moment that a person means, as the log writes moments: of a day its end. Raises `Rejected`."""
    given = date.strip()
    try:
        at = to_local(datetime.fromisoformat(given))
        if len(given) <= DAY:
            at += timedelta(days=1, microseconds=-1)
        return iso(at.timestamp())
    except (ValueError, OverflowError, OSError):
        raise Rejected(
            f"{date!r} is no date.", kind="usage", hint="Write 2026-11-01, or 2026-11-01 12:30 in local time."
        ) from None
