"""What a context engine may have besides `ContextEngine`: it keeps things in mind, and offers tools.

An engine with any of these is made once a conversation and process. It hears of its conversation from the
log, from the beginning and in order, before it is asked anything, so that it knows the same in whichever
process it is asked:

    on_session_start ─▶ update_model ─▶ update_from_response ─▶ update_from_response ─▶ …
    on_session_start                                at a compression: the session `continues` another
    update_model                                    where the model, or what it takes, has changed
    on_session_end                                  at a real end

Nobody has to ask for that: a step of its own sees to it that everything is heard at least once. What raises
or takes too long is called again later; meanwhile the built-in engine stands in, and after some forty minutes
the fact is left out. Methods are called from several threads, those that tell something one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from hermes_jobs.domain.session.messages import Message
from hermes_jobs.domain.usage import Usage
from hermes_jobs.engine.ports import ToolSpec
from hermes_jobs.engine.session_info import SessionInfo

EngineSession = SessionInfo
"""For which session an engine is asked."""

TOLD = ("on_session_start", "update_from_response", "on_session_end")
"""Hooks that tell of facts of the log."""
REMEMBERING = (*TOLD, "update_model", "handle_tool_call")
"""Methods that make an engine one that belongs to a conversation."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the session's model. `purpose`: `turn` or `review`."""

    turn: str
    model: str
    purpose: str
    usage: Usage


class EngineHooks(Protocol):
    """None of these need be there."""

    def on_session_start(self, session: EngineSession) -> None:
        """The conversation begins, or goes on as that session."""

    def update_model(self, model: str, window: int) -> None:
        """The model that answers, and how many tokens it takes."""

    def update_from_response(self, response: Response) -> None:
        """The model has answered."""

    def on_session_end(self, session: EngineSession, messages: Sequence[Message]) -> None:
        """The conversation has ended for good, with this history. Nothing is called after."""

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """Tools of its own, the same for every session; a `ProvidedSpec` says what effect it has."""

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of them; what the model is answered."""
