"""Mem0 (https://mem0.ai): a service that extracts facts from each exchange; they are searched before each
turn.

Needs `pip install 'hermes-jobs[mem0]'` and MEM0_API_KEY. The client's own statistics are switched off.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_jobs.features.memory.provider import ProviderSession, Setup
from hermes_jobs.kernel.engine.ports import ToolSpec

if TYPE_CHECKING:
    import httpx
    from mem0 import MemoryClient

KEY = "MEM0_API_KEY"
SECONDS = 30.0
FOUND = 8
AGENT = "hermes-jobs"

SEARCH = ToolSpec(
    "mem0_search",
    "Search what Mem0 has learned about the user in earlier conversations.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


class Mem0Memory:
    """See `MemoryProvider`. Options: `base_url` (None: Mem0's own), `user`, the user's id at the service."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._user = str(setup.options.get("user") or "user")
        self._client: MemoryClient | None = None
        self._http: httpx.Client | None = None
        self._session = ""

    def is_available(self) -> bool:
        """See `MemoryProvider`."""
        return importlib.util.find_spec("mem0") is not None and bool(self._setup.secret(KEY))

    def initialize(self, session: ProviderSession) -> None:
        """See `MemoryProvider`. Checks the key at the service."""
        # Read by the client when it is imported.
        os.environ.setdefault("MEM0_TELEMETRY", "False")
        os.environ.setdefault("MEM0_DIR", str(self._setup.folder))
        import httpx
        from mem0 import MemoryClient

        self._session = session.id
        self._http = httpx.Client(timeout=SECONDS)
        self._client = MemoryClient(
            api_key=self._setup.secret(KEY), host=self._setup.options.get("base_url"), client=self._http
        )

    def system_prompt_block(self) -> str:
        """See `MemoryProvider`."""
        return ""

    def prefetch(self, query: str) -> str:
        """See `MemoryProvider`."""
        return self._search(query)

    def queue_prefetch(self, query: str) -> None:
        """Has no effect: the next text is unknown, and the last exchange is in the session."""

    def sync_turn(self, user: str, assistant: str) -> None:
        """See `MemoryProvider`."""
        pairs = [("user", user), ("assistant", assistant)]
        messages = [{"role": role, "content": content} for role, content in pairs if content.strip()]
        if messages:
            self._started.add(messages, user_id=self._user, agent_id=AGENT, run_id=self._session)

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """See `MemoryProvider`."""
        return (SEARCH,)

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """See `MemoryProvider`."""
        return self._search(str(arguments.get("query", ""))) or "Nothing was found."

    def shutdown(self) -> None:
        """See `MemoryProvider`."""
        if self._http is not None:
            self._http.close()

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        """See `MemoryProvider`."""
        self._session = session.id

    def get_config_schema(self) -> Mapping[str, str]:
        """See `MemoryProvider`."""
        return {KEY: "the key of your project at Mem0"}

    @property
    def _started(self) -> MemoryClient:
        assert self._client is not None, "it was not initialised"
        return self._client

    def _search(self, query: str) -> str:
        if not query.strip():
            return ""
        result = self._started.search(query, filters={"user_id": self._user}, top_k=FOUND)
        memories = [str(memory.get("memory", "")).strip() for memory in result.get("results", [])]
        return "\n".join(f"- {memory}" for memory in dict.fromkeys(memories) if memory)
