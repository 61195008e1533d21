"""The keys that answer the open question of a chat without Enter."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.interfaces.chat.conversation import Conversation
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion

SETTLE = 0.5  # seconds: a key that was pressed before the question could be read answers nothing
WITH_REASON = "r"  # asks for the reason of a refusal, which is typed behind it


class AnswerKeys:
    """Which keys answer the question that is shown. They begin `SETTLE` seconds after it appeared."""

    def __init__(self, conversation: Conversation, now: Callable[[], float]) -> None:
        """`now` is a monotonic clock, in seconds."""
        self._conversation = conversation
        self._now = now
        self._question: AnyQuestion | None = None
        self._since = 0.0

    def update(self) -> bool:
        """Take over the question that is shown; whether it is another one, whose keys begin later."""
        before, self._question = self._question, self._conversation.question_of_keys
        if self._question is None or (before is not None and before.id == self._question.id):
            return False
        self._since = self._now()
        return True

    @property
    def keys(self) -> str:
        """The keys that answer now; empty where nothing waits for one, or not yet."""
        question = self._question
        return question.keys if question is not None and self._now() >= self._since + SETTLE else ""

    def take(self) -> str:
        """The id of the question that is shown (empty: none), whose keys answer nothing from now on."""
        question, self._question = self._question, None
        return question.id if question is not None else ""
