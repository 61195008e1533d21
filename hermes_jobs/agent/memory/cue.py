"""The query of recall: a turn's text, its vector, and the entities that it names; the latter computed on
demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from hermes_jobs.agent.memory.question_vector import NO_VECTOR, QuestionVector


class Cue:
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
    def asked(self) -> QuestionVector:
        """The vector of the text, with the outcome of the request for it."""
        return self._ask_vector()

    @property
    def vector(self) -> bytes:
        """The vector of the text; empty if there is none."""
        return self.asked.vector

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the entities in the text, as users or the memory wrote them. See `text.entities`."""
        return self._ask_names()

    @property
    def told(self) -> QuestionVector:
        """The outcome of the request for the vector, if one was made."""
        return self.asked if "asked" in self.__dict__ else NO_VECTOR
