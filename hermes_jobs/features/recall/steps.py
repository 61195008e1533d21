"""`memory.embed`: one call of an embedding model for some texts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.recall.plans import plans_of
from hermes_jobs.features.recall.rules import Embedding, embedded
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.helper_calls import Asked, HelperCalls, Responses
from hermes_jobs.kernel.engine.ports import Cancel, Embedder, SpendingApproval
from hermes_jobs.kernel.engine.ports.vectors import Vectors
from hermes_jobs.kernel.helper_calls import HelperCall
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.text.tokens import tokens

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import StepHandler
    from hermes_jobs.kernel.turns.steps import StepKind

Texts = Callable[[Sequence[recall_events.EmbeddedText]], Mapping[str, str]]
"""Loads texts by their digests, as far as they are still in the log."""
Approve = Callable[[Embedding, int], SpendingApproval]
"""Reserves the cost of a call with that many tokens."""


class Embed(HelperCalls[Embedding, Sequence[str], Vectors], frozen=True, kw_only=True, eq=False):
    """`embedder` None: embeddings are off."""

    embedder: Embedder | None
    texts: Texts
    reserve_for: Approve

    def unwanted(self, state: Embedding) -> tuple[str, str] | None:
        """See `HelperCalls.unwanted`: a request for another model fails."""
        model = _plan(state).model
        if self.embedder is None or self.embedder.model != model:
            return "off", f"Embeddings are not made with {model} any more."
        return None

    def request(self, state: Embedding, call: HelperCall) -> Sequence[str] | None:
        """See `HelperCalls.request`: the texts, each once."""
        return tuple(dict.fromkeys(self.texts(_plan(state).texts).values())) or None

    def reserve(self, state: Embedding, request: Sequence[str]) -> SpendingApproval:
        """See `HelperCalls.reserve`."""
        return self.reserve_for(state, sum(map(tokens, request)))

    def ask(self, request: Sequence[str], call: HelperCall, cancel: Cancel, responses: Responses) -> Vectors:
        """See `HelperCalls.ask`."""
        return self._embedder.embed(request, cancel)

    def on_reply(self, state: Embedding, asked: Asked[Sequence[str], Vectors]) -> Decision:
        """See `HelperCalls.on_reply`."""
        call, texts, made = asked.call, asked.request, asked.answer
        vector_of = dict(zip(texts, made.vectors, strict=True))
        plan = _plan(state)
        still = self.texts(plan.texts)  # a text that was removed meanwhile gets no vector
        vectors = [vector_of.get(still.get(text.digest, ""), b"") for text in plan.texts]
        estimated = Usage(sum(map(tokens, texts))) if made.usage == NO_USAGE else NO_USAGE
        outcome = e.HelperCallEnded(
            step=call.id,
            attempt=call.attempt,
            model=made.model,
            usage=made.usage,
            cost_usd=None if made.usage == NO_USAGE else self.cost_usd(made.model, made.usage),
            estimated=estimated,
            estimated_cost_usd=0.0 if estimated == NO_USAGE else self.cost_usd(made.model, estimated),
        )
        return embedded(state.stream, outcome, [b64encode(vector).decode() for vector in vectors])

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `HelperCalls.cost_usd`."""
        return self._embedder.cost_usd(usage)

    @property
    def _embedder(self) -> Embedder:
        assert self.embedder is not None, "the step was not approved"
        return self.embedder


def _plan(state: Embedding) -> recall_events.EmbeddingPlanned:
    assert state.plan is not None, f"{state.stream} has a step and no plan"
    return state.plan


def handlers(application: Application, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    embedder = application.endpoints.embedder
    cost_usd = embedder.cost_usd if embedder is not None else lambda usage: None

    def reserve(state: Embedding, sent: int) -> SpendingApproval:
        return calls.guard.approve_embedding(_plan(state).model, sent, cost_usd)

    texts = plans_of(application).texts
    return {"memory.embed": Embed(embedder=embedder, texts=texts, reserve_for=reserve, retries=calls.retries)}
