"""`turn.call_model`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from hermes_jobs.kernel.engine.bounded_schema import answer_faults
from hermes_jobs.kernel.engine.handlers.call_usage import (
    UNREPORTED,
    failed_call_usage,
    failure_text,
    with_estimate,
)
from hermes_jobs.kernel.engine.handlers.failed_calls import Attempts
from hermes_jobs.kernel.engine.handlers.request_builder import (
    OUTPUT_LIMIT,
    RequestBuilder,
    TurnLimits,
    shorter_answer,
)
from hermes_jobs.kernel.engine.handlers.tool_context import call_purpose, tool_context
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    ConfiguredModel,
    FailedCall,
    ModelError,
    ModelRequest,
    Models,
    Reply,
    RetryPlan,
    StepInterrupted,
    Toolbox,
)
from hermes_jobs.kernel.engine.ports.model import bill
from hermes_jobs.kernel.events import (
    ApprovalGiven,
    ApprovalRequested,
    ContextPressure,
    ModelCallFailed,
    ModelReplied,
    ResponseBooked,
)
from hermes_jobs.kernel.live import DeltaStream, OnDelta
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.loop_guard import is_blocked
from hermes_jobs.kernel.turns.repetition import is_stalled
from hermes_jobs.kernel.turns.session import Session, running_turn, workdir_of
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock
from hermes_jobs.system.ids import Ids
from hermes_jobs.text.json_schema import has_patterns

OVERFLOW = "context_overflow"


class ContextPolicy(Protocol):
    """What becomes of a context that fills its window; see `hermes_jobs.features.compression`."""

    def on_overflow(self, session: Session, turn: Turn, error: ModelError) -> c.RequestCompression | None:
        """The command that may make a refused prompt fit, if any."""

    def pressure_change(self, session: Session, turn: Turn, reply: ModelReplied) -> ContextPressure | None:
        """The notification about how full the context is, if that has changed."""


class _ModelCall(NamedTuple):
    """One call: what is asked for the turn, and at which model."""

    session: Session
    turn: Turn
    step: Step
    at: ConfiguredModel
    request: ModelRequest

    @property
    def purpose(self) -> str:
        """What its usage is recorded under."""
        return call_purpose(self.session)

    def failed_before(self, failed: FailedCall | None) -> tuple[ResponseBooked, ...]:
        """The usage of the call in whose place this one was made."""
        turn, sent = self.turn, self.turn.reserved.input_tokens if self.turn.reserved else 0
        return failed_call_usage(
            failed, self.at.pricing, sent, turn=turn.id, step=self.step.id, purpose=self.purpose
        )


class CallModel:
    """`turn.call_model`: one request and its reply, or the failure that a later attempt follows."""

    def __init__(  # noqa: PLR0913 - the ports it needs
        self,
        *,
        models: Models,
        toolbox: Toolbox,
        retry: RetryPlan,
        clock: Clock,
        ids: Ids,
        limits: TurnLimits,
        on_delta: OnDelta,
        sizing: ContextPolicy | None = None,
        requests: RequestBuilder | None = None,
        rules: Callable[[], tuple[ApprovalRule, ...]] = tuple,
    ) -> None:
        """`rules()` are the standing rules in force for tool calls."""
        self._models = models
        self._toolbox = toolbox
        self._attempts = Attempts(retry, clock, ids, limits)
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._on_delta = on_delta
        self._sizing = sizing
        self._requests = requests or RequestBuilder(toolbox, limits)
        self._rules = rules

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        turn = running_turn(session)
        call = _ModelCall(session, turn, step, self._models.of(session), self._requests.build(session, turn))
        speech = DeltaStream(
            self._on_delta, turn=turn.id, step=step.id, attempt=step.attempt, call=self._ids.name("m")
        )
        try:
            reply = call.at.model.reply(call.request, cancel, speech.say)
        except ModelError as error:
            return self._after_failure(call, error, speech.text, cancel)
        finally:
            speech.end()
        return self._after_reply(call, reply)

    def _after_reply(self, call: _ModelCall, reply: Reply) -> c.FinishModelCall:
        """The reply, and what follows from it: approvals, how full the context is, faults of the answer."""
        session, turn, pricing = call.session, call.turn, call.at.pricing
        replied = self._replied(call, reply)
        replied = with_estimate(replied, pricing, turn.reserved, reply.content + reply.reasoning)
        responses = call.failed_before(reply.instead_of)
        return c.FinishModelCall(
            step=call.step.id,
            outcome=replied,
            responses=responses,
            approvals=self._approvals(session, turn, replied) if turn.may_call_tools else (),
            pressure=self._sizing.pressure_change(session, turn, replied) if self._sizing else None,
            answer_faults=_answer_faults(fold(session, (*responses, replied))),
        )

    def _after_failure(
        self, call: _ModelCall, error: ModelError, said: str, cancel: Cancel
    ) -> c.FinishModelCall:
        """The failure, after the text `said` was streamed, and what follows from it: the next attempt, a
        compression, a window that was learned. Raises `StepInterrupted`."""
        smaller = self._sizing.on_overflow(call.session, call.turn, error) if self._sizing else None
        failed = self._failed(call, error, cancel)
        if smaller is not None:
            failed = replace(failed, retry_at=self._clock.now())
        if error.kind == CANCELLED:
            failed = replace(failed, content=said)
        if said or error.kind in UNREPORTED:
            failed = with_estimate(failed, call.at.pricing, call.turn.reserved, said)
        return c.FinishModelCall(
            step=call.step.id,
            outcome=failed,
            responses=call.failed_before(error.instead_of),
            compress=smaller,
            change=call.at.learn(call.request.model, failed.window) if failed.window else None,
        )

    def _replied(self, call: _ModelCall, reply: Reply) -> ModelReplied:
        session, turn, step = call.session, call.turn, call.step
        billed = bill(reply, call.request.model, call.at.pricing)
        return ModelReplied(
            turn=turn.id,
            step=step.id,
            attempt=step.attempt,
            content=reply.content,
            model=billed.model,
            finish_reason=reply.finish_reason,
            tool_calls=reply.tool_calls,
            plan=self._toolbox.of(session).plan(step.id, reply.tool_calls, workdir_of(session)),
            usage=reply.usage,
            cost_usd=billed.cost_usd,
            reasoning=reply.reasoning,
            purpose=call.purpose,
            payload=reply.payload,
            notes=reply.notes,
            warning=reply.warning,
            failures=failure_text(reply.instead_of),
            stalled=reply.finish_reason == "length" and is_stalled(turn.partial_answer, reply.content),
        )

    def _approvals(
        self, session: Session, turn: Turn, reply: ModelReplied
    ) -> tuple[ApprovalRequested | ApprovalGiven, ...]:
        if reply.finish_reason == "length" or not reply.tool_calls:
            return ()
        return tuple(self._judged(session, turn, reply, self._rules()))

    def _judged(
        self, session: Session, turn: Turn, reply: ModelReplied, rules: tuple[ApprovalRule, ...]
    ) -> Iterator[ApprovalRequested | ApprovalGiven]:
        """The calls that need approval, and those that are approved by a standing rule."""
        calls = zip(reply.tool_calls, reply.plan, strict=True)
        for at, (call, plan) in enumerate(calls):
            changed_before = any(plan.effect == "write" for plan in reply.plan[:at])
            if is_blocked(turn.repeats, call) and not changed_before:
                continue
            verdict = self._toolbox.of(session).verdict(call, tool_context(session, turn, plan.call, rules))
            if verdict.decision == "ask":
                yield ApprovalRequested(
                    turn=turn.id,
                    call=plan.call,
                    digest=sha256(call.arguments.encode("utf-8", "replace")).hexdigest(),
                    rule=verdict.rule,
                    expires_at=self._clock.now() + self._limits.approval_seconds,
                    offer=verdict.offer,
                )
            elif verdict.decision == "allow" and verdict.by:
                yield ApprovalGiven(turn=turn.id, call=plan.call, by="rule", rule=verdict.by)

    def _failed(self, call: _ModelCall, error: ModelError, cancel: Cancel) -> ModelCallFailed:
        turn, step, at, request = call.turn, call.step, call.at, call.request
        if error.kind == CANCELLED and cancel.reason != CANCELLED:
            raise StepInterrupted
        shorter = shorter_answer(request.max_tokens, error.limit) if error.kind == OUTPUT_LIMIT else None
        # A fallback is called at the endpoint of its name, not at one set apart for a purpose.
        fallback = self._limits.fallback if at.name is None else ()
        again = self._attempts.after(turn, error, shortened=shorter is not None, fallback=fallback)
        return ModelCallFailed(
            turn=turn.id,
            step=step.id,
            attempt=step.attempt,
            kind=error.kind,
            message=error.message,
            hint=again.hint or error.hint,
            retry_at=again.at,
            usage=error.usage,
            cost_usd=at.pricing.cost_usd(request.model, error.usage),
            model=request.model,
            max_tokens=shorter if again.at is not None else None,
            window=error.limit if error.kind == OVERFLOW else None,
            quota_until=again.quota_until,
            fallback=again.fallback,
            resets_at=again.resets_at,
            back_to=again.back_to if again.at is not None else "",
            purpose=call.purpose,
        )


def _answer_faults(after: Session) -> tuple[str, ...] | None:
    """The violations of the answer's schema, if that has patterns; matching these is limited in time."""
    turn = after.current
    if turn is None or turn.answer is None or not turn.answer_schema or not has_patterns(turn.answer_schema):
        return None
    return answer_faults(turn.answer_schema, turn.answer)
