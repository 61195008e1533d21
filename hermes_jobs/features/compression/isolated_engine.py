"""Isolates a plugin's context engine, so that its failures do not stop a turn.

If it fails, the built-in engine is used; a result that providers would refuse is a failed
compression.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar, get_args

import msgspec

from hermes_jobs.features.compression.message_groups import Unit, message_groups, newest_request
from hermes_jobs.kernel.engine.ports import (
    AskSummariser,
    CompressedHistory,
    ContextEngine,
    ContextSize,
    History,
    ModelError,
)
from hermes_jobs.kernel.events import CompressionReason
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker, CircuitOpen
from hermes_jobs.plugins.instances import TimeLimits
from hermes_jobs.system.struct_types import described

logger = logging.getLogger(__name__)

T = TypeVar("T")
FAILED = "engine_failed"
"""The error kind of a compression that failed in the engine."""

_REASONS = get_args(CompressionReason)
_shortened = msgspec.json.Decoder(described(CompressedHistory))


class IsolatedEngine:
    """A `ContextEngine`: a plugin's engine of that name; `own` is the fallback."""

    def __init__(
        self,
        name: str,
        engine: ContextEngine,
        own: ContextEngine,
        circuit: CircuitBreaker,
        limits: TimeLimits,
    ) -> None:
        self.name = name
        self._engine = engine
        self._default = own
        self._circuit = circuit
        self._limits = limits

    def threshold(self, window: int, fixed: int = 0) -> int:
        """See `ContextEngine`."""
        return self._call(lambda engine: int(engine.threshold(window)))

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        """See `ContextEngine`."""
        return self._call(lambda engine: _known_reason(engine.should_compress(size)))

    def pressure(self, size: ContextSize) -> bool:
        """See `ContextEngine`."""
        return self._call(lambda engine: bool(engine.pressure(size)))

    def has_content_to_compress(
        self,
        messages: Sequence[Message],
        window: int,
        fixed: int = 0,
        *,
        requested: bool = False,
    ) -> bool:
        """See `ContextEngine`."""
        return self._call(lambda engine: bool(engine.has_content_to_compress(messages, window)))

    def estimate(self, messages: Sequence[Message]) -> int:
        """See `ContextEngine`."""
        return self._call(lambda engine: int(engine.estimate(messages)))

    def newest(self, messages: Sequence[Message], limit: int) -> tuple[Message, ...]:
        """See `ContextEngine`."""
        return self._call(lambda engine: tuple(engine.newest(messages, limit)))

    def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
        """See `ContextEngine`. Raises `ModelError`, kind `engine_failed`, for an engine's error or invalid
        result."""
        engine, asker = self._engine, _Asking(ask)
        try:
            return self._circuit.call(
                lambda: check_result(history, engine.compress(history, asker)), self._limits.compress
            )
        except ModelError:
            raise
        except Exception as error:
            text = self._circuit.describe(error)
            raise ModelError(FAILED, f"the context engine {self.name} failed: {text}") from error
        finally:
            asker.end()

    def set_aside(self, history: History) -> CompressedHistory:
        """See `ContextEngine`."""
        return self._call(lambda engine: check_result(history, engine.set_aside(history)))

    def _call(self, act: Callable[[ContextEngine], T]) -> T:
        try:
            return self._circuit.call(lambda: act(self._engine), self._limits.ask)
        except CircuitOpen:
            return act(self._default)
        except Exception as error:  # noqa: BLE001 - whatever others' code raises
            text = self._circuit.describe(error)
            logger.warning("context engine %s failed, the built-in one stands in: %s", self.name, text)
            return act(self._default)


class _Asking:
    """The summariser; refuses calls after the compression has ended, because their usage would not be
    recorded."""

    def __init__(self, ask: AskSummariser) -> None:
        self._ask = ask
        self._over = False

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        if self._over:
            raise ModelError(FAILED, "the compression was given up")
        return self._ask(system_prompt, text, max_tokens)

    def end(self) -> None:
        self._over = True


def check_result(history: History, shortened: CompressedHistory) -> CompressedHistory:
    """Check that a shortened history can be stored and sent. Raises `ValueError`."""
    shortened = _shortened.decode(msgspec.json.encode(shortened))
    if shortened.removed <= 0:
        return shortened
    messages = shortened.messages
    if not all(_is_whole(unit) for unit in message_groups(messages)):
        raise ValueError("a tool call stands without its result, or a result without its call")
    if _repetitions(messages) > _repetitions(history.messages):
        raise ValueError("two messages of the same speaker stand one after the other")
    if not _keeps_the_request(history.messages, messages):
        raise ValueError("the user's newest message is gone")
    return shortened


def _known_reason(reason: CompressionReason | None) -> CompressionReason | None:
    if reason is not None and reason not in _REASONS:
        raise ValueError(f"{reason!r} is no reason to compress; there are: {', '.join(_REASONS)}")
    return reason


def _keeps_the_request(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """Whether a user message still has text of the user's newest message; notes next to it may be removed."""
    units = message_groups(before)
    index = newest_request(units)
    if index is None:
        return True
    lines = [line for line in units[index][0].content.splitlines() if line.strip()]
    remaining = "\n".join(message.content for message in after if isinstance(message, UserMessage))
    return not lines or any(line in remaining for line in lines)


def _is_whole(unit: Unit) -> bool:
    """Whether each call has a result and each result a call, in any order."""
    first = unit[0]
    requested = [call.id for call in first.tool_calls] if isinstance(first, AssistantMessage) else []
    answered_calls = [message.tool_call for message in unit if isinstance(message, ToolMessage)]
    return sorted(requested) == sorted(answered_calls)


def _repetitions(messages: Sequence[Message]) -> int:
    """The number of consecutive messages of the same role (user or assistant)."""
    return sum(
        type(before) is type(after) and isinstance(before, UserMessage | AssistantMessage)
        for before, after in pairwise(messages)
    )
