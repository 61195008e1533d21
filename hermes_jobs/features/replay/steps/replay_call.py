"""`replay.call`: repeats a recorded model call. Tools never run here, except reading ones through `read`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import OutOfBudget, Rejected
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.rules.comparison import normalised
from hermes_jobs.features.replay.rules.replay import (
    MAX_FOLLOWED,
    MAX_STARTS,
    Replay,
    ReplayCall,
    record_start,
    required_plan,
    stop,
)
from hermes_jobs.features.replay.rules.verification import VERIFY, purpose_of
from hermes_jobs.kernel.engine.handlers.call_usage import unreported
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.handlers.request_builder import OUTPUT_LIMIT, shorter_answer
from hermes_jobs.kernel.engine.handlers.tool_context import tool_context, toolsets_of, workdir_of
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    Clock,
    ConfiguredModel,
    ModelError,
    ModelRequest,
    Reply,
    SpendingApproval,
    StepInterrupted,
    Toolbox,
)
from hermes_jobs.kernel.engine.ports.model import bill
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.streams.budgets import charged
from hermes_jobs.kernel.streams.decision import Decision, append
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.stops import BUDGET
from hermes_jobs.text.tokens import tokens


class ReadTools(msgspec.Struct, frozen=True, eq=False):
    """`pays(call)`: whether a call makes model calls. `rules()` are the standing rules in force for tool
    calls."""

    toolbox: Toolbox
    pays: Callable[[ToolCall], bool]
    rules: Callable[[], tuple[ApprovalRule, ...]]

    def __call__(self, session: Session, call: ToolCall, cancel: Cancel) -> str | None:
        """The tool's result now, in the session's folder; None if it does more than read, calls a model, or
        needs approval."""
        turn, toolbox = running_turn(session), self.toolbox.of(session)
        (plan,) = toolbox.plan("replay", (call,), workdir_of(session))
        if plan.effect != "read" or self.pays(call):
            return None
        context = tool_context(session, turn, plan.call, self.rules())
        if toolbox.verdict(call, context).decision != "allow":
            return None
        outcome = toolbox.run(call, context, toolsets_of(session, turn), cancel)
        has_effect = outcome.change or outcome.events or outcome.delegated or outcome.waits
        return None if has_effect or outcome.interrupted or outcome.invalid else outcome.content


Approve = Callable[[Replay, ModelRequest], SpendingApproval]
Read = Callable[[Session, ToolCall, Cancel], str | None]
"""The result of a reading tool now; None if the tool does more, or may not run."""


class AskAgain(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A `PaidStepHandler`. `reserve` reserves the cost of a request."""

    requests: ReplayedRequests
    chosen: ConfiguredModel
    reserve: Approve
    read: Read
    retries: Retries
    clock: Clock

    def approve(self, state: Replay, step: Step) -> SpendingApproval | Decision:
        """See `PaidStepHandler`. A call whose replay was stopped, or whose workers died, fails for good."""
        call = _call(state, step)
        if state.stopped is not None:
            return self._give_up(state, call, "cancelled", f"The replay was stopped: {state.stopped.message}")
        if call.starts >= MAX_STARTS:
            return self._give_up(state, call, "worker_lost", f"{call.starts} workers in a row died with it.")
        return self.reserve(state, self.requests.of(state, call))

    def record_start(self, step: Step, reserved: Reservation | None) -> Decision:
        """See `PaidStepHandler`."""
        return record_start(step.stream, step.id, reserved)

    def refused(self, step: Step, refused: Rejected) -> Decision:
        """See `PaidStepHandler`: when its budget is used up, the whole replay waits for more, and a
        verification waits for the next day."""
        until = refused.until if isinstance(refused, OutOfBudget) else None
        if purpose_of(step.stream) != VERIFY:
            until = None
        if refused.kind == BUDGET and until is None:
            return stop(step.stream, refused.kind, refused.message)
        failed = e.ReplayCallFailed(
            step=step.id,
            attempt=step.attempt,
            kind=refused.kind,
            message=refused.message,
            model="",
            retry_at=until,
        )
        return append(step.stream, failed, failed=True)

    def run(self, state: Replay, step: Step, cancel: Cancel) -> Decision:
        """Ask. Raises `StepInterrupted`."""
        call = _call(state, step)
        request = self.requests.of(state, call)
        if call.reserved is not None and call.reserved.max_tokens is not None:
            request = replace(request, max_tokens=call.reserved.max_tokens)
        started_at = self.clock.monotonic()
        try:
            reply = self._reply(request, cancel)
        except ModelError as error:
            if error.kind == CANCELLED:
                raise StepInterrupted from error
            return append(state.stream, self._failed(call, request, error), failed=True)
        seconds = round(self.clock.monotonic() - started_at, 3)
        return append(state.stream, self._ended(state, call, request, reply, seconds, cancel))

    def _reply(self, request: ModelRequest, cancel: Cancel) -> Reply:
        """The reply; with a smaller output limit if the model's is smaller than the recorded one."""
        while True:
            try:
                return self.chosen.model.reply(request, cancel, lambda text: None)
            except ModelError as error:
                shorter = shorter_answer(request.max_tokens, error.limit)
                if error.kind != OUTPUT_LIMIT or shorter is None:
                    raise
                request = replace(request, max_tokens=shorter)

    def _ended(
        self,
        state: Replay,
        call: ReplayCall,
        request: ModelRequest,
        reply: Reply,
        seconds: float,
        cancel: Cancel,
    ) -> e.ReplayCallEnded:
        billed = bill(reply, request.model, self.chosen.pricing)
        estimated = NO_USAGE
        if reply.usage == NO_USAGE and call.reserved is not None:
            estimated = Usage(call.reserved.input_tokens, tokens(reply.content + reply.reasoning))
        return e.ReplayCallEnded(
            step=call.id,
            attempt=call.attempt,
            content=reply.content,
            model=billed.model,
            finish_reason=reply.finish_reason,
            tool_calls=reply.tool_calls,
            payload=reply.payload,
            seconds=seconds,
            usage=reply.usage,
            cost_usd=billed.cost_usd,
            estimated=estimated,
            estimated_cost_usd=0.0
            if estimated == NO_USAGE
            else self.chosen.pricing.cost_usd(billed.model, estimated),
            followed=self._followed(state, call, reply, cancel),
        )

    def _followed(
        self, state: Replay, call: ReplayCall, reply: Reply, cancel: Cancel
    ) -> tuple[e.FollowedCall, ...]:
        """The results of the reply's tool calls; empty if one of them has no result, or the replay does not
        follow calls."""
        plan = required_plan(state)
        if not plan.follow or not 0 < call.number < MAX_FOLLOWED or reply.finish_reason == "length":
            return ()
        turn, variant = plan.turns[call.turn], plan.variants[call.variant]
        results = self.requests.recorded_results(turn, variant)
        followed: list[e.FollowedCall] = []
        for tool_call in reply.tool_calls:
            if normalised(tool_call) in results:
                followed.append(e.FollowedCall("recorded"))
                continue
            read = self.read(self.requests.session(turn, 1), tool_call, cancel) if plan.allow_reads else None
            if read is None:
                return ()
            followed.append(e.FollowedCall("read", read))
        return tuple(followed)

    def _failed(self, call: ReplayCall, request: ModelRequest, error: ModelError) -> e.ReplayCallFailed:
        sent = call.reserved.input_tokens if call.reserved is not None else 0
        estimated = unreported(error, sent)
        price = self.chosen.pricing.cost_usd
        return e.ReplayCallFailed(
            step=call.id,
            attempt=call.attempt,
            kind=error.kind,
            message=error.message,
            model=request.model,
            retry_at=self.retries.at(error, call.attempt - 1),
            usage=error.usage,
            cost_usd=price(request.model, error.usage),
            estimated=estimated,
            estimated_cost_usd=price(request.model, estimated),
        )

    def _give_up(self, state: Replay, call: ReplayCall, kind: str, message: str) -> Decision:
        """No further attempt; what was reserved for the last one counts as its usage."""
        failed = e.ReplayCallFailed(step=call.id, attempt=call.attempt, kind=kind, message=message, model="")
        return append(state.stream, charged(failed, call.reserved), failed=True)


def _call(state: Replay, step: Step) -> ReplayCall:
    call = state.find(step.id)
    assert call is not None, f"{step.id} is due in {state.stream} and has its outcome"
    return call
