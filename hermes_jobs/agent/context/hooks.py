"""Optional methods of a context engine besides `ContextEngine`: hooks for events, and tools.

An engine with any of these has one instance per conversation and process. Before any other call it is given
the conversation's events from the log, from the first one and in order, so that its state is the same in each
process:

    on_session_start ─▶ update_model ─▶ update_from_response ─▶ update_from_response ─▶ …
    on_session_start                                at a compression: the session `continues` another
    update_model                                    where the model, or what it takes, has changed
    on_session_end                                  at a real end

A step of the queue delivers each event at least once. A hook that raises or takes too long is called again
later; until then the built-in engine is used, and after about forty minutes the event is skipped. Methods are
called from several threads, hooks one at a time.
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
"""The session that a hook is called for."""

TOLD = ("on_session_start", "update_from_response", "on_session_end")
"""Hooks for events of the log."""
REMEMBERING = (*TOLD, "update_model", "handle_tool_call")
"""Methods by which an engine needs an instance per conversation."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the session's model. `purpose`: `turn` or `review`."""

    turn: str
    model: str
    purpose: str
    usage: Usage


class EngineHooks(Protocol):
    """All of these are optional."""

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
