"""Calls of models that flush, summarise or give titles, with the usage of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hermes_jobs.kernel.engine.handlers.call_usage import UNREPORTED
from hermes_jobs.kernel.engine.handlers.request_builder import OUTPUT_LIMIT, shorter_answer
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    FailedCall,
    Model,
    ModelError,
    ModelRequest,
    Pricing,
    Reply,
    ToolSpec,
)
from hermes_jobs.kernel.engine.ports.model import Bill, bill
from hermes_jobs.kernel.events import ResponseBooked
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import Message, UserMessage
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight, tokens

MORE_TOKENS = 4
"""The factor by which the output limit grows after a summary was cut off."""


class Summariser:
    """A model that flushes, summarises or gives a title; records the usage of each response."""

    def __init__(
        self, model: Model, name: str, pricing: Pricing, purpose: str, cancel: Cancel, session: str = ""
    ) -> None:
        """`session` is the lineage of the calls, as in `ModelRequest`."""
        self._session = session
        self._model = model
        self._name = name
        self._pricing = pricing
        self._purpose = purpose
        self._cancel = cancel
        self.responses: list[ResponseBooked] = []

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        """The answer to one message. An answer that was cut off is requested once more with a higher output
        limit: the model may have used the first one for reasoning. Raises `ModelError`."""
        messages = (UserMessage(text),)
        reply = self.ask(system_prompt, messages, (), max_tokens)
        if reply.finish_reason == "length":
            reply = self.ask(system_prompt, messages, (), max_tokens * MORE_TOKENS)
        return reply.content

    def ask(
        self,
        system_prompt: str,
        messages: Sequence[Message],
        tools: tuple[ToolSpec, ...],
        max_tokens: int,
    ) -> Reply:
        """The reply, no longer than `max_tokens` and than what the model allows. Raises `ModelError`."""
        request = ModelRequest(
            model=self._name,
            system_prompt=system_prompt,
            messages=tuple(messages),
            tools=tools,
            max_tokens=max_tokens,
            session=self._session,
        )
        while True:
            try:
                reply = self._model.reply(request, self._cancel, lambda text: None)
            except ModelError as error:
                self._record_failed(request, error.instead_of)
                self._record_failed(request, FailedCall(self._name, error))
                shorter = shorter_answer(request.max_tokens, error.limit)
                if error.kind != OUTPUT_LIMIT or shorter is None:
                    raise
                request = replace(request, max_tokens=shorter)
            else:
                self._record_failed(request, reply.instead_of)
                billed = bill(reply, self._name, self._pricing)
                self._record(request, billed, reply.usage, reply.content + reply.reasoning)
                return reply

    def usage_events(self, turn: str | None, step: str) -> tuple[ResponseBooked, ...]:
        """The usage of the responses so far, as events; `turn` is charged, if there is one."""
        return tuple(replace(response, turn=turn, step=step) for response in self.responses)

    def _record_failed(self, request: ModelRequest, failed: FailedCall | None) -> None:
        if failed is not None and (failed.error.usage != NO_USAGE or failed.error.kind in UNREPORTED):
            usage = failed.error.usage
            cost = 0.0 if usage == NO_USAGE else self._pricing.cost_usd(failed.model, usage)
            self._record(request, Bill(failed.model, cost), usage, None)

    def _record(self, request: ModelRequest, billed: Bill, usage: Usage, answer: str | None) -> None:
        """Record the usage of a call; `answer` is None for a failed call."""
        event = ResponseBooked(
            turn=None,
            step="",
            purpose=self._purpose,
            model=billed.model,
            usage=usage,
            cost_usd=billed.cost_usd,
        )
        if usage == NO_USAGE:
            sent = (request.system_prompt, *(message.content for message in request.messages))
            used = Usage(sum(map(token_weight, sent)) // CHARACTERS_A_TOKEN, tokens(answer or ""))
            event = replace(
                event,
                estimated=used,
                estimated_cost_usd=self._pricing.cost_usd(billed.model, used),
            )
        self.responses.append(event)
