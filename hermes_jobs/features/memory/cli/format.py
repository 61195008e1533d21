"""Formats writes to the memory, and the provenance of an entry with the user's messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.conflicts import conflict
from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.events import (
    Author,
    Evidence,
    MemoryAdded,
    MemoryArranged,
    MemoryConfirmed,
    MemoryConflicted,
    MemoryEvent,
    MemoryRemoved,
    MemoryReplaced,
    MemoryTarget,
)
from hermes_jobs.features.memory.memory_files import RecordedWrite
from hermes_jobs.features.memory.rules.memory import OBSERVATION, TARGETS, Memory
from hermes_jobs.features.memory.rules.provenance import provenance
from hermes_jobs.features.memory.rules.writes import listed, nearest
from hermes_jobs.features.replay.api import verifications_by_subject
from hermes_jobs.features.replay.cli.verifications import finding_lines
from hermes_jobs.features.replay.tables import VerificationView
from hermes_jobs.interfaces.cli.moments import format_time, read_moment
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.events import SessionStarted, TextsForgotten
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.moments import iso

AUTHORS: dict[Author, str] = {
    "turn": "the agent, in a conversation",
    "review": "the agent, in a review",
    "flush": "the agent, before a compression",
    "user": "you, by command",
    "hand_edit": "you, in the file",
    "curator": "the curator",
    "consolidation": "a model that read the finished conversation",
}
ACTIONS = {
    MemoryAdded: "added",
    MemoryReplaced: "replaced",
    MemoryRemoved: "removed",
    MemoryArranged: "arranged",
    MemoryConfirmed: "confirmed",
    MemoryConflicted: "conflict",
}


class MemoryEntry(NamedTuple):
    """A present or past entry."""

    target: MemoryTarget
    text: str


def memory_writes(undone: Collection[int], forgotten: Mapping[int, RecordedEvent]) -> Resource[RecordedWrite]:
    """Writes to the memory, with the numbers of undone writes and of those whose text was removed."""

    def what(write: RecordedWrite) -> str:
        mark = "(undone) " if write.version in undone else ""
        return f"{mark}{what_changed(write, forgotten)}"

    return Resource(
        (
            Column("N", lambda write: str(write.version), right=True),
            moment_column("WHEN", lambda write: write.at),
            Column("BY", lambda write: write.by or write.event.author, rank=1),
            Column("TARGET", lambda write: write.event.target, rank=2),
            Column("TURN", lambda write: (write.event.evidence and write.event.evidence.turn) or "", rank=3),
            Column("WHAT", what, is_main=True),
        ),
        "Nothing has been written yet.",
        lambda write: write_json(write, undone, forgotten),
        by_day=True,
    )


def what_changed(write: RecordedWrite, forgotten: Mapping[int, RecordedEvent]) -> str:
    """The change in words, with a note where its text was removed."""
    return f"{_what(write)}{_forgotten_text(forgotten.get(write.version))}"


def _forgotten_text(forgetting: RecordedEvent | None) -> str:
    """A note that texts of a write were removed, when and by whom."""
    return "" if forgetting is None else f" ({removal_note(forgetting)})"


def removal_note(forgetting: RecordedEvent) -> str:
    """When texts were removed, and by whom."""
    event = forgetting.event
    assert isinstance(event, TextsForgotten)
    author = "you" if event.by == "user" else event.by
    reason = f": {event.why}" if event.why else ""
    return f"text removed {format_time(forgetting.recorded_at)} by {author}{reason}"


def _forgotten_json(forgetting: RecordedEvent | None) -> dict[str, object] | None:
    if forgetting is None:
        return None
    event = forgetting.event
    assert isinstance(event, TextsForgotten)
    fields = {"forgetting": event.forgetting, "cause": event.cause, "by": event.by, "why": event.why}
    return {**fields, "at": forgetting.recorded_at}


def write_json(
    write: RecordedWrite, undone: Collection[int], forgotten: Mapping[int, RecordedEvent]
) -> dict[str, object]:
    """The write for scripts."""
    event = write.event
    evidence = event.evidence or Evidence(session="")
    return {
        "version": write.version,
        "at": write.at,
        "author": event.author,
        "target": event.target,
        "action": ACTIONS[type(event)],
        "content": _content(event),
        "old": _old(event),
        "session": evidence.session or None,
        "turn": evidence.turn,
        "call": evidence.call,
        "undoes": event.undoes,
        "undone": write.version in undone,
        "forgotten": _forgotten_json(forgotten.get(write.version)),
        "worker": write.worker,
        "by": write.by or None,
        "kept_by": evidence.confirmed or None,
        "observed": event.observed or None if isinstance(event, MemoryAdded | MemoryReplaced) else None,
        "observed_in": list(event.observed_in) if isinstance(event, MemoryAdded | MemoryReplaced) else [],
    }


def _content(event: MemoryEvent) -> str | None:
    """The content after the write, next to the content before."""
    match event:
        case MemoryAdded() | MemoryReplaced() | MemoryConfirmed():
            return event.content
        case MemoryConflicted():
            return event.theirs
        case MemoryRemoved() | MemoryArranged():
            return None


def _old(event: MemoryEvent) -> str | None:
    match event:
        case MemoryReplaced() | MemoryRemoved() | MemoryConflicted():
            return event.old
        case MemoryAdded() | MemoryArranged() | MemoryConfirmed():
            return None


def _what(write: RecordedWrite) -> str:
    event = write.event
    undoes = f" (undoes {event.undoes})" if event.undoes else ""
    match event:
        case MemoryAdded():
            return f"+ {event.content}{undoes}"
        case MemoryRemoved():
            return f"- {event.old}{undoes}" + f" ({event.why})" * bool(event.why)
        case MemoryConfirmed():
            return f"= {event.content}"
        case MemoryReplaced() if event.old == event.content:
            reason = f" ({event.why})" * bool(event.why)
            return f"{event.content} is {_description(event)}{undoes}{reason}"
        case MemoryReplaced():
            return f"{event.old} -> {event.content}{undoes}"
        case MemoryArranged():
            return f"the entries in another order{undoes}"
        case MemoryConflicted():
            return f"conflict: {conflict(event)}"


def _description(event: MemoryReplaced) -> str:
    words = [event.kind or "", *(f"#{tag}" for tag in event.tags), "let into prompts" if event.anyway else ""]
    return " ".join(word for word in words if word) or "as it was"


def entries_with(
    text: str, now: Memory, writes: Sequence[RecordedWrite], forgotten: Mapping[int, RecordedEvent]
) -> list[MemoryEntry]:
    """The entries that contain the text, present ones first. Raises `Rejected` if there never was one."""
    there = [MemoryEntry(target, entry) for target in TARGETS for entry in now.entries(target)]
    former = [
        MemoryEntry(write.event.target, write.event.content)
        for write in reversed(writes)
        if isinstance(write.event, MemoryAdded | MemoryReplaced)
    ]
    searched = text.casefold().strip()
    every = list(dict.fromkeys((*there, *former)))
    entries = [entry for entry in every if searched in entry.text.casefold()]
    if not entries or not searched:
        near = nearest([entry.text for entry in every], text)
        raise Rejected(
            f"No entry holds “{one_line(text)}”, and none did{' that is still known' * bool(forgotten)}."
            + (f" The nearest:\n{listed(near)}" if near else ""),
            kind="memory_not_found",
            hint="`hermes-jobs memory show` lists the entries."
            + (
                f" Texts of {pluralize(len(forgotten), 'write')} were removed: see `memory log`."
                * bool(forgotten)
            ),
        )
    return entries


class Provenance:
    """The provenance of entries, with the user's messages in the turns of origin."""

    def __init__(
        self,
        application: Application,
        writes: Sequence[RecordedWrite],
        forgotten: Mapping[int, RecordedEvent],
    ) -> None:
        self._application = application
        self._writes = writes
        self._forgotten = forgotten
        self._verified = verifications_by_subject(application)

    def as_object(self, entry: MemoryEntry, now: Memory) -> dict[str, object]:
        """The evidence for scripts."""
        return {
            "entry": entry.text,
            "target": entry.target,
            "there": entry.text in now.entries(entry.target),
            "writes": [
                {
                    **write_json(write, now.undone, self._forgotten),
                    "text": self._user_message(write.event.evidence),
                    "provisional": _is_provisional(write.event),
                    "tried_out": self._found(write),
                }
                for write in self._of(entry)
            ],
        }

    def as_text(self, entry: MemoryEntry, now: Memory) -> str:
        """The evidence for users."""
        is_there = entry.text in now.entries(entry.target)
        head = f"{entry.target}: {entry.text}" + ("" if is_there else " (removed since)")
        return "\n".join([head, *(line for write in self._of(entry) for line in self._lines(write))])

    def _lines(self, write: RecordedWrite) -> Iterator[str]:
        event, evidence = write.event, write.event.evidence
        author = write.by or AUTHORS[event.author]
        kept = f", kept by {evidence.confirmed}" if evidence is not None and evidence.confirmed else ""
        yield f"  {write.version}. {ACTIONS[type(event)]} {format_time(write.at)} by {author}{kept}"
        if write.version in self._forgotten:
            yield f"     {removal_note(self._forgotten[write.version])}"
        if isinstance(event, MemoryReplaced):
            yield f"     before: {one_line(event.old)}"
        if evidence is None:
            return
        if isinstance(event, MemoryAdded | MemoryReplaced) and event.observed:
            yield from self._observed(event, evidence)
            return
        yield f"     session {evidence.session}" + (f", turn {evidence.turn}" if evidence.turn else "")
        text = self._user_message(evidence)
        if text is not None:
            yield f"     you said: {one_line(text)}"
        if _is_provisional(event):
            for line in finding_lines(evidence.session, self._found(write)):
                yield f"     {line}"

    def _observed(self, event: MemoryAdded | MemoryReplaced, evidence: Evidence) -> Iterator[str]:
        """The evidence of an observation: its turns."""
        about = ", ".join(tag for tag in event.tags if tag != OBSERVATION)
        yield f"     observed {event.observed}" + (f", about {about}" if about else "")
        for turn in event.observed_in:
            yield f"     session {evidence.session}, turn {turn}"
            text = self._user_message(replace(evidence, turn=turn))
            if text is not None:
                yield f"     you said: {one_line(text)}"

    def _found(self, write: RecordedWrite) -> VerificationView | None:
        """The verification of an entry that a review wrote."""
        review = write.event.evidence.session if write.event.evidence is not None else ""
        return self._verified.get(("memory", str(write.version), review))

    def _of(self, entry: MemoryEntry) -> list[RecordedWrite]:
        events = [write.event for write in self._writes]
        return [self._writes[version - 1] for version, _ in provenance(entry.text, entry.target, events)]

    def _user_message(self, evidence: Evidence | None) -> str | None:
        """The user's message: of the turn, or the last one of the reviewed conversation."""
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
        messages = [message for message in conversation.messages if isinstance(message, UserMessage)]
        return messages[-1].content if messages else None


def _is_provisional(event: MemoryEvent) -> bool:
    return isinstance(event, MemoryAdded | MemoryReplaced) and event.provisional


def moment(date: str) -> str:
    """Parse a time into the log's format; a day means its end. Raises `Rejected`."""
    parsed = read_moment(date)
    end = timedelta(days=1, microseconds=-1) if parsed.whole_day else timedelta()
    return iso((parsed.at + end).timestamp())
