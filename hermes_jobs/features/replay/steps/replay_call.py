"""`replay.call`: repeats a recorded model call. Tools never run here, except reading ones through `read`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import OutOfBudget, Rejected
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.rules.comparison import normalised
from hermes_jobs.features.replay.rules.replay import (
    MAX_FOLLOWED,
    Replay,
    ReplayCall,
    required_plan,
    stop,
)
from hermes_jobs.features.replay.rules.verification import VERIFY, purpose_of
from hermes_jobs.kernel.engine.handlers.helper_calls import Asked, HelperCalls, Responses
from hermes_jobs.kernel.engine.handlers.request_builder import OUTPUT_LIMIT, shorter_answer
from hermes_jobs.kernel.engine.handlers.tool_context import tool_context, toolsets_of
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    ConfiguredModel,
    ModelError,
    ModelRequest,
    Reply,
    SpendingApproval,
    Toolbox,
)
from hermes_jobs.kernel.engine.ports.model import bill
from hermes_jobs.kernel.helper_calls import HelperCall, fail, failure
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.streams.decision import Decision, append
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, running_turn, workdir_of
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.stops import BUDGET
from hermes_jobs.system.clock import Clock
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


class Answer(NamedTuple):
    """The reply, and how long it took."""

    reply: Reply
    seconds: float


class AskAgain(HelperCalls[Replay, ModelRequest, Answer], frozen=True, kw_only=True, eq=False):
    """`reserve_for` reserves the cost of a request."""

    requests: ReplayedRequests
    chosen: ConfiguredModel
    reserve_for: Approve
    read: Read
    clock: Clock

    def unwanted(self, state: Replay) -> tuple[str, str] | None:
        """See `HelperCalls.unwanted`: calls of a stopped replay fail."""
        if state.stopped is None:
            return None
        return "cancelled", f"The replay was stopped: {state.stopped.message}"

    def request(self, state: Replay, call: HelperCall) -> ModelRequest:
        """See `HelperCalls.request`."""
        return self.requests.of(state, _own(call))

    def reserve(self, state: Replay, request: ModelRequest) -> SpendingApproval:
        """See `HelperCalls.reserve`."""
        return self.reserve_for(state, request)

    def refused(self, step: Step, refused: Rejected) -> Decision:
        """See `PaidStepHandler`: when its budget is used up, the whole replay waits for more, and a
        verification waits for the next day."""
        until = refused.until if isinstance(refused, OutOfBudget) else None
        if purpose_of(step.stream) != VERIFY:
            until = None
        if refused.kind == BUDGET and until is None:
            return stop(step.stream, refused.kind, refused.message)
        call = HelperCall(id=step.id, attempt=step.attempt)
        return fail(step.stream, failure(call, refused.kind, refused.message, retry_at=until))

    def ask(self, request: ModelRequest, call: HelperCall, cancel: Cancel, responses: Responses) -> Answer:
        """See `HelperCalls.ask`."""
        if call.reserved is not None and call.reserved.max_tokens is not None:
            request = replace(request, max_tokens=call.reserved.max_tokens)
        started_at = self.clock.monotonic()
        reply = self._reply(request, cancel)
        return Answer(reply, round(self.clock.monotonic() - started_at, 3))

    def on_reply(self, state: Replay, asked: Asked[ModelRequest, Answer]) -> Decision:
        """See `HelperCalls.on_reply`."""
        reply, call = asked.answer.reply, _own(asked.call)
        billed = bill(reply, asked.request.model, self.chosen.pricing)
        estimated = NO_USAGE
        if reply.usage == NO_USAGE and call.reserved is not None:
            estimated = Usage(call.reserved.input_tokens, tokens(reply.content + reply.reasoning))
        ended = e.ReplayCallEnded(
            step=call.id,
            attempt=call.attempt,
            content=reply.content,
            model=billed.model,
            finish_reason=reply.finish_reason,
            tool_calls=reply.tool_calls,
            payload=reply.payload,
            seconds=asked.answer.seconds,
            usage=reply.usage,
            cost_usd=billed.cost_usd,
            estimated=estimated,
            estimated_cost_usd=0.0 if estimated == NO_USAGE else self.cost_usd(billed.model, estimated),
            followed=self._followed(state, call, reply, asked.cancel),
        )
        return append(state.stream, ended)

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `HelperCalls.cost_usd`."""
        return self.chosen.pricing.cost_usd(model, usage)

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


def _own(call: HelperCall) -> ReplayCall:
    assert isinstance(call, ReplayCall), f"{call.id} is not a call of a replay"
    return call
