"""A context engine as a plugin that keeps its conversation in mind: it slides when its model has used up what
one session may use, tells the model how much that is, and notes in a file what it was told.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_jobs.features.compression.engine_host import EngineSession, Response
from hermes_jobs.features.compression.setup import EngineSetup
from hermes_jobs.kernel.engine.ports import ContextSize, ProvidedSpec, ToolSpec
from hermes_jobs.kernel.events import CompressionReason
from hermes_jobs.kernel.turns.messages import Message
from tests.context.sliding import SlidingWindow

BUDGET = ProvidedSpec(
    "context_used",
    "How many tokens this conversation has used since it last became smaller.",
    {"type": "object", "properties": {"unit": {"type": "string"}}, "required": ["unit"]},
    effect="read",
)
ALLOWED = 5_000
"""Prompt tokens, all responses of a session together, from which on the window slides."""


class Minding(SlidingWindow):
    """A `ContextEngine` with every hook of `EngineHooks`."""

    def __init__(self, setup: EngineSetup) -> None:
        super().__init__(setup)
        self._path = setup.folder / "heard.jsonl"
        self._session = ""
        self._used = 0

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        return "threshold" if self._used >= ALLOWED and not size.num_compressions else None

    def on_session_start(self, session: EngineSession) -> None:
        self._note("on_session_start", session.id, session.continues)
        self._session, self._used = session.id, 0

    def update_model(self, model: str, window: int) -> None:
        self._note("update_model", model, window)

    def update_from_response(self, response: Response) -> None:
        self._note("update_from_response", response.turn, response.usage.prompt_tokens)
        self._used += response.usage.prompt_tokens

    def on_session_end(self, session: EngineSession, messages: Sequence[Message]) -> None:
        self._note("on_session_end", session.id, len(messages))

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        return (BUDGET,)

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self._note("handle_tool_call", name, arguments["unit"])
        return f"{self._session} has used {self._used} {arguments['unit']}."

    def _note(self, what: str, *details: object) -> None:
        with self._path.open("a") as notes:
            notes.write(json.dumps([os.getpid(), what, *details]) + "\n")


engine = Minding
