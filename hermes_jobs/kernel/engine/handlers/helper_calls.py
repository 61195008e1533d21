"""The one handler of helper calls: reserves, asks, retries, and books the cost. See `kernel.helper_calls`."""

from __future__ import annotations

from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.handlers.call_usage import unreported
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.handlers.summariser import Summariser
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    ConfiguredModel,
    ModelError,
    ModelRequest,
    SpendingApproval,
    StepInterrupted,
)
from hermes_jobs.kernel.events import HelperCallFailed, ResponseBooked
from hermes_jobs.kernel.helper_calls import (
    MAX_STARTS,
    HelperCall,
    HelperState,
    ended,
    fail,
    failure,
    record_start,
    required,
)
from hermes_jobs.kernel.streams.budgets import charged
from hermes_jobs.kernel.streams.decision import Decision, append
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.steps import Step

State = TypeVar("State", bound=HelperState)
Request = TypeVar("Request")
Answer = TypeVar("Answer")
Responses = list[ResponseBooked]


class Asked(NamedTuple, Generic[Request, Answer]):
    """A call that was answered. `responses` have the cost that `on_reply` does not state itself; `cancel`
    fires as for `ask`."""

    call: HelperCall
    request: Request
    answer: Answer
    responses: Responses
    cancel: Cancel


class HelperCalls(msgspec.Struct, Generic[State, Request, Answer], frozen=True, kw_only=True, eq=False):
    """A `PaidStepHandler`. A feature says what is asked, at which cost, and what becomes of the answer."""

    max_attempts: ClassVar[int | None] = None
    """Attempts after which a call fails for good; None: as many as `retries` allows."""
    retries: Retries

    # --- of the feature -------------------------------------------------------------------------

    def unwanted(self, state: State) -> tuple[str, str] | None:
        """The kind and the message of the failure if the call is not to be made any more."""
        return None

    def request(self, state: State, call: HelperCall) -> Request | None:
        """The request; None if nothing is left to ask, so that the call ends without one."""
        raise NotImplementedError

    def reserve(self, state: State, request: Request) -> SpendingApproval:
        """The approval to spend. Raises `Rejected`."""
        raise NotImplementedError

    def ask(self, request: Request, call: HelperCall, cancel: Cancel, responses: Responses) -> Answer:
        """The answer. Responses whose cost `on_reply` does not state are added. Raises `ModelError`."""
        raise NotImplementedError

    def on_reply(self, state: State, asked: Asked[Request, Answer]) -> Decision:
        """The decision that records the answer, its cost and the call's end, or its failure."""
        raise NotImplementedError

    def nothing_left(self, state: State, call: HelperCall) -> Decision:
        """The decision that ends a call without a request."""
        return append(state.stream, ended(call))

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """The cost of a failed call; None if the price is not known."""
        raise NotImplementedError

    # --- of all ---------------------------------------------------------------------------------

    def approve(self, state: State, step: Step) -> SpendingApproval | Decision:
        """See `PaidStepHandler`. What was reserved for the last start of a call that is not made any more
        counts as its usage."""
        call = required(state, step.id)
        why = self.unwanted(state)
        if why is None and call.starts >= MAX_STARTS:
            why = ("worker_lost", f"{call.starts} workers in a row died with it.")
        if why is not None:
            return fail(step.stream, charged(failure(call, *why), call.reserved))
        request = self.request(state, call)
        return self.nothing_left(state, call) if request is None else self.reserve(state, request)

    def record_start(self, step: Step, reserved: Reservation | None) -> Decision:
        """See `PaidStepHandler`."""
        return record_start(step.stream, step.id, reserved)

    def refused(self, step: Step, refused: Rejected) -> Decision:
        """See `PaidStepHandler`."""
        call = HelperCall(id=step.id, attempt=step.attempt)
        return fail(step.stream, failure(call, refused.kind, refused.message))

    def run(self, state: State, step: Step, cancel: Cancel) -> Decision:
        """Ask. Raises `StepInterrupted`."""
        call = required(state, step.id)
        request = self.request(state, call)
        if request is None:
            return self.nothing_left(state, call)
        responses: Responses = []
        try:
            answer = self.ask(request, call, cancel, responses)
        except ModelError as error:
            if error.kind == CANCELLED:
                raise StepInterrupted from error
            return fail(step.stream, self.failed(call, error), *responses)
        return self.on_reply(state, Asked(call, request, answer, responses, cancel))

    def failed(self, call: HelperCall, error: ModelError) -> HelperCallFailed:
        """The failure with its cost and the time of the next attempt."""
        held = call.reserved
        model, sent = (held.model, held.input_tokens) if held is not None else ("", 0)
        estimated = unreported(error, sent)
        return replace(
            failure(call, error.kind, error.message, retry_at=self.retry_at(call, error)),
            model=model,
            usage=error.usage,
            cost_usd=self.cost_usd(model, error.usage),
            estimated=estimated,
            estimated_cost_usd=self.cost_usd(model, estimated),
        )

    def retry_at(self, call: HelperCall, error: ModelError) -> float | None:
        """The time of the next attempt; None if there is none."""
        if self.max_attempts is not None and call.attempt >= self.max_attempts:
            return None
        return self.retries.at(error, call.attempt - 1)


class TextCalls(HelperCalls[State, ModelRequest, str], Generic[State], frozen=True, kw_only=True, eq=False):
    """Helper calls that ask for a text; their responses are booked for the `purpose`."""

    purpose: ClassVar[str]
    chosen: ConfiguredModel

    def ask(self, request: ModelRequest, call: HelperCall, cancel: Cancel, responses: Responses) -> str:
        """See `HelperCalls.ask`. All responses are added."""
        assert request.max_tokens is not None, f"an answer for {self.purpose} has a limit"
        chosen = self.chosen
        ask = Summariser(chosen.model, request.model, chosen.pricing, self.purpose, cancel, request.session)
        try:
            return ask(request.system_prompt, request.messages[0].content, request.max_tokens)
        finally:
            responses += ask.usage_events(None, call.id)

    def failed(self, call: HelperCall, error: ModelError) -> HelperCallFailed:
        """See `HelperCalls.failed`: the responses have the cost."""
        return failure(call, error.kind, error.message, retry_at=self.retry_at(call, error))
