"""The port for context engines: when a history is too long, and how it is compressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_jobs.kernel.events import CompressionReason
from hermes_jobs.kernel.turns.messages import Message
from hermes_jobs.kernel.turns.session import Session


class ContextSize(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the next request, in tokens. `is_measured`: mostly as the provider counted it.

    `first_call`: of its turn. `num_compressions`: those of the turn since the model last answered. `fixed` is
    the part that a compression cannot reduce: system prompt and tools.
    """

    window: int
    tokens: int
    num_messages: int
    is_measured: bool
    first_call: bool
    num_compressions: int
    fixed: int = 0


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A history to compress. `todos` are the open ones; `summary_window` is the summariser's;
    `fixed` are the tokens that every request takes besides: system prompt and tools; `session` is the id of
    the session that ends with the compression."""

    messages: tuple[Message, ...]
    todos: tuple[str, ...]
    focus: str
    window: int
    summary_window: int
    fixed: int = 0
    session: str = ""


class CompressedHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A compressed history: `removed` messages were replaced by `summary`."""

    messages: tuple[Message, ...]
    summary: str
    removed: int


class AskSummariser(Protocol):
    """Calls the summariser."""

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        """Its answer. Raises `ModelError`."""


class ContextEngine(Protocol):
    """Decides when a history is too long, and compresses it.

    Calls are independent of each other; an engine with state of its own also implements some of
    `EngineHooks`.
    """

    def threshold(self, window: int, fixed: int = 0) -> int:
        """The size of a request in tokens from which on its history is compressed."""

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        """Whether to compress before the next call, and why."""

    def pressure(self, size: ContextSize) -> bool:
        """Whether the context is close to its threshold."""

    def has_content_to_compress(
        self, messages: Sequence[Message], window: int, fixed: int = 0, *, requested: bool = False
    ) -> bool:
        """Whether a compression would remove enough; less is enough for one that a user requested."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """The approximate number of tokens of the messages."""

    def newest(self, messages: Sequence[Message], limit: int) -> tuple[Message, ...]:
        """The newest messages that fit into `limit` tokens; a tool call is never without its results."""

    def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
        """The compressed history. Raises `ModelError` if the summariser returns nothing usable."""

    def set_aside(self, history: History) -> CompressedHistory:
        """The history with its middle removed, without a summariser."""


class ContextEngines(Protocol):
    """The context engine of each session."""

    def of(self, session: Session) -> ContextEngine:
        """The session's engine, notified of its events so far. Never raises."""
