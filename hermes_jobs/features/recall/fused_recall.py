"""Built-in recall: the memory's entries and earlier conversations, each by several methods.

Its query, the `RecallQuery`, is a turn's text, its vector, and the entities that it names.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Protocol

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.features.recall.question_vector import NO_VECTOR, QuestionVector, QuestionVectors
from hermes_jobs.kernel.engine.ports import Recalled
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.text.entities import aliases

logger = logging.getLogger(__name__)


class RecallPart(Protocol):
    """Recalls things of one kind."""

    def __call__(self, session: Session, cue: RecallQuery) -> Recalled:
        """The matches of the cue. Raises `HermesJobsError`."""


class FusedRecall:
    """See `Recall`. `vectors` None: no search by vectors. `names` resolves aliases. A part that fails is
    skipped."""

    def __init__(
        self,
        vectors: QuestionVectors | None,
        *parts: RecallPart,
        names: Callable[[Collection[str]], tuple[str, ...]] = lambda aliases: (),
    ) -> None:
        self._names = names
        self._vectors = vectors
        self._parts = parts

    def __call__(self, session: Session, text: str) -> Recalled:
        """The results of all parts, with the cost of the text's vector."""
        cue = RecallQuery(text, vector=partial(self._question_vector, text), names=partial(self._named, text))
        results = []
        for part in self._parts:
            try:
                results.append(part(session, cue))
            except HermesJobsError as error:
                logger.warning("recall failed; the turn continues without it: %s", error)
        return Recalled(
            "\n\n".join(recalled.text for recalled in results if recalled.text),
            memories=tuple(version for recalled in results for version in recalled.memories),
            found=tuple(item for recalled in results for item in recalled.found),
            failed=cue.used_vector.failed,
            paid=cue.used_vector.paid,
        )

    def _named(self, text: str) -> tuple[str, ...]:
        try:
            return self._names(aliases(text))
        except HermesJobsError as error:
            logger.warning("recall continues without entities: %s", error)
            return ()

    def _question_vector(self, text: str) -> QuestionVector:
        if self._vectors is None:
            return NO_VECTOR
        try:
            return self._vectors.of(text)
        except HermesJobsError as error:
            logger.warning("recall continues without vectors: %s", error)
            return NO_VECTOR


class RecallQuery:
    """`vector` and `names` are computed once, on first use."""

    def __init__(
        self,
        text: str,
        *,
        vector: Callable[[], QuestionVector] = lambda: NO_VECTOR,
        names: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        self.text = text
        self._ask_vector = vector
        self._ask_names = names

    @cached_property
    def question_vector(self) -> QuestionVector:
        """The vector of the text, with the outcome of the request for it."""
        return self._ask_vector()

    @property
    def vector(self) -> bytes:
        """The vector of the text; empty if there is none."""
        return self.question_vector.vector

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the entities in the text, as users or the memory wrote them. See `text.entities`."""
        return self._ask_names()

    @property
    def used_vector(self) -> QuestionVector:
        """The outcome of the request for the vector, if one was made."""
        return self.question_vector if "question_vector" in self.__dict__ else NO_VECTOR
