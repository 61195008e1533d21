"""The port of external memory providers: its methods and when they are called.

A process creates one provider per conversation; `initialize` names the session. Methods are called from
several threads; those with new data (`sync_turn` and later ones) one at a time. Each call has a time limit,
and turns do not wait beyond it.

    on_turn_start ─▶ prefetch ─▶ (the turn) ─▶ sync_turn ─▶ queue_prefetch
    on_pre_compress ─▶ on_session_switch            at a compression
    on_session_end ─▶ shutdown                      at a real end

Many processes work on a conversation, each with its own instance. Calls during a turn are made in the process
that runs it. `on_pre_compress` is called in the process that flushes, and ends (or times out) before the
compression; it is repeated if that process dies.

Calls with new data (`sync_turn`, `on_session_switch`, `on_session_end`, `on_memory_write`) are made from the
log, in a separate step: in order, in any process, and at least once. A call that raises or times out is
retried later, perhaps in another process; after about forty minutes it is skipped. Other instances of the
conversation get `on_session_switch` at their next use. A new provider first gets every past write of the
built-in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.kernel.engine.ports import ToolSpec
from hermes_jobs.kernel.engine.session_info import SessionInfo

ProviderSession = SessionInfo
"""The session of a provider."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a provider's factory. `folder` is its own in the home; `secret(name)` a variable's
    value.

    `options` are the provider's keys of the configuration.
    """

    folder: Path
    secret: Callable[[str], str | None]
    options: Mapping[str, Any] = {}


class Turn(msgspec.Struct, frozen=True):
    """One exchange: the user's message, and the answer."""

    user: str
    assistant: str


class MemoryProvider(Protocol):
    """An external memory. Methods below “optional” may be missing."""

    def is_available(self) -> bool:
        """Whether it is installed and configured. Without network calls."""

    def initialize(self, session: ProviderSession) -> None:
        """Start for a session."""

    def system_prompt_block(self) -> str:
        """The provider's section of the session's system prompt; empty: none."""

    def prefetch(self, query: str) -> str:
        """Context for the user's new message; empty: none."""

    def queue_prefetch(self, query: str) -> None:
        """Prepare the next `prefetch`, after a turn about that."""

    def sync_turn(self, user: str, assistant: str) -> None:
        """Handle an exchange."""

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """The provider's tools, the same for every session. Called before `initialize`."""

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of them; returns the result for the model."""

    def shutdown(self) -> None:
        """Release all resources. The last call."""

    # --- optional -------------------------------------------------------------------------------

    def on_turn_start(self, user: str) -> None:
        """A turn begins with that text."""

    def on_session_end(self, turns: Sequence[Turn]) -> None:
        """The session has ended for good; `turns` are its exchanges that are still known."""

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        """The same conversation continues as another session; `reset`: without its history."""

    def on_pre_compress(self, turns: Sequence[Turn]) -> None:
        """These exchanges will be replaced by a summary."""

    def on_delegation(self, task: str, result: str) -> None:
        """A sub-agent of the session has ended: its goal, and its answer or error."""

    def on_memory_write(self, action: str, target: MemoryTarget, content: str) -> None:
        """The built-in memory was written: `add`, `replace` or `remove`, and the new or removed entry."""

    def get_config_schema(self) -> Mapping[str, str]:
        """The options: a key or variable, and its purpose."""

    def save_config(self, values: Mapping[str, str]) -> None:
        """Store these values of the schema's keys."""


Factory = Callable[[Setup], MemoryProvider]
"""Creates a provider, without I/O."""
