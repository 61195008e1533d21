"""What things are recalled by: a turn's text, its vector, and what it names; each asked for when needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from hermes_jobs.agent.memory.question_vector import NO_VECTOR, QuestionVector


class Cue:
    """`vector` and `names` are asked once, by whoever has something to compare them with."""

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
        """The vector of the text, and what came of asking for it."""
        return self._ask_vector()

    @property
    def vector(self) -> bytes:
        """The vector of the text; empty where there is none."""
        return self.asked.vector

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of what the text means, as users or the memory wrote them. See `text.entities`."""
        return self._ask_names()

    @property
    def told(self) -> QuestionVector:
        """What came of asking for the vector, if anybody asked."""
        return self.asked if "asked" in self.__dict__ else NO_VECTOR
