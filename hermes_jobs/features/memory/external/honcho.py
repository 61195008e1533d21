"""Honcho (https://honcho.dev): a service that builds a profile of the user from conversations.

Needs `pip install 'hermes-jobs[honcho]'` and HONCHO_API_KEY; a self-hosted server may need no key.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_jobs.features.memory.provider import ProviderSession, Setup
from hermes_jobs.kernel.engine.ports import ToolSpec

if TYPE_CHECKING:
    from honcho import Honcho
    from honcho.peer import Peer
    from honcho.session import Session

KEY = "HONCHO_API_KEY"
SECONDS = 30.0
MAX_MESSAGE_CHARS = 24_000  # characters of one message; the service takes 25,000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")

ASK = ToolSpec(
    "honcho_ask",
    "Ask Honcho, which has followed the user's conversations, a question about the user.",
    {
        "type": "object",
        "properties": {"question": {"type": "string", "description": "What you want to know of the user."}},
        "required": ["question"],
        "additionalProperties": False,
    },
)


class HonchoMemory:
    """See `MemoryProvider`. Options: `base_url` (None: Honcho's own), `workspace`, and the names of the two
    speakers: `user`, `assistant`."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._names = {"workspace": "hermes-jobs", "user": "user", "assistant": "hermes"}
        self._names |= {name: _name(setup.options[name]) for name in self._names if setup.options.get(name)}
        self._client: Honcho | None = None
        self._user: Peer | None = None
        self._assistant: Peer | None = None
        self._session: Session | None = None
        self._ready: str | None = None

    def is_available(self) -> bool:
        """See `MemoryProvider`."""
        reachable = bool(self._setup.secret(KEY)) or bool(self._setup.options.get("base_url"))
        return importlib.util.find_spec("honcho") is not None and reachable

    def initialize(self, session: ProviderSession) -> None:
        """See `MemoryProvider`."""
        from honcho import Honcho

        self._client = Honcho(
            api_key=self._setup.secret(KEY),
            base_url=self._setup.options.get("base_url"),
            environment=None if self._setup.options.get("base_url") else "production",
            workspace_id=self._names["workspace"],
            timeout=SECONDS,
            max_retries=1,
        )
        self._user = self._client.peer(self._names["user"])
        self._assistant = self._client.peer(self._names["assistant"])
        self._session = self._client.session(_name(session.id))

    def system_prompt_block(self) -> str:
        """The profile of the user, independent of the conversation."""
        card = self._users.context().peer_card or []
        return "\n".join(["# What Honcho knows of the user", *(f"- {line}" for line in card)]) if card else ""

    def prefetch(self, query: str) -> str:
        """See `MemoryProvider`."""
        ready, self._ready = self._ready, None
        if ready is not None:
            return ready
        return self._picture(query)

    def queue_prefetch(self, query: str) -> None:
        """See `MemoryProvider`. The next text probably has the same subject."""
        self._ready = self._picture(query)

    def sync_turn(self, user: str, assistant: str) -> None:
        """See `MemoryProvider`."""
        assert self._session is not None, "it was not initialised"
        assert self._assistant is not None, "it was not initialised"
        pairs = [(self._users, user), (self._assistant, assistant)]
        messages = [peer.message(text[:MAX_MESSAGE_CHARS]) for peer, text in pairs if text.strip()]
        if messages:
            self._session.add_messages(messages)

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """See `MemoryProvider`."""
        return (ASK,)

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """See `MemoryProvider`."""
        return str(self._users.chat(str(arguments.get("question", ""))) or "Honcho knows nothing of that.")

    def shutdown(self) -> None:
        """See `MemoryProvider`."""

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        """See `MemoryProvider`."""
        assert self._client is not None, "it was not initialised"
        self._session = self._client.session(_name(session.id))

    def get_config_schema(self) -> Mapping[str, str]:
        """See `MemoryProvider`."""
        return {KEY: "your key at Honcho; a server of your own (memory.honcho.base_url) may need none"}

    @property
    def _users(self) -> Peer:
        assert self._user is not None, "it was not initialised"
        return self._user

    def _picture(self, query: str) -> str:
        return (self._users.context(search_query=query).representation or "").strip()


def _name(text: object) -> str:
    """The text as a valid name of the service."""
    return _NOT_IN_NAMES.sub("-", str(text)) or "x"
