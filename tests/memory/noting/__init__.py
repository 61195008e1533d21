"""A memory provider as a plugin: it remembers nothing, and notes which process told it what."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_jobs.features.memory.provider import ProviderSession, Setup, Turn
from hermes_jobs.kernel.engine.ports import ToolSpec


class Noting:
    """A `MemoryProvider`."""

    def __init__(self, setup: Setup) -> None:
        self._path = setup.folder / "heard.jsonl"

    def is_available(self) -> bool:
        return True

    def initialize(self, session: ProviderSession) -> None:
        self._note("initialize", session.id, session.continues)

    def system_prompt_block(self) -> str:
        return ""

    def prefetch(self, query: str) -> str:
        return ""

    def queue_prefetch(self, query: str) -> None:
        pass

    def sync_turn(self, user: str, assistant: str) -> None:
        self._note("sync_turn", user[:12])

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        return ()

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return ""

    def shutdown(self) -> None:
        self._note("shutdown")

    def on_pre_compress(self, turns: Sequence[Turn]) -> None:
        self._note("on_pre_compress", len(turns))

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        self._note("on_session_switch", session.id, reset, reason)

    def on_session_end(self, turns: Sequence[Turn]) -> None:
        self._note("on_session_end")

    def on_memory_write(self, action: str, target: str, content: str) -> None:
        self._note("on_memory_write", action, target, content)

    def _note(self, what: str, *details: object) -> None:
        with self._path.open("a") as notes:
            notes.write(json.dumps([os.getpid(), what, *details]) + "\n")


provider = Noting
