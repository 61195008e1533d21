"""The port of a memory beside our own: what it is asked, and when.

A provider is made once a conversation and process; `initialize` tells it which session. Its methods are
called from several threads, those that learn (`sync_turn` and what follows it) one after the other. Whatever
takes too long is given up: nobody's turn waits for it.

    on_turn_start ─▶ prefetch ─▶ (the turn) ─▶ sync_turn ─▶ queue_prefetch
    on_pre_compress ─▶ on_session_switch            at a compression
    on_session_end ─▶ shutdown                      at a real end

A conversation is worked on by many processes, each with an instance of its own. What is asked in the middle
of a turn is asked in the process that works on it. `on_pre_compress` is called in the one that flushes, and
ends (or is given up) before anybody compresses; again if that process dies on the way.

What a provider learns from (`sync_turn`, `on_session_switch`, `on_session_end`, `on_memory_write`) comes from
the log, by a step of its own: in order, in whichever process runs that, and at least once. Where one of
these raises or takes too long it is called again later, perhaps in another process; after some forty minutes
it is left out. `on_session_switch` is told besides to every other instance that meets the conversation again.
A provider that is new hears every write of our own memory first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hermes_jobs.domain.events import MemoryTarget
from hermes_jobs.engine.ports import ToolSpec
from hermes_jobs.engine.session_info import SessionInfo

ProviderSession = SessionInfo
"""For which session a provider is."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider is made with. `folder` is its own in the home; `secret(name)` a variable's value.

    `options` are the provider's keys of the configuration.
    """

    folder: Path
    secret: Callable[[str], str | None]
    options: Mapping[str, Any] = {}


class Turn(msgspec.Struct, frozen=True):
    """One exchange: what the user said, and the answer."""

    user: str
    assistant: str


class MemoryProvider(Protocol):
    """A memory beside our own. What stands below “optional” need not be there."""

    def is_available(self) -> bool:
        """Whether it is installed and configured. Without network calls."""

    def initialize(self, session: ProviderSession) -> None:
        """Begin to work for a session."""

    def system_prompt_block(self) -> str:
        """What is to stand in the session's system prompt; empty: nothing."""

    def prefetch(self, query: str) -> str:
        """What bears on what the user just said; empty: nothing."""

    def queue_prefetch(self, query: str) -> None:
        """Get ready for the next `prefetch`, after a turn about that."""

    def sync_turn(self, user: str, assistant: str) -> None:
        """Learn from an exchange."""

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """Tools of its own, the same for every session. Asked of a provider that was not initialised."""

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of them; what the model is answered."""

    def shutdown(self) -> None:
        """Let go of everything. Nothing is called after."""

    # --- optional -------------------------------------------------------------------------------

    def on_turn_start(self, user: str) -> None:
        """A turn begins with that text."""

    def on_session_end(self, turns: Sequence[Turn]) -> None:
        """The session has ended for good; these were its exchanges, as far as they are still known."""

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        """The same conversation continues as another session; `reset`: without what was said."""

    def on_pre_compress(self, turns: Sequence[Turn]) -> None:
        """These exchanges are about to give way to a summary."""

    def on_delegation(self, task: str, result: str) -> None:
        """A sub-agent of the session has ended: its goal, and its answer or why there is none."""

    def on_memory_write(self, action: str, target: MemoryTarget, content: str) -> None:
        """Our own memory was written to: `add`, `replace` or `remove`, and the entry that is new, or gone."""

    def get_config_schema(self) -> Mapping[str, str]:
        """What can be configured: a key or variable, and what it is for."""

    def save_config(self, values: Mapping[str, str]) -> None:
        """Keep these values of the schema's keys."""


Factory = Callable[[Setup], MemoryProvider]
"""Makes a provider, without I/O."""
