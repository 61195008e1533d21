"""Ports for the system prompt and for recalled context."""

from __future__ import annotations

from typing import Protocol

from hermes_jobs.domain.events import SessionStarted
from hermes_jobs.domain.session.session import Session


class Recall(Protocol):
    """Recalls context for a turn."""

    def __call__(self, session: Session, text: str) -> str:
        """Context from elsewhere for the user's text; empty where there is none. Never raises.

        Takes a few seconds at most.
        """


class PromptBuilder(Protocol):
    """Builds a session's system prompt, once."""

    def start(self, session: Session) -> SessionStarted:
        """The session's start with its frozen prompt, from its opening and the configuration."""
