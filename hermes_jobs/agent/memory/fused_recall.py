"""Built-in recall: the memory's entries and earlier conversations, each by several methods."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from hermes_jobs.agent.memory.cue import Cue
from hermes_jobs.agent.memory.question_vector import NO_VECTOR, QuestionVector, QuestionVectors
from hermes_jobs.domain.session.session import Session
from hermes_jobs.engine.ports import Recalled
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.text.entities import aliases

logger = logging.getLogger(__name__)


class RecallPart(Protocol):
    """Recalls things of one kind."""

    def __call__(self, session: Session, cue: Cue) -> Recalled:
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
        cue = Cue(text, vector=partial(self._question_vector, text), names=partial(self._named, text))
        found = []
        for part in self._parts:
            try:
                found.append(part(session, cue))
            except HermesJobsError as error:
                logger.warning("recall failed; the turn continues without it: %s", error)
        return Recalled(
            "\n\n".join(each.text for each in found if each.text),
            memories=tuple(version for each in found for version in each.memories),
            found=tuple(item for each in found for item in each.found),
            failed=cue.told.failed,
            paid=cue.told.paid,
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
