"""State of one turn, and the effect of each of its events.

submitted ─ prefetched ─▶ model call ─▶ tool calls ─▶ model call ─▶ … ─▶ answer ─▶ recorded
                             │  ▲           │                             (a failure or a cancel
                             └──┘ retry     └─ approval                    ends it from anywhere)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import (
    BusyPolicy,
    CallPattern,
    Mode,
    ModelCallFailed,
    TurnPostponed,
    TurnSubmitted,
)
from hermes_jobs.kernel.turns import outside
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import RepeatedCall
from hermes_jobs.kernel.turns.references import Reference, resumed
from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.kernel.turns.step_state import StepState
from hermes_jobs.kernel.turns.usage_tally import EMPTY, UsageTally

MAX_EMPTY_REPLIES = 2  # an empty answer is requested again
MAX_CONTINUATIONS = 3  # a text cut by the output limit is continued
MAX_OUTPUT_LIMIT_RAISES = 3  # a tool call cut off by the output limit is requested again with a higher one
MAX_WORKER_CRASHES = 5  # workers that died while running the same step

FinalizingReason = Literal["max_iterations", "loop_guard"]

_ASKS = re.compile(r"telegram:-?\d", re.ASCII)
"""Targets of answers where people can be asked: a chat, not a channel by its name."""


class Failure(msgspec.Struct, frozen=True):
    """Why a turn cannot continue: `kind` for programs, `message` and `hint` for people."""

    kind: str
    message: str
    hint: str = ""


class Exhausted(msgspec.Struct, frozen=True):
    """A model with a used-up quota, and its reset time in seconds since the epoch."""

    model: str
    until: float


class Turn(StepState, frozen=True, kw_only=True):
    """A turn from its first text to just before its end.

    Its prefetch, model calls and record are one step at a time: the fields of `StepState` describe that step,
    `step` numbers the model calls, and `max_tokens` is the output limit of the current one.

    * Waits: until `quota_until` for a quota (0: none), for the `quota_waits`-th time. `postponed` is the
      reason why the turn could not begin (empty: it could, or was not tried), first at `postponed_since`, and
      `postponements` times. `held`: it may not begin before it is released.
    * Models: `model` answers, or puts the answers of the `ensemble` together, which are in `references`.
      `fallbacks` counts the fallback models used, `exhausted` is the first model replaced because of its
      quota, `failures` are those of models that another one replaced.
    * Text: `attachments` go with the texts, the files `delivered` with the answer; `describes`: pictures are
      described to the model. `typed` are those of the texts that a person wrote, `outside` the origins of
      what others wrote in them. `recalled` is added to the
      message `prompt_text` in its requests.
      `go_on` replaces the texts if the turn continues after an answer.
    * Compressions: `compressions` since the last reply, `overflow_compressions` of the whole turn after
      prompts that were refused as too long.
    * Limits: `cut_at` is the number of output tokens of the newest answer that was cut off (0: unknown).
      `refusals` counts calls that the loop guard refused; `max_refusals` of them end the turn (0 in older
      logs: the first one, and nothing resets its counts). `corrections` counts answers that did not fit
      `answer_schema`. `denial` is the result of the first call that was not allowed; `used_tools`: some call
      was allowed.

    `settings`, `requires`, `answer_schema` and `unwatched`: see `TurnSubmitted`.
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
    account: str = ""
    account_usd: float | None = None
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
    prompt_text: str = ""
    recalled: str = ""
    cache_ttl: CacheTtl | None = None
    max_iterations: int = 0
    max_refusals: int = 0
    result_chars: int = 0
    turn_chars: int = 0
    preview_chars: int = 0
    step: int = 0
    retries: int = 0
    quota_until: float = 0.0
    quota_waits: int = 0
    postponed: str = ""
    postponed_since: float = 0.0
    postponements: int = 0
    fallbacks: int = 0
    exhausted: Exhausted | None = None
    max_tokens: int | None = None
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
    tally: UsageTally = EMPTY
    settings: Mapping[str, Any] = {}
    requires: Mapping[str, str] = {}
    answer_schema: str = ""
    corrections: int = 0
    held: bool = False
    ensemble: str = ""
    references: tuple[Reference, ...] = ()
    wants_title: bool = False
    author: str = ""
    attachments: tuple[Attachment, ...] = ()
    delivered: tuple[Attachment, ...] = ()
    describes: bool = False
    typed: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    unwatched: bool = False

    @property
    def waits_until(self) -> float:
        """The end of its wait for a quota or a requirement; 0 if it does not wait."""
        return self.quota_until or (self.retry_at if self.postponed else 0.0)

    @property
    def may_call_tools(self) -> bool:
        """Whether its next reply may request tools: not for a closing or corrected answer."""
        return not self.finalizing and not self.corrections

    @property
    def step_id(self) -> str:
        """The id of the due or running model call."""
        return f"{self.id}-{self.step}"

    @property
    def prefetch_id(self) -> str:
        """The id of the step before its first model call."""
        return f"{self.id}-prefetch"

    @property
    def was_refused(self) -> bool:
        """Whether all its tool calls were refused, because no user could be asked."""
        return not self.attended and bool(self.denial) and not self.used_tools

    @property
    def refusal(self) -> str:
        """Why it failed, if it `was_refused`."""
        return f"every tool call was refused; the first: {self.denial.removeprefix('Error: ')}"

    @property
    def is_attended(self) -> bool:
        """Whether a user can be asked: the one who sent it, or people in a chat that gets the answer."""
        return (self.attended or any(map(_ASKS.match, self.deliver))) and not self.unattended

    @property
    def is_watched(self) -> bool:
        """Whether a person watches it as it runs."""
        return self.attended and not (self.unattended or self.unwatched)

    @property
    def is_idle(self) -> bool:
        """Whether none of its model and tool calls is running, here or as a task of a server."""
        has_reference = any(reference.running for reference in self.references)
        return not (
            self.running or has_reference or any(call.running or call.has_task for call in self.calls)
        )

    @property
    def open_references(self) -> tuple[Reference, ...]:
        """The references that are due or running."""
        return tuple(reference for reference in self.references if reference.is_open)

    def reference(self, step: str) -> Reference | None:
        """The reference with that id."""
        return next((reference for reference in self.references if reference.id == step), None)

    def call(self, call_id: str) -> Call | None:
        """The call of the open round with that id."""
        return next((call for call in self.calls if call.id == call_id), None)


