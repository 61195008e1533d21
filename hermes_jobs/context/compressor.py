"""The built-in context engine: a long middle gives way to a summary by a model."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_jobs.context.assembly import assembled
from hermes_jobs.context.boundaries import Cut, Room, cut
from hermes_jobs.context.inventions import invented
from hermes_jobs.context.pruning import pruned
from hermes_jobs.context.setup import CompressorOptions, EngineSetup, Redact
from hermes_jobs.context.summary import (
    FIRST,
    MEND,
    SET_ASIDE,
    UNVERIFIED,
    UPDATE,
    instructions,
    is_checkpoint,
    transcript,
    without_notes,
)
from hermes_jobs.context.tokens import tokens_of
from hermes_jobs.context.units import flat, repaired, units_of
from hermes_jobs.domain.events import CompressionReason
from hermes_jobs.domain.messages import Message, UserMessage
from hermes_jobs.domain.tokens import CHARACTERS_A_TOKEN, beginning, ending, tokens, weight
from hermes_jobs.engine.ports import Ask, ContextSize, History, ModelError, Shortened

HYGIENE = 0.85
HYGIENE_MESSAGES = 4
PRESSURE = 0.85
MAX_PASSES = 3
SUMMARY_SHARE, SUMMARY_LEAST, SUMMARY_MOST, SUMMARY_OF_WINDOW = 0.20, 2_000, 12_000, 0.05
RATIO_LEAST, RATIO_MOST = 0.10, 0.80


class Compressor:
    """A `ContextEngine`. `redact` takes secrets out of what a summariser sees and says."""

    def __init__(self, options: CompressorOptions, redact: Redact) -> None:
        self._options = options
        self._redact = redact

    def threshold(self, window: int) -> int:
        """Tokens from which on a history is compressed."""
        return int(window * self._options.threshold)

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        """Whether to compress before the next call, and why."""
        if not self._options.enabled or size.num_compressions >= MAX_PASSES:
            return None
        if size.first_call and size.num_messages >= HYGIENE_MESSAGES and size.tokens >= size.window * HYGIENE:
            return "hygiene"
        enough = size.num_messages > 3 + self._options.protect_last + 1
        if size.tokens >= self.threshold(size.window) and (size.is_measured or enough):
            return "threshold"
        return None

    def pressure(self, size: ContextSize) -> bool:
        """Whether the context comes close to being compressed."""
        return self._options.enabled and size.tokens >= self.threshold(size.window) * PRESSURE

    def has_content_to_compress(self, messages: Sequence[Message], window: int) -> bool:
        """Whether a compression would find anything to summarise."""
        _, said = without_notes(messages)
        return bool(cut(units_of(said), self._room(window)).middle)

    def estimate(self, messages: Sequence[Message]) -> int:
        """About how many tokens the messages take."""
        return tokens_of(messages)

    def newest(self, messages: Sequence[Message], room: int) -> tuple[Message, ...]:
        """As many of the newest messages as fit, beginning with a user's."""
        units = units_of(messages)
        start = len(units)
        while start > 0 and (room := room - tokens_of(units[start - 1])) >= 0:
            start -= 1
        while start < len(units) and not isinstance(units[start][0], UserMessage):
            start += 1
        return flat(units[start:])

    def compress(self, history: History, ask: Ask) -> Shortened:
        """The history with its middle summarised. Nothing removed: there was no middle.

        Raises `ModelError`: what the summariser failed with, or kind `invalid_summary`.
        """
        before, said = without_notes(history.messages)
        parts = cut(units_of(said), self._room(history.window))
        if not parts.middle:
            return Shortened(messages=history.messages, summary=before, removed=0)
        material = pruned(repaired(flat(parts.middle)))
        summary = self._summarised(before, material, history, ask)
        return self._shortened(parts, summary, history)

    def set_aside(self, history: History) -> Shortened:
        """The history with its middle taken out and no summary in its place, only a word about that."""
        before, said = without_notes(history.messages)
        parts = cut(units_of(said), self._room(history.window))
        if not parts.middle:
            return Shortened(messages=history.messages, summary="", removed=0)
        words = SET_ASIDE.format(count=len(flat(parts.middle)))
        shortened = self._shortened(parts, f"{before}\n\n{words}".strip(), history)
        return msgspec.structs.replace(shortened, summary="")

    def _room(self, window: int) -> Room:
        threshold = self.threshold(window)
        ratio = min(max(self._options.target_ratio, RATIO_LEAST), RATIO_MOST)
        return Room(
            budget=int(threshold * ratio), threshold=threshold, protect_last=self._options.protect_last
        )

    @staticmethod
    def _shortened(parts: Cut, summary: str, history: History) -> Shortened:
        messages = assembled(parts, summary, history.todos)
        return Shortened(messages=messages, summary=summary, removed=len(flat(parts.middle)))

    # --- the summary ------------------------------------------------------------------------------

    def _summarised(self, before: str, material: tuple[Message, ...], history: History, ask: Ask) -> str:
        budget = summary_budget(tokens_of(material), history.window)
        told = instructions(budget, history.focus)
        room = history.summary_window - 2 * budget - tokens(told) - tokens(UPDATE)
        summary = self._redact(before)
        for part in _portions(material, max(room, 1_000)):
            text = self._redact(transcript(part))
            form = UPDATE if summary else FIRST
            asked = form.format(summary=summary, conversation=text)
            summary = self._checked(told, asked, f"{summary}\n{text}", budget, ask)
        return summary

    def _checked(self, told: str, asked: str, source: str, budget: int, ask: Ask) -> str:
        """A summary that is one; sent back once where it names what is not there, then marked."""
        summary = self._redact(ask(told, asked, budget)).strip()
        if not is_checkpoint(summary):
            summary = self._redact(ask(told, asked, budget)).strip()
        if not is_checkpoint(summary):
            raise ModelError("invalid_summary", "the summariser wrote no summary", retryable=False)
        wrong = invented(summary, source)
        if not wrong:
            return summary
        mend = f"{asked}\n\nYour checkpoint:\n\n{summary}\n\n{MEND.format(invented=', '.join(wrong))}"
        mended = self._redact(ask(told, mend, budget)).strip()
        summary = mended if is_checkpoint(mended) else summary
        left = invented(summary, source)
        return summary + UNVERIFIED.format(invented=", ".join(left)) if left else summary


def from_setup(setup: EngineSetup) -> Compressor:
    """The engine as configured."""
    return Compressor(setup.options, setup.redact)


def summary_budget(tokens: int, window: int) -> int:
    """How many tokens a summary of so many may take."""
    wanted = max(SUMMARY_LEAST, int(tokens * SUMMARY_SHARE))
    return max(1, min(wanted, int(window * SUMMARY_OF_WINDOW), SUMMARY_MOST))


def _portions(messages: tuple[Message, ...], room: int) -> list[tuple[Message, ...]]:
    """The messages in portions of about `room` tokens, units whole; one that is larger alone is cut."""
    portions: list[list[Message]] = [[]]
    size = 0
    for unit in units_of(messages):
        tokens = tokens_of(unit)
        if portions[-1] and size + tokens > room:
            portions.append([])
            size = 0
        portions[-1].extend(unit if tokens <= room else (_shortest(each, room) for each in unit))
        size += tokens
    return [tuple(portion) for portion in portions if portion]


def _shortest(message: Message, room: int) -> Message:
    half = room * CHARACTERS_A_TOKEN // 2
    if weight(message.content) <= 2 * half:
        return message
    cut_out = f"{beginning(message.content, half)}\n[…]\n{ending(message.content, half)}"
    return msgspec.structs.replace(message, content=cut_out)
