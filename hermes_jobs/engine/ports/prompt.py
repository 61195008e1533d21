"""What is said to the model before and beside the conversation."""

from __future__ import annotations

from typing import Protocol

from hermes_jobs.domain.events import SessionStarted
from hermes_jobs.domain.session.session import Session


class Recall(Protocol):
    """Brings to mind what bears on a turn."""

    def __call__(self, session: Session, text: str) -> str:
        """What is known from elsewhere about what the user just said; empty: nothing. Never raises.

        Takes a few seconds at most.
        """


class PromptBuilder(Protocol):
    """Writes a session's system prompt, once."""

    def start(self, session: Session) -> SessionStarted:
        """The session's start with its frozen prompt, from its opening and the configuration."""
