"""State of one turn and of its open round of tool calls, and the effect of each of its events.

submitted ─ prefetched ─▶ model call ─▶ tool calls ─▶ model call ─▶ … ─▶ answer ─▶ recorded
                             │  ▲           │                             (a failure or a cancel
                             └──┘ retry     └─ approval                    ends it from anywhere)
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.events import (
    BusyPolicy,
    Effect,
    ModelCallFailed,
    ModelReplied,
    PlannedCall,
    TurnSubmitted,
)
from hermes_jobs.domain.session.loop_guard import RepeatedCall, count_call, is_blocked
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.domain.session.usage_tally import EMPTY, UsageTally
from hermes_jobs.domain.usage import NO_USAGE, Reservation

MAX_EMPTY_REPLIES = 2  # an empty answer is requested again
MAX_CONTINUATIONS = 3  # a text cut by the output limit is continued
MAX_OUTPUT_LIMIT_RAISES = 3  # a tool call cut off by the output limit is requested again with a higher one
MAX_INVALID_ROUNDS = 3  # rounds in a row with invalid calls only
MAX_WORKER_CRASHES = 5  # workers that died while running the same step

Approval = Literal["none", "waiting", "given"]
FinalizingReason = Literal["max_iterations", "loop_guard"]


class Failure(msgspec.Struct, frozen=True):
    """Why a turn cannot go on: `kind` for programs, `message` and `hint` for people."""

    kind: str
    message: str
    hint: str = ""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of the open round. `result` is None until it has ended in any way.

    `failed`: it did not have the requested effect, for the reason in the result. `reserved`: the reservation
    for the model that it calls.
    """

    id: str
    asked: ToolCall
    effect: Effect
    after: tuple[str, ...] = ()
    attempt: int = 1
    worker_crashes: int = 0
    running: bool = False
    approval: Approval = "none"
    expires_at: float = 0.0
    result: str | None = None
    source: str | None = None
    invalid: bool = False
    failed: bool = False
    reserved: Reservation | None = None


class Exhausted(msgspec.Struct, frozen=True):
    """A model with a used-up quota, and its reset time in seconds since the epoch."""

    model: str
    until: float


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn from its first text to just before its end.

    The *spine* (prefetch, model calls, record) has one step at a time, described by `attempt`, `retry_at`,
    `deaths`, `running`, `reserved` (the reservation of its model call) and `max_tokens` (its output limit);
    also by `quota_until` (when the quota resets that it waits for, 0 for none) and `quota_waits` (the number
    of such waits). `fallbacks` counts the fallback models used so far; `exhausted` is the first model left
    because of its quota. `step` numbers the model calls. `recalled` is added to the message `asked` in its
    requests. `compressions` counts those since the model last answered, `refits` those of the whole turn
    after prompts refused as too long. `failures` are those of models that another one replaced. `cut_at`: the
    output tokens of the newest answer that was cut off, 0 if unknown.
    """

    id: str
    texts: tuple[str, ...]
    source: str
    if_busy: BusyPolicy
    attended: bool
    model: str | None
    toolsets: tuple[str, ...] | None
    deliver: tuple[str, ...] = ()
    budget_usd: float | None = None
    times_resumed: int = 0
    compressions: int = 0
    overflow_compressions: int = 0
    saves: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    started: bool = False
    asked: str = ""
    recalled: str = ""
    max_iterations: int = 0
    result_chars: int = 0
    turn_chars: int = 0
    preview_chars: int = 0
    step: int = 0
    attempt: int = 1
    retries: int = 0
    worker_crashes: int = 0
    retry_at: float = 0.0
    quota_until: float = 0.0
    quota_waits: int = 0
    fallbacks: int = 0
    exhausted: Exhausted | None = None
    max_tokens: int | None = None
    reserved: Reservation | None = None
    running: bool = False
    calls: tuple[Call, ...] = ()
    iterations: int = 0
    empty_replies: int = 0
    continuations: int = 0
    output_limit_raises: int = 0
    cut_at: int = 0
    invalid_rounds: int = 0
    partial_answer: str = ""
    finalizing: bool = False
    finalizing_because: FinalizingReason = "max_iterations"
    repeats: tuple[RepeatedCall, ...] = ()
    answer: str | None = None
    stopped_by: str | None = None
    failure: Failure | None = None
    cancelled_by: str | None = None
    books: UsageTally = EMPTY

    @property
    def step_id(self) -> str:
        """The id of the due or running model call."""
        return f"{self.id}-{self.step}"

    @property
    def is_idle(self) -> bool:
        """Whether none of its model and tool calls is running."""
        return not self.running and not any(call.running for call in self.calls)

    def call(self, call_id: str) -> Call | None:
        """The call of the open round with that id."""
        return next((call for call in self.calls if call.id == call_id), None)


def submitted(event: TurnSubmitted) -> Turn:
    """The turn of an accepted text."""
    return Turn(
        id=event.turn,
        texts=(event.text,),
        source=event.source,
        if_busy=event.if_busy,
        attended=event.attended,
        model=event.model,
        toolsets=event.toolsets,
        deliver=event.deliver,
        budget_usd=event.budget_usd,
    )


def next_call(turn: Turn) -> Turn:
    """The turn with its next model call due, at the first attempt."""
    return replace(
        turn,
        step=turn.step + 1,
        attempt=1,
        retries=0,
        worker_crashes=0,
        retry_at=0.0,
        quota_until=0.0,
        quota_waits=0,
        max_tokens=None,
        running=False,
        calls=(),
    )


def failed(turn: Turn, kind: str, message: str, hint: str = "") -> Turn:
    """The turn with a failure, which ends it."""
    return replace(turn, running=False, failure=Failure(kind, message, hint))


def call_failed(turn: Turn, event: ModelCallFailed) -> Turn:
    """The turn after a failed model call: due again at `retry_at`, or failed."""
    billed = event.usage != NO_USAGE
    books = turn.books.booked(event.usage, event.cost_usd if billed else 0.0)
    books = books.with_estimate(event.estimated, event.estimated_cost_usd)
    turn = replace(turn, books=books, reserved=None)
    if event.kind == "cancelled":
        return replace(turn, running=False)
    if event.retry_at is None:
        return failed(turn, event.kind, event.message, event.hint)
    again = replace(turn, running=False, attempt=turn.attempt + 1, retry_at=event.retry_at)
    if event.fallback:
        left = None if event.resets_at is None else Exhausted(event.model, event.resets_at)
        return replace(
            again,
            model=event.fallback,
            fallbacks=turn.fallbacks + 1,
            exhausted=turn.exhausted or left,
            retries=0,
            max_tokens=None,
        )
    if event.quota_until is not None:
        again = replace(again, retries=0, quota_until=event.quota_until, quota_waits=turn.quota_waits + 1)
        return replace(again, model=event.back_to, exhausted=None) if event.back_to else again
    return replace(again, retries=turn.retries + 1, max_tokens=event.max_tokens or turn.max_tokens)


def moved(turn: Turn, model: str) -> Turn:
    """The turn without its wait for a quota, with that model where one is given."""
    return replace(turn, retry_at=0.0, quota_until=0.0, model=model or turn.model, retries=0)


def round_opened(turn: Turn, event: ModelReplied) -> Turn:
    """The turn with the reply's tool calls due."""
    calls = tuple(
        Call(id=plan.call, asked=asked, effect=plan.effect, after=plan.after)
        for asked, plan in zip(event.tool_calls, event.plan or _default_plan(turn, event), strict=True)
    )
    return replace(
        turn,
        running=False,
        calls=calls,
        iterations=turn.iterations + 1,
        books=replace(turn.books, num_tool_calls=turn.books.num_tool_calls + len(calls)),
        empty_replies=0,
        output_limit_raises=0,
        partial_answer="",
    )


