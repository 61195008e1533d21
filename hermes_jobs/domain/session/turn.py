"""State of one turn and of its open round of tool calls, and the effect of each of its events.

submitted ─ prefetched ─▶ model call ─▶ tool calls ─▶ model call ─▶ … ─▶ answer ─▶ recorded
                             │  ▲           │                             (a failure or a cancel
                             └──┘ retry     └─ approval                    ends it from anywhere)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.events import (
    BusyPolicy,
    CallPattern,
    ChildEnded,
    ChildRef,
    Effect,
    InputAnswered,
    InputRequest,
    InputRequested,
    Mode,
    ModelCallFailed,
    ModelReplied,
    PlannedCall,
    ServerTaskBegun,
    TurnPostponed,
    TurnSubmitted,
)
from hermes_jobs.domain.session.loop_guard import RepeatedCall, count_call, is_blocked
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.domain.session.references import Reference, resumed
from hermes_jobs.domain.session.usage_tally import EMPTY, UsageTally
from hermes_jobs.domain.usage import Reservation

MAX_EMPTY_REPLIES = 2  # an empty answer is requested again
MAX_CONTINUATIONS = 3  # a text cut by the output limit is continued
MAX_OUTPUT_LIMIT_RAISES = 3  # a tool call cut off by the output limit is requested again with a higher one
MAX_INVALID_ROUNDS = 3  # rounds in a row with invalid calls only
MAX_WORKER_CRASHES = 5  # workers that died while running the same step

Approval = Literal["none", "waiting", "given"]
FinalizingReason = Literal["max_iterations", "loop_guard"]


class Failure(msgspec.Struct, frozen=True):
    """Why a turn cannot continue: `kind` for programs, `message` and `hint` for people."""

    kind: str
    message: str
    hint: str = ""


class OpenInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a call's server asks of the person, with the answers so far. `rounds`: how often it has asked."""

    request: InputRequested
    rounds: int
    answers: tuple[InputAnswered, ...] = ()

    @property
    def unanswered(self) -> tuple[InputRequest, ...]:
        """The requests without an answer."""
        answered = {each.key for each in self.answers}
        return tuple(each for each in self.request.requests if each.key not in answered)


class OpenTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that a call's server runs. It is polled next at `poll_at`, and last answered at `seen_at`.
    `answered`: the keys of requests whose answers it has."""

    begun: ServerTaskBegun
    poll_at: float
    seen_at: float
    answered: tuple[str, ...] = ()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of the open round. `result` is None until it has ended in any way.

    `failed`: it did not have the requested effect, for the reason in the result; `refused`: it was not
    allowed. `rule`: why a person is asked. `reserved`: the reservation for the model that it calls.
    `children`: those for whose `child_ends` it waits. `input`: what its server has asked for last.
    `task`: what its server continues with.
    """

    id: str
    asked: ToolCall
    effect: Effect
    after: tuple[str, ...] = ()
    attempt: int = 1
    worker_crashes: int = 0
    running: bool = False
    approval: Approval = "none"
    offer: CallPattern | None = None
    expires_at: float = 0.0
    rule: str = ""
    result: str | None = None
    children: tuple[ChildRef, ...] = ()
    child_ends: tuple[ChildEnded, ...] = ()
    input: OpenInput | None = None
    task: OpenTask | None = None
    source: str | None = None
    invalid: bool = False
    failed: bool = False
    refused: bool = False
    reserved: Reservation | None = None

    @property
    def waits_for_children(self) -> bool:
        """Whether it began children and some of them have not ended: no worker has anything to do with it."""
        return bool(self.children) and self.result is None

    @property
    def waits_for_input(self) -> bool:
        """Whether its server has asked for input that is not there."""
        return self.input is not None and bool(self.input.unanswered) and self.result is None

    @property
    def waits_for_person(self) -> bool:
        """Whether nothing continues in it before a person has answered."""
        return self.result is None and (self.approval == "waiting" or self.waits_for_input)

    @property
    def has_task(self) -> bool:
        """Whether its server continues with it as a task."""
        return self.task is not None and self.result is None

    @property
    def stored_input(self) -> OpenInput | None:
        """What another worker makes the call with: not what was asked while it was being made."""
        return None if self.input is None or self.input.request.live else self.input

    @property
    def due_at(self) -> float:
        """Before when it is not due, in seconds since the epoch: when its wait for a person ends, or its task
        is asked about."""
        if self.input is not None and not self.input.request.live:
            return self.input.request.expires_at if self.waits_for_input else 0.0
        return self.expires_at if self.task is None else self.task.poll_at


