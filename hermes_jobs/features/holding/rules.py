"""Which calls are held, and what a person decides about them.

CallHeld ─▶ waits ─ kept ▶ the call's own events, in the same append
                  ─ dropped, or expired
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.holding import events as e
from hermes_jobs.features.holding.own_words import are_own_words
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult, StateLoader, StreamEvents

DAYS = 30
"""Days after which a held call expires."""
MOST_OF_TURN, MOST_OF_DAY = 5, 20
"""Calls that are held in one turn, and on one day; the agent is told that more are not."""
ID_LENGTH = 12

Status = Literal["new", "waiting", "kept", "dropped"]

QUESTION = "changing what later turns know or do, after reading {origins}"
HELD = (
    "Not done: it waits for the user, because this conversation has text that others wrote ({origins}). The "
    "user sees it and decides. Do not try another way, and go on; in your answer say at most that it waits."
)
WAITS = "It waits for the user already, who has not decided yet. Nothing more is needed: go on."
DROPPED = "The user has decided not to keep this. Do not try it again."
FULL = "Not done, and this does not wait for the user: {limit}. Save nothing more in this turn."


class HeldCall(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream `held-ID`; `call` is the newest one."""

    stream: str
    version: int = 0
    call: e.CallHeld | None = None
    status: Status = "new"

    def waits(self, now: float) -> bool:
        """Whether a person can decide about it."""
        return self.status == "waiting" and self.call is not None and now < self.call.expires_at


class Counter(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of `holding`: how many calls were to be held on the newest day, by turn."""

    stream: str = e.COUNTER
    version: int = 0
    day: str = ""
    by_turn: Mapping[str, int] = {}

    def limit(self, day: str, turn: str) -> str:
        """Why no more are held on that day, or in that turn; empty where more are."""
        by_turn = self.by_turn if day == self.day else {}
        if by_turn.get(turn, 0) >= MOST_OF_TURN:
            return f"{MOST_OF_TURN} calls of this turn wait already"
        if sum(by_turn.values()) - self.refused >= MOST_OF_DAY:
            return f"{MOST_OF_DAY} calls of this day wait already"
        return ""

    @property
    def refused(self) -> int:
        """How many of the newest day were not held."""
        held = sum(min(number, MOST_OF_TURN) for number in self.by_turn.values())
        return sum(self.by_turn.values()) - min(held, MOST_OF_DAY)


def evolve(state: HeldCall, event: e.CallHeld | e.HeldCallKept | e.HeldCallDropped) -> HeldCall:
    """The state after one more event."""
    state = replace(state, version=state.version + 1)
    match event:
        case e.CallHeld():
            return replace(state, call=event, status="waiting")
        case e.HeldCallKept():
            return replace(state, status="kept")
        case e.HeldCallDropped():
            return replace(state, status="dropped")
        case _:
            assert_never(event)


def count(state: Counter, event: e.HoldCounted) -> Counter:
    """The counter after one more event."""
    by_turn = state.by_turn if event.day == state.day else {}
    counted = {**by_turn, event.turn: by_turn.get(event.turn, 0) + 1}
    return replace(state, version=state.version + 1, day=event.day, by_turn=counted)


def sessions_of(_stream: str, held: e.CallHeld) -> frozenset[str]:
    """The conversation that a held call is from."""
    return frozenset((held.session, held.lineage))


def stream_of(held: str) -> str:
    """The stream of the held call with that id."""
    return f"{e.PREFIX}{held}"


def id_of(tool: str, arguments: str) -> str:
    """The id of a call: the same for the same arguments in another order or spacing."""
    with suppress(ValueError, RecursionError):  # msgspec's errors are ValueErrors
        arguments = msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    return hashlib.sha256(f"{tool}\0{arguments}".encode()).hexdigest()[:ID_LENGTH]


def must_wait(texts: Sequence[str], *, outside: Sequence[str], typed: Sequence[str]) -> bool:
    """Whether a lasting call with these texts waits for a person: there is outside text, and the person, who
    `typed` what they did, has not said themselves what is to last."""
    return bool(outside) and not are_own_words(texts, typed)


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Hold a call on that day, at `now`, in the place of `change`, which is what it would do."""

    call: e.CallHeld
    change: Decision
    day: str
    now: float

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The events, and what the agent is told. Raises `Rejected` where the call could not be done."""
        done = self.change(load)
        if not done.writes:
            return done
        state: HeldCall = load(stream_of(self.call.held))
        held = self.call.held
        if state.status == "dropped":
            return DecisionResult(answer=DROPPED, failed=True, refused=f"you dropped it: held {held}")
        waits = DecisionResult(failed=True, waits=f"waits for you (held {held})")
        if state.waits(self.now):
            return replace(waits, answer=WAITS)
        counter: Counter = load(e.COUNTER)
        counted = StreamEvents(e.COUNTER, (e.HoldCounted(day=self.day, turn=self.call.turn),))
        if limit := counter.limit(self.day, self.call.turn):
            answer = FULL.format(limit=limit)
            return DecisionResult(writes=(counted,), answer=answer, failed=True, refused=limit)
        writes = (StreamEvents(state.stream, (self.call,)), counted)
        return replace(waits, writes=writes, answer=HELD.format(origins=", ".join(self.call.outside)))


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """Do what a held call was to do: `change`."""

    held: str
    change: Decision
    by: str
    now: float

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The events of the call, once. Raises `Rejected`, also where the call cannot be done any more."""
        state = waiting(load, self.held, self.now)
        done = self.change(load)
        kept = StreamEvents(state.stream, (e.HeldCallKept(held=self.held, by=self.by),))
        return replace(done, writes=(kept, *done.writes))


class Drop(msgspec.Struct, frozen=True, kw_only=True):
    """Do nothing of what a held call was to do."""

    held: str
    by: str
    now: float

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event. Raises `Rejected`."""
        state = waiting(load, self.held, self.now)
        return DecisionResult.of(state.stream, e.HeldCallDropped(held=self.held, by=self.by))


def waiting(load: StateLoader, held: str, now: float) -> HeldCall:
    """The held call of that id. Raises `Rejected`, kind `not_waiting`, for one that does not wait."""
    state: HeldCall = load(stream_of(held))
    if state.waits(now):
        return state
    became = "has expired" if state.status == "waiting" else f"was {state.status}"
    raise Rejected(f"{held} does not wait: it {became}.", kind="not_waiting")
