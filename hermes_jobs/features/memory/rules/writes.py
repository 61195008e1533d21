"""Writes to the memory: the request, its checks, and its answer. All operations of a request are applied, or
none.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import (
    MARK,
    STREAM,
    TARGETS,
    Limits,
    Memory,
    chars,
    evolve,
    fill,
    is_shown,
    quoted,
)
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.scan.scanner import scan

MemoryAction = Literal["add", "replace", "remove"]

UNSAFE = "[an entry that a rule leaves out of prompts: leave it to the user]"
PREVIEW = 80
SHOWN = 5
NEAREST = 3
ALIKE = 0.35
_COMPARED = 2_000  # characters of each text: comparing is quadratic


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `old_text` is a part of the entry that is changed; no other entry may contain it.

    `kind` None and no `tags`: as they are, or as usual. A replacement without `content` changes these alone.
    `anyway`: a person accepts it although it matches a scan rule; only a person may.
    """

    action: MemoryAction
    target: e.MemoryTarget
    content: str | None = None
    old_text: str | None = None
    anyway: bool = False
    kind: e.MemoryClass | None = None
    tags: tuple[str, ...] = ()


class Origin(msgspec.Struct, frozen=True):
    """The author and the origin of a write. `lineage` is that of the session whose model writes.
    `provisional`: the write has to be verified."""

    author: e.Author
    evidence: e.Evidence | None = None
    lineage: str = ""
    provisional: bool = False


class _Done(NamedTuple):
    """The result of one operation: its event, None if nothing changed, and a word for it."""

    event: e.MemoryEvent | None
    word: str


class Write:
    """The decision that applies all operations in order. Raises `Rejected` when constructed."""

    def __init__(self, operations: Sequence[Operation], origin: Origin, limits: Limits) -> None:
        self._operations = tuple(operations)
        self._origin = origin
        self._limits = limits

    def __call__(self, load: StateLoader) -> DecisionResult:
        """See `Decision`."""
        before: Memory = load(STREAM)
        memory, events, words = before, [], []
        unseen = self._unseen(before, load)
        for number, operation in enumerate(self._operations, start=1):
            try:
                _check_seen(memory, operation, unseen)
                done = _decide(memory, operation, self._origin, self._limits)
            except Rejected as refused:
                raise self._numbered(refused, number) from refused
            words.append(done.word)
            if done.event is not None:
                events.append(done.event)
                memory = evolve(memory, done.event)
        writes = (StreamEvents(STREAM, tuple(events)),) if events else ()
        return DecisionResult(writes=writes, answer=self._answer(memory, words, saved=bool(events)))

    def _unseen(self, memory: Memory, load: StateLoader) -> frozenset[tuple[e.MemoryTarget, str]]:
        """The entries that a person wrote and that the writing model has not seen."""
        if not self._origin.lineage or not memory.persons:
            return frozenset()
        session: Session = load(stream_of(self._origin.lineage))
        shown = [session.started.system_prompt if session.started else ""]
        shown += [message.content for message in session.messages]
        return frozenset(
            (target, entry)
            for target, entry in memory.persons
            if not any(is_shown(entry, text) for text in shown)
        )

    def _numbered(self, refused: Rejected, number: int) -> Rejected:
        if len(self._operations) == 1:
            return refused
        return Rejected(
            f"Operation {number} of {len(self._operations)}: {refused.message}",
            kind=refused.kind,
            hint=f"{refused.hint} Nothing of the batch was written.",
        )

    def _answer(self, memory: Memory, words: Sequence[str], *, saved: bool) -> str:
        targets = {operation.target for operation in self._operations}
        state = " ".join(_state(memory, target, self._limits) for target in TARGETS if target in targets)
        done = "Saved" if saved else "Nothing to write"
        end = " It is in the log and in the files: nothing more is needed." if saved else ""
        return f"{done}: {', '.join(words)}. {state}{end}"


def _state(memory: Memory, target: e.MemoryTarget, limits: Limits) -> str:
    entries = memory.entries(target)
    count = pluralize(len(entries), "entry", "entries")
    if chars(entries) > limits.of(target):
        return f"`{target}` holds {count}; those that prompts have no room for are recalled when it matters."
    return f"`{target}` holds {count} [{fill(entries, limits.of(target))}]."


def _check_seen(memory: Memory, operation: Operation, unseen: frozenset[tuple[e.MemoryTarget, str]]) -> None:
    """Raise `Rejected` if the write would remove an entry that the model has never seen in this form."""
    if operation.action == "add" or not unseen:
        return
    entries = memory.entries(operation.target)
    try:
        affected: Sequence[str] = (only_match(entries, operation.old_text),)
    except Rejected:
        affected = nearest(entries, operation.old_text or "")
    changed = [entry for entry in affected if (operation.target, entry) in unseen]
    if changed:
        raise Rejected(
            f"The user has changed this since you read it, and nothing was written. It reads now:\n"
            f"{quoted(UNSAFE if scan(entry) else entry for entry in changed)}\n",
            kind="memory_changed",
            hint="Keep what the user wrote; ask again if something of it is still to be replaced or removed.",
        )