class Exhausted(msgspec.Struct, frozen=True):
    """A model with a used-up quota, and its reset time in seconds since the epoch."""

    model: str
    until: float


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn from its first text to just before its end.

    The *spine* (prefetch, model calls, record) has one step at a time, described by `attempt`, `retry_at`,
    `worker_crashes`, `running`, `reserved` (the reservation of its model call) and `max_tokens` (its output
    limit); also by `quota_until` (when the quota resets that it waits for, 0 for none) and `quota_waits` (the
    number of such waits). `postponed` says why it could not begin (empty: it could, or was not tried), first
    at `postponed_since`, and `postponements` times. `fallbacks` counts the fallback models used so far;
    `exhausted` is the first model left because of its quota. `step` numbers the model calls. `recalled` is
    added to the message `asked` in its requests. `compressions` counts those since the model last answered,
    `overflow_compressions` those of the whole turn after prompts refused as too long. `failures` are those of
    models that another one replaced. `cut_at`: the output tokens of the newest answer that was cut off, 0 if
    unknown. `refusals` counts calls that the loop guard refused; `max_refusals` of them end the turn (0 in
    older logs: the first one, and nothing resets its counts). `corrections` counts answers that did not fit
    `answer_schema` and were asked for again. `go_on` stands in the place of the texts where the turn
    continues after an answer. `denial`: the result of the first call that was not allowed; `used_tools`: some
    call was. `settings`, `requires` and `answer_schema`: see `TurnSubmitted`. `held`: it may not begin yet.
    `ensemble`: whose members answer first; `references` are their answers, and `model` is its aggregator.
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
    mode: Mode | None = None
    approve: tuple[CallPattern, ...] = ()
    unattended: bool = False
    times_resumed: int = 0
    compressions: int = 0
    overflow_compressions: int = 0
    saves: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    started: bool = False
    go_on: str = ""
    asked: str = ""
    recalled: str = ""
    max_iterations: int = 0
    max_refusals: int = 0
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
    postponed: str = ""
    postponed_since: float = 0.0
    postponements: int = 0
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
    denial: str = ""
    used_tools: bool = False
    partial_answer: str = ""
    finalizing: bool = False
    finalizing_because: FinalizingReason = "max_iterations"
    repeats: tuple[RepeatedCall, ...] = ()
    refusals: int = 0
    answer: str | None = None
    stopped_by: str | None = None
    failure: Failure | None = None
    cancelled_by: str | None = None
    books: UsageTally = EMPTY
    settings: Mapping[str, Any] = {}
    requires: Mapping[str, str] = {}
    answer_schema: str = ""
    corrections: int = 0
    held: bool = False
    ensemble: str = ""
    references: tuple[Reference, ...] = ()
    wants_title: bool = False

    @property
    def waits_until(self) -> float:
        """Until when it waits for a quota, or for what it cannot begin without; 0 where it does not."""
        return self.quota_until or (self.retry_at if self.postponed else 0.0)

    @property
    def may_call_tools(self) -> bool:
        """Whether its next reply may ask for tools: not where a closing or corrected answer is wanted."""
        return not self.finalizing and not self.corrections

    @property
    def step_id(self) -> str:
        """The id of the due or running model call."""
        return f"{self.id}-{self.step}"

    @property
    def was_refused(self) -> bool:
        """Whether it called tools where nobody can be asked, and not one of its calls was allowed."""
        return not self.attended and bool(self.denial) and not self.used_tools

    @property
    def is_attended(self) -> bool:
        """Whether a person can be asked."""
        return self.attended and not self.unattended

    @property
    def is_idle(self) -> bool:
        """Whether none of its model and tool calls is running, here or as a task of a server."""
        asked = any(each.running for each in self.references)
        return not (self.running or asked or any(call.running or call.has_task for call in self.calls))

    @property
    def open_references(self) -> tuple[Reference, ...]:
        """The references that are due or running."""
        return tuple(each for each in self.references if each.is_open)

    def reference(self, step: str) -> Reference | None:
        """The reference with that id."""
        return next((each for each in self.references if each.id == step), None)

    def call(self, call_id: str) -> Call | None:
        """The call of the open round with that id."""
        return next((call for call in self.calls if call.id == call_id), None)