def _default_plan(turn: Turn, event: ModelReplied) -> tuple[PlannedCall, ...]:
    """The plan without a stored one: every call needs the most care and runs alone, in order."""
    ids = [f"{turn.step_id}-{index}" for index in range(len(event.tool_calls))]
    return tuple(
        PlannedCall(call=call, effect="write", after=tuple(ids[:index])) for index, call in enumerate(ids)
    )


def with_call(turn: Turn, call: Call) -> Turn:
    """The turn with its call of that id replaced."""
    return replace(turn, calls=tuple(call if each.id == call.id else each for each in turn.calls))


def round_is_complete(turn: Turn) -> bool:
    """Whether every call of the open round has a result."""
    return bool(turn.calls) and all(call.result is not None for call in turn.calls)


def round_closed(turn: Turn) -> Turn:
    """The turn after a complete round: the next model call is due, or the turn has failed."""
    all_invalid = all(call.invalid for call in turn.calls)
    invalid_rounds = turn.invalid_rounds + 1 if all_invalid else 0
    looping = any(is_blocked(turn.repeats, call.asked) for call in turn.calls)
    repeats = turn.repeats
    for call in turn.calls:  # in the order of the reply: the order of results has no effect
        repeats = count_call(repeats, call.id, call.asked, call.result or "")
    turn = replace(next_call(turn), invalid_rounds=invalid_rounds, repeats=repeats)
    if invalid_rounds >= MAX_INVALID_ROUNDS:
        return failed(
            turn,
            "invalid_tool_calls",
            f"The model made {invalid_rounds} rounds of tool calls in a row that could not be run.",
            "Try another model, or see what it asked for with `hermes-jobs turns show`.",
        )
    return replace(
        turn,
        finalizing=looping or turn.iterations >= turn.max_iterations,
        finalizing_because="loop_guard" if looping else "max_iterations",
    )


def resume(turn: Turn, *, at_the_tail: bool) -> Turn:
    """The turn resumed after its last outcome.

    If other turns ran in between, its text is appended to the conversation again.
    """
    fresh = replace(
        next_call(turn) if turn.started else turn,
        times_resumed=turn.times_resumed + 1,
        fallbacks=0,
        exhausted=None,
        compressions=0,
        overflow_compressions=0,
        worker_crashes=0,
        failure=None,
        cancelled_by=None,
        answer=None,
        stopped_by=None,
        finalizing=False,
        repeats=(),
        iterations=0,
        empty_replies=0,
        continuations=0,
        output_limit_raises=0,
        invalid_rounds=0,
        partial_answer="",
    )
    return fresh if at_the_tail else replace(fresh, started=False)