def _decide(memory: Memory, operation: Operation, origin: Origin, limits: Limits) -> _Done:
    target, author, evidence = operation.target, origin.author, _evidence(operation, origin)
    entries = memory.entries(target)
    match operation.action:
        case "add":
            return _added(memory, operation, origin, limits)
        case "replace":
            old = only_match(entries, operation.old_text)
            if operation.content is None and (operation.kind or operation.tags):
                return _Done(_described(operation, old, origin), "changed")
            content = checked(operation.content, limits.of(target), longest=len(old))
            if content == old:
                return _Done(None, "already so")
            if content in entries:
                removed = e.MemoryRemoved(target=target, old=old, author=author, evidence=evidence)
                return _Done(removed, "replaced by an entry that was there already")
            replaced = e.MemoryReplaced(
                target=target,
                old=old,
                content=content,
                author=author,
                evidence=evidence,
                kind=operation.kind,
                tags=operation.tags,
                provisional=_is_provisional(operation, origin),
            )
            return _Done(replaced, "replaced")
        case "remove":
            old = only_match(entries, operation.old_text)
            removed = e.MemoryRemoved(target=target, old=old, author=author, evidence=evidence)
            return _Done(removed, "removed")
        case _:
            assert_never(operation.action)


def _added(memory: Memory, operation: Operation, origin: Origin, limits: Limits) -> _Done:
    target, evidence = operation.target, _evidence(operation, origin)
    content = checked(operation.content, limits.of(target), anyway=operation.anyway)
    anyway = operation.anyway and bool(scan(content))
    if content not in memory.entries(target):
        added = e.MemoryAdded(
            target=target,
            content=content,
            author=origin.author,
            evidence=evidence,
            anyway=anyway,
            kind=operation.kind,
            tags=operation.tags,
            provisional=_is_provisional(operation, origin),
        )
        return _Done(added, "added")
    if anyway and content not in memory.allowed:
        return _Done(_described(operation, content, origin, anyway=True), "let into prompts")
    if operation.kind or operation.tags:
        return _Done(_described(operation, content, origin), "there already, changed")
    confirmed = e.MemoryConfirmed(target=target, content=content, author=origin.author, evidence=evidence)
    return _Done(confirmed, "there already, confirmed")


def _described(operation: Operation, entry: str, origin: Origin, *, anyway: bool = False) -> e.MemoryReplaced:
    """The same entry with another kind or other tags, or allowed in prompts."""
    return e.MemoryReplaced(
        target=operation.target,
        old=entry,
        content=entry,
        author=origin.author,
        evidence=_evidence(operation, origin),
        anyway=anyway,
        kind=operation.kind,
        tags=operation.tags,
    )


def _evidence(operation: Operation, origin: Origin) -> e.Evidence | None:
    """The write's origin; for a working entry with the lineage, in all sessions of which it applies."""
    if operation.kind != "working" or origin.evidence is None:
        return origin.evidence
    return replace(origin.evidence, session=origin.lineage or origin.evidence.session)


def _is_provisional(operation: Operation, origin: Origin) -> bool:
    """Whether the entry has to be verified; one of a single session has no effect elsewhere."""
    return origin.provisional and operation.kind != "working"


def checked(content: str | None, limit: int, *, longest: int = 0, anyway: bool = False) -> str:
    """The content as an entry. Raises `Rejected` if it is empty, or must not be saved. `limit` is in
    characters, or `longest` if that is more. `anyway`: also if it matches a scan rule.
    """
    entry = (content or "").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not entry:
        raise Rejected("The content is empty.", kind="memory_empty", hint="Say what is to be remembered.")
    if any(line.strip() == MARK for line in entry.split("\n")):
        raise Rejected(
            f"The content has a line “{MARK}”, which separates entries.",
            kind="memory_separator",
            hint="Write two entries, or leave that line out.",
        )
    if len(entry) > max(limit, longest):
        raise Rejected(
            f"The entry has {len(entry):,} characters; the limit is {limit:,}. Nothing was written.",
            kind="memory_long",
            hint="Shorten it, or write several entries.",
        )
    for finding in () if anyway else scan(entry):
        raise Rejected(
            f"Refused by the rule “{finding.rule}”: {finding.excerpt}",
            kind="memory_scan",
            hint="The memory is read in every session: say it without that, or leave it out.",
        )
    return entry


def only_match(entries: Sequence[str], old_text: str | None) -> str:
    """The only entry that contains the text, or equals it. Raises `Rejected` for none or several."""
    text = (old_text or "").replace("\r\n", "\n").strip()
    if not text:
        raise Rejected("old_text is empty.", kind="memory_old_text", hint="Give a part of one entry.")
    holding = [text] if text in entries else [entry for entry in entries if text in entry]
    if len(holding) == 1:
        return holding[0]
    if holding:
        raise Rejected(
            f"{len(holding)} entries hold “{preview(text)}”:\n{listed(holding[:SHOWN])}",
            kind="memory_ambiguous",
            hint="Give more of the one that is meant.",
        )
    near = nearest(entries, text)
    if not near:
        raise Rejected(
            f"No entry holds “{preview(text)}”.",
            kind="memory_not_found",
            hint="Nothing there is like it." if entries else "There are no entries.",
        )
    raise Rejected(
        f"No entry holds “{preview(text)}”. The nearest:\n{listed(near)}",
        kind="memory_not_found",
        hint="Give a part of an entry exactly as it stands.",
    )


def nearest(entries: Sequence[str], text: str) -> tuple[str, ...]:
    """The entries most similar to a text, or with most of its words."""
    words = set(text.lower().split())
    sought = text.lower()[:_COMPARED]

    def likeness(entry: str) -> float:
        shared = len(words & set(entry.lower().split())) / max(len(words), 1)
        return max(shared, difflib.SequenceMatcher(None, entry.lower()[:_COMPARED], sought).ratio())

    ranked = sorted(((likeness(entry), entry) for entry in entries), reverse=True)
    return tuple(entry for share, entry in ranked[:NEAREST] if share >= ALIKE)


def preview(text: str) -> str:
    """The text on one short line."""
    return one_line(text, PREVIEW)


def listed(entries: Sequence[str]) -> str:
    """One entry a line, short."""
    return "\n".join(f"- {preview(entry)}" for entry in entries)
