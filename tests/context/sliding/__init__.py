"""A context engine as a plugin: old messages slide out of the window, and nobody writes a summary."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.features.compression.message_groups import Unit, flatten, message_groups, newest_request
from hermes_jobs.features.compression.setup import EngineSetup
from hermes_jobs.kernel.engine.ports import AskSummariser, CompressedHistory, ContextSize, History
from hermes_jobs.kernel.events import CompressionReason
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, UserMessage

NOTE = "[Earlier messages slid out of the window. `session_search` finds them.]\n\n"
CHARACTERS_A_TOKEN = 3


class SlidingWindow:
    """A `ContextEngine` that keeps the first unit's place for the user's newest message, and what fits."""

    def __init__(self, setup: EngineSetup) -> None:
        self._options = setup.options

    def threshold(self, window: int, fixed: int = 0) -> int:
        return int(window * self._options.threshold)

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        if not self._options.enabled or size.num_compressions:
            return None
        return "threshold" if size.tokens >= self.threshold(size.window) else None

    def pressure(self, size: ContextSize) -> bool:
        return self._options.enabled and size.tokens >= self.threshold(size.window) * 0.8

    def has_content_to_compress(
        self, messages: Sequence[Message], window: int, fixed: int = 0, *, requested: bool = False
    ) -> bool:
        return len(self._kept(messages, window)) < len(messages)

    def estimate(self, messages: Sequence[Message]) -> int:
        return sum(_size(message) for message in messages)

    def newest(self, messages: Sequence[Message], room: int) -> tuple[Message, ...]:
        units = self._fitting(message_groups(messages), room)
        while units and not isinstance(units[0][0], UserMessage):
            units = units[1:]
        return flatten(units)

    def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
        return self.set_aside(history)

    def set_aside(self, history: History) -> CompressedHistory:
        kept = self._kept(history.messages, history.window)
        removed = len(history.messages) - len(kept)
        if removed == 0:
            return CompressedHistory(messages=history.messages, summary="", removed=0)
        first = UserMessage(NOTE + kept[0].content.removeprefix(NOTE))
        return CompressedHistory(messages=(first, *kept[1:]), summary=NOTE.strip(), removed=removed)

    def _kept(self, messages: Sequence[Message], window: int) -> tuple[Message, ...]:
        """The newest messages, beginning with a user's; the newest of those stays however much follows it."""
        units = message_groups(messages)
        budget = int(self.threshold(window) * self._options.target_ratio)
        newest = self.newest(messages, budget)
        at = newest_request(units)
        if newest and at is not None and units[at][0] in newest:
            return newest
        if at is None:
            return tuple(messages)
        behind = list(self._fitting(units[at + 1 :], budget) or units[at + 1 :][-1:])
        while behind and isinstance(behind[0][0], UserMessage):
            del behind[0]
        return flatten((units[at], *behind))

    def _fitting(self, units: tuple[Unit, ...], room: int) -> tuple[Unit, ...]:
        start = len(units)
        while start and (room := room - self.estimate(units[start - 1])) >= 0:
            start -= 1
        return units[start:]


def _size(message: Message) -> int:
    characters = len(message.content)
    if isinstance(message, AssistantMessage):
        characters += sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return 1 + characters // CHARACTERS_A_TOKEN


engine = SlidingWindow
