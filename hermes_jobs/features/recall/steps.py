"""`memory.embed`: one call of an embedding model for some texts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.recall import events as e
from hermes_jobs.features.recall.rules import MAX_STARTS, Embedding, ended, record_start
from hermes_jobs.kernel.engine.handlers.call_usage import unreported
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    Embedder,
    ModelError,
    SpendingApproval,
    StepInterrupted,
)
from hermes_jobs.kernel.streams.budgets import charged
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.text.tokens import tokens

Texts = Callable[[Sequence[e.EmbeddedText]], Mapping[str, str]]
"""Loads texts by their digests, as far as they are still in the log."""
Approve = Callable[[Embedding, int], SpendingApproval]
"""Reserves the cost of a call with that many tokens."""


class Embed(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A `PaidStepHandler`. `embedder` None: embeddings are off."""

    embedder: Embedder | None
    texts: Texts
    reserve: Approve
    retries: Retries

    def approve(self, state: Embedding, step: Step) -> SpendingApproval | Decision:
        """See `PaidStepHandler`. A request for another model, or one whose workers died, fails for good."""
        plan = _plan(state)
        if self.embedder is None or self.embedder.model != plan.model:
            return self._give_up(state, step, "off", f"Embeddings are not made with {plan.model} any more.")
        if state.starts >= MAX_STARTS:
            return self._give_up(state, step, "worker_lost", f"{state.starts} workers in a row died with it.")
        stored = self.texts(plan.texts)
        return self.reserve(state, sum(map(tokens, stored.values())))

    def record_start(self, step: Step, reserved: Reservation | None) -> Decision:
        """See `PaidStepHandler`."""
        return record_start(step.stream, step.id, reserved)

    def refused(self, step: Step, refused: Rejected) -> Decision:
        """See `PaidStepHandler`: another day has another budget, and another plan."""
        failed = e.EmbeddingFailed(
            step=step.id, attempt=step.attempt, kind=refused.kind, message=refused.message, model=""
        )
        return ended(step.stream, failed)

    def run(self, state: Embedding, step: Step, cancel: Cancel) -> Decision:
        """Ask. Raises `StepInterrupted`."""
        assert self.embedder is not None, "the step was not approved"
        plan = _plan(state)
        stored = self.texts(plan.texts)
        if not stored:
            nothing = e.EmbeddingEnded(
                step=step.id, attempt=state.attempt, model=plan.model, dimensions=0, cost_usd=0.0
            )
            return ended(state.stream, nothing)
        texts = list(dict.fromkeys(stored.values()))
        try:
            answer = self.embedder.embed(texts, cancel)
        except ModelError as error:
            if error.kind == CANCELLED:
                raise StepInterrupted from error
            return ended(state.stream, self._failed(self.embedder, state, step, texts, error))
        vector_of = dict(zip(texts, answer.vectors, strict=True))
        still = self.texts(plan.texts)  # a text that was removed meanwhile gets no vector
        vectors = [vector_of.get(still.get(text.digest, ""), b"") for text in plan.texts]
        estimated = Usage(sum(map(tokens, texts))) if answer.usage == NO_USAGE else NO_USAGE
        outcome = e.EmbeddingEnded(
            step=step.id,
            attempt=state.attempt,
            model=answer.model,
            dimensions=len(answer.vectors[0]) // 4,
            usage=answer.usage,
            cost_usd=None if answer.usage == NO_USAGE else self.embedder.cost_usd(answer.usage),
            estimated=estimated,
            estimated_cost_usd=0.0 if estimated == NO_USAGE else self.embedder.cost_usd(estimated),
        )
        return ended(state.stream, outcome, [b64encode(vector).decode() for vector in vectors])

    def _failed(
        self, embedder: Embedder, state: Embedding, step: Step, texts: Sequence[str], error: ModelError
    ) -> e.EmbeddingFailed:
        estimated = unreported(error, sum(map(tokens, texts)))
        return e.EmbeddingFailed(
            step=step.id,
            attempt=state.attempt,
            kind=error.kind,
            message=error.message,
            model=embedder.model,
            retry_at=self.retries.at(error, state.attempt - 1),
            usage=error.usage,
            cost_usd=embedder.cost_usd(error.usage),
            estimated=estimated,
            estimated_cost_usd=embedder.cost_usd(estimated),
        )

    def _give_up(self, state: Embedding, step: Step, kind: str, message: str) -> Decision:
        """No further attempt; what was reserved for the last one counts as its usage."""
        failed = e.EmbeddingFailed(step=step.id, attempt=state.attempt, kind=kind, message=message, model="")
        return ended(state.stream, charged(failed, state.reserved))


def _plan(state: Embedding) -> e.EmbeddingPlanned:
    assert state.plan is not None, f"{state.stream} has a step and no plan"
    return state.plan
