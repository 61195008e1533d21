"""The vector of a turn's text, which is one call of the embedding model."""

from __future__ import annotations

import logging

import msgspec

from hermes_jobs.kernel.engine.handlers.call_usage import UNREPORTED
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import Embedder, ModelError, PaidCall, Vectors
from hermes_jobs.kernel.engine.ports.vectors import VectorSearch
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.plugins.circuit_breaker import CallTimeout, CircuitBreaker, CircuitOpen
from hermes_jobs.text.tokens import tokens

logger = logging.getLogger(__name__)

SECONDS = 5.0  # seconds after which recall continues without it
GRACE = 1.0  # until the client itself reports the timeout


class QuestionVector(msgspec.Struct, frozen=True, kw_only=True):
    """`vector` is empty if there is none; `failed`: the reason, if one was requested. `paid`: the call."""

    vector: bytes = b""
    failed: str = ""
    paid: tuple[PaidCall, ...] = ()


NO_VECTOR = QuestionVector()


class QuestionVectors:
    """Requests them if there are vectors to compare with; pauses for a minute after three failures in a
    row. `max_length`: characters that are embedded; `minimum`: the least cosine of a match."""

    def __init__(
        self,
        embedder: Embedder,
        index: VectorSearch,
        circuit: CircuitBreaker,
        *,
        max_length: int,
        minimum: float,
    ) -> None:
        self._embedder = embedder
        self._circuit = circuit
        self._longest = max_length
        self.index = index
        self.least = minimum

    @property
    def model(self) -> str:
        """The model of the stored vectors."""
        return self._embedder.model

    def of(self, text: str) -> QuestionVector:
        """The vector of the text. Never raises `ModelError`. Raises `LogUnavailable`."""
        question = text[: self._longest]
        if not question.strip() or not self.index.has_vectors(self.model):
            return NO_VECTOR
        try:
            answer = self._circuit.call(lambda: self._ask(question), SECONDS + GRACE)
        except CircuitOpen as circuit:
            return QuestionVector(failed=f"{circuit}.")
        except ModelError as error:
            logger.warning("recall continues without vectors (%s): %s", error.kind, error.message)
            paid = self._paid(self.model, error.usage, question) if error.kind in UNREPORTED else ()
            return QuestionVector(failed=f"{error.kind}: {error.message}", paid=paid)
        except CallTimeout as late:
            return QuestionVector(
                failed=f"timeout: it {late}.", paid=self._paid(self.model, NO_USAGE, question)
            )
        return QuestionVector(vector=answer.vectors[0], paid=self._paid(answer.model, answer.usage, question))

    def _ask(self, text: str) -> Vectors:
        return self._embedder.embed([text], CancelToken(), seconds=SECONDS)

    def _paid(self, model: str, used: Usage, question: str) -> tuple[PaidCall, ...]:
        """The call, with an estimate if no usage was reported: it may be billed."""
        cost = self._embedder.cost_usd
        estimated = Usage(tokens(question)) if used == NO_USAGE else NO_USAGE
        call = PaidCall(
            model=model,
            usage=used,
            cost_usd=None if used == NO_USAGE else cost(used),
            estimated=estimated,
            estimated_cost_usd=0.0 if estimated == NO_USAGE else cost(estimated),
        )
        return (call,)