def may_join(turn: Turn, text: Turn) -> bool:
    """Whether a text may become part of a turn: not if it has other permissions, or another form of answer;
    and of one that has begun not if what goes with it has to be heard or described first."""
    brings = any(each.is_sound or (turn.describes and each.is_picture) for each in text.attachments)
    return (
        not (turn.started and brings)
        and text.mode in {None, turn.mode}
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
        account=event.account,
        account_usd=event.account_usd,
        mode=event.mode,
        approve=event.approve,
        unattended=event.unattended,
        settings=event.settings,
        requires=event.requires,
        answer_schema=event.answer_schema,
        held=event.held,
        wants_title=event.wants_title,
        author=event.author,
        attachments=event.attachments,
        typed=(event.text,) if outside.is_typed(event) else (),
        outside=outside.origins(event),
        unwatched=event.unwatched,
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
    turn = replace(turn.released(), tally=turn.tally.with_outcome(event))
    if event.kind == "cancelled":
        return turn
    if event.retry_at is None:
        return failed(turn, event.kind, event.message, event.hint)
    again = replace(turn, attempt=turn.attempt + 1, retry_at=event.retry_at)
    if event.fallback:
        exhausted = None if event.resets_at is None else Exhausted(event.model, event.resets_at)
        return replace(
            again,
            model=event.fallback,
            fallbacks=turn.fallbacks + 1,
            exhausted=turn.exhausted or exhausted,
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
        turn.released(),
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
    """The turn without its wait, with that model if one is given."""
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


def with_reference(turn: Turn, reference: Reference) -> Turn:
    """The turn with its reference of that id replaced."""
    changed = (reference if other.id == reference.id else other for other in turn.references)
    return replace(turn, references=tuple(changed))


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
