"""The part of `tests.faults.checker` that judges delegation: one end each, which the parent is told once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

Line = Mapping[str, Any]

TURN_ENDS = {"TurnCompleted", "TurnFailed", "TurnCancelled"}
ENDED_AS = {
    "completed": {"TurnCompleted"},
    "stopped": {"TurnCompleted", "TurnFailed"},
    "out_of_budget": {"TurnCompleted", "TurnFailed"},
    "failed": {"TurnFailed"},
    "unknown": {"TurnFailed"},
    "cancelled": {"TurnCancelled"},
}
WORK = {"ModelCallStarted", "ToolStarted"}


class Child(msgspec.Struct, frozen=True):
    """A sub-agent as the call that began it names it; `parent` is the stream of that call."""

    session: str
    turn: str
    parent: str
    parent_turn: str
    call: str
    waits: bool
    begun: int
    begun_at: str

    @property
    def stream(self) -> str:
        return f"session-{self.session}"


def children_violations(lines: Sequence[Line]) -> Iterator[str]:
    """What is wrong with the sub-agents of a log in which nothing is due any more; a line for each."""
    children = [child for line in lines if line["type"] == "ChildrenStarted" for child in _begun(line)]
    by_stream: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_stream[line["stream"]].append(line)
    yield from _begun_once(children)
    yield from _ends_of_nobody(lines, children)
    for child in children:
        yield from _wrong_beginning(child, by_stream[child.stream])
        yield from _wrong_end(child, by_stream)
        yield from _wrong_answer(child, by_stream[child.parent])
        yield from _alive_below_a_cancel(child, by_stream)
    yield from _places_never_left(lines)


def _begun(line: Line) -> Iterator[Child]:
    data = line["data"]
    for ref in data["children"]:
        yield Child(
            session=ref["session"],
            turn=ref["turn"],
            parent=line["stream"],
            parent_turn=data["turn"],
            call=data["call"],
            waits=data.get("waits", True),
            begun=line["position"],
            begun_at=line["recorded_at"],
        )


def _begun_once(children: Sequence[Child]) -> Iterator[str]:
    for session, times in Counter(child.session for child in children).items():
        if times > 1:
            yield f"child {session} was begun {times} times"


def _ends_of_nobody(lines: Sequence[Line], children: Sequence[Child]) -> Iterator[str]:
    known = {(child.parent, child.session) for child in children}
    for line in lines:
        if line["type"] == "ChildEnded" and (line["stream"], line["data"]["child"]) not in known:
            yield f"{line['stream']} was told the end of {line['data']['child']}, which it did not begin"


def _wrong_beginning(child: Child, own: Sequence[Line]) -> Iterator[str]:
    """Its first text stands in its stream, of the append that begins it."""
    texts = [line for line in own if line["type"] == "TurnSubmitted" and line["data"]["turn"] == child.turn]
    if len(texts) != 1:
        yield f"child {child.session} has {len(texts)} first texts"
    elif texts[0]["data"]["opening"]["delegation"]["call"] != child.call:
        yield f"child {child.session} says that another call began it"
    elif texts[0]["recorded_at"] != child.begun_at:
        yield f"child {child.session}: its first text and what its parent says are two appends"


def _wrong_end(child: Child, by_stream: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """One status, which its parent was told once, in the append of the end, and which its turn bears out."""
    told = [
        line
        for line in by_stream[child.parent]
        if line["type"] == "ChildEnded" and line["data"]["child"] == child.session
    ]
    if len(told) != 1:
        yield f"the parent of {child.session} was told {len(told)} ends"
        return
    ends = [
        line
        for line in by_stream[child.stream]
        if line["type"] in TURN_ENDS and line["data"]["turn"] == child.turn
    ]
    status = told[0]["data"]["status"]
    if not ends:
        yield f"child {child.session} is told as {status} and has no end of its own"
    elif ends[0]["type"] not in ENDED_AS[status]:
        yield f"child {child.session} is told as {status} and ended with {ends[0]['type']}"
    elif ends[0]["recorded_at"] != told[0]["recorded_at"]:
        yield f"child {child.session}: its end and what its parent was told are two appends"


def _wrong_answer(child: Child, parents: Sequence[Line]) -> Iterator[str]:
    """The call of one that was waited for has its result behind its end; the end of another is one text."""
    told = [
        line for line in parents if line["type"] == "ChildEnded" and line["data"]["child"] == child.session
    ]
    texts = [
        line
        for line in parents
        if line["type"] == "TurnSubmitted" and line["data"].get("source") == f"child:{child.session}"
    ]
    cancelled = any(
        line["type"] in {"TurnCancelled", "TurnCancelRequested"} and line["data"]["turn"] == child.parent_turn
        for line in parents
    )
    if len(texts) > (not child.waits) or (not texts and not child.waits and not cancelled):
        yield f"the end of {child.session} became {len(texts)} texts"
    results = [
        line
        for line in parents
        if line["type"] in {"ToolFinished", "ToolInterrupted"} and line["data"]["call"] == child.call
    ]
    if child.waits and told and not cancelled and results and results[0]["position"] < told[0]["position"]:
        yield f"call {child.call} ended before its child {child.session}"


def _alive_below_a_cancel(child: Child, by_stream: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """Nothing is begun for one whose parent was asked to stop while it was open."""
    cancel = next(
        (
            line["position"]
            for line in by_stream[child.parent]
            if line["type"] in {"TurnCancelRequested", "TurnCancelled"}
            and line["data"]["turn"] == child.parent_turn
            and line["position"] > child.begun
        ),
        None,
    )
    resumed = any(
        line["type"] == "TurnResumed" and line["data"]["turn"] == child.turn
        for line in by_stream[child.stream]
    )
    if cancel is None or resumed:
        return
    for line in by_stream[child.stream]:
        if line["type"] in WORK and line["data"]["turn"] == child.turn and line["position"] > cancel:
            yield f"child {child.session}: {line['type']} after the cancel of turn {child.parent_turn}"


def _places_never_left(lines: Sequence[Line]) -> Iterator[str]:
    """Who took a place among those that run has left it as often."""
    held: Counter[str] = Counter()
    for line in lines:
        if line["type"] == "ChildSlotTaken":
            held[line["data"]["child"]] += 1
        elif line["type"] == "ChildSlotFreed":
            held[line["data"]["child"]] -= 1
    yield from (
        f"child {child} holds {times} places at the end" for child, times in held.items() if times > 0
    )