def may_join(turn: Turn, text: Turn) -> bool:
    """Whether a text may become part of a turn: not where it was to have other permissions, or an answer of
    another form."""
    return (
        text.mode in {None, turn.mode}
        and text.approve in {(), turn.approve}
        and text.unattended <= turn.unattended
        and text.answer_schema in {"", turn.answer_schema}
    )


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
        mode=event.mode,
        approve=event.approve,
        unattended=event.unattended,
        settings=event.settings,
        requires=event.requires,
        answer_schema=event.answer_schema,
        held=event.held,
        wants_title=event.wants_title,
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
    turn = replace(turn, books=turn.books.with_outcome(event), reserved=None)
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


def postponed(turn: Turn, event: TurnPostponed) -> Turn:
    """The turn, which begins at `retry_at` at the earliest."""
    return replace(
        turn,
        attempt=turn.attempt + 1,
        retry_at=event.retry_at,
        postponed=event.reason,
        postponed_since=event.since,
        postponements=event.number,
    )


def at_once(turn: Turn) -> Turn:
    """The turn as if it had never been postponed."""
    return replace(turn, retry_at=0.0, postponed="", postponed_since=0.0, postponements=0)


def moved(turn: Turn, model: str) -> Turn:
    """The turn without its wait, with that model where one is given."""
    ensemble = "" if model else turn.ensemble
    return replace(
        turn,
        retry_at=0.0,
        quota_until=0.0,
        postponed="",
        model=model or turn.model,
        ensemble=ensemble,
        retries=0,
    )


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


def with_reference(turn: Turn, reference: Reference) -> Turn:
    """The turn with its reference of that id replaced."""
    changed = (reference if each.id == reference.id else each for each in turn.references)
    return replace(turn, references=tuple(changed))


def round_is_complete(turn: Turn) -> bool:
    """Whether every call of the open round has a result."""
    return bool(turn.calls) and all(call.result is not None for call in turn.calls)


def round_closed(turn: Turn) -> Turn:
    """The turn after a complete round: the next model call is due, or the turn has failed."""
    all_invalid = all(call.invalid for call in turn.calls)
    invalid_rounds = turn.invalid_rounds + 1 if all_invalid else 0
    repeats, refused = _count_round(turn, turn.calls)
    refusals = turn.refusals + refused
    looping = refused > 0 and refusals >= turn.max_refusals
    denials = [call.result or "" for call in turn.calls if call.refused]
    turn = replace(
        next_call(turn),
        invalid_rounds=invalid_rounds,
        repeats=repeats,
        refusals=refusals,
        denial=turn.denial or (denials[0] if denials else ""),
        used_tools=turn.used_tools or any(not (call.refused or call.invalid) for call in turn.calls),
    )
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


def repeats_before(turn: Turn, call_id: str) -> tuple[RepeatedCall, ...]:
    """What the loop guard knows when that call of the open round runs: earlier rounds, and those calls of the
    reply before it that have ended.
    """
    if not turn.max_refusals:
        return turn.repeats
    earlier = takewhile(lambda call: call.id != call_id, turn.calls)
    return _count_round(turn, [call for call in earlier if call.result is not None])[0]


def _count_round(turn: Turn, calls: Iterable[Call]) -> tuple[tuple[RepeatedCall, ...], int]:
    """The counts after those calls of the round, and how many of them were blocked.

    Calls count in the order of the reply: the order of results has no effect.
    """
    repeats, refused = turn.repeats, 0
    for call in calls:
        refused += is_blocked(repeats if turn.max_refusals else turn.repeats, call.asked)
        changes = turn.max_refusals > 0 and call.effect == "write" and not call.failed
        repeats = count_call(repeats, call.id, call.asked, call.result or "", changes=changes)
    return repeats, refused


def resume(turn: Turn, *, at_the_tail: bool, go_on: str = "") -> Turn:
    """The turn resumed after its last outcome.

    If other turns ran in between, its text is appended to the conversation again, or `go_on` in its place.
    """
    fresh = replace(
        next_call(turn) if turn.started else at_once(turn),
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
        go_on=go_on or turn.go_on,
        repeats=(),
        refusals=0,
        iterations=0,
        empty_replies=0,
        continuations=0,
        corrections=0,
        output_limit_raises=0,
        invalid_rounds=0,
        denial="",
        used_tools=False,
        partial_answer="",
        references=tuple(map(resumed, turn.references)),
    )
    return fresh if at_the_tail else replace(fresh, started=False)
