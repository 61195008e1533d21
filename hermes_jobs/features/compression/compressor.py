"""The built-in context engine: replaces a long middle by a model's summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from hermes_jobs.features.compression import entity_state
from hermes_jobs.features.compression.boundaries import HistorySplit, TokenBudget, cut
from hermes_jobs.features.compression.checkpoint import UNVERIFIED, is_checkpoint
from hermes_jobs.features.compression.layers import (
    ARCHIVE_TOKENS,
    EARLIER_SHARE,
    continue_layers,
    fit,
    parse,
    render,
    room_for_answer,
    show,
)
from hermes_jobs.features.compression.message_groups import (
    MESSAGE_OVERHEAD,
    flatten,
    message_groups,
    repair,
    tokens_of,
)
from hermes_jobs.features.compression.prune import prune
from hermes_jobs.features.compression.setup import CompressorOptions, EngineSetup, Redact
from hermes_jobs.features.compression.summary import (
    FIRST,
    LAYERED,
    REPAIR_PROMPT,
    SET_ASIDE,
    UPDATE,
    assemble,
    enclose,
    hallucinated_references,
    instructions,
    transcript,
    without_notes,
    words_of,
)
from hermes_jobs.kernel.engine.ports import AskSummariser, CompressedHistory, ContextSize, History, ModelError
from hermes_jobs.kernel.events import CompressionReason
from hermes_jobs.kernel.turns.messages import Message, UserMessage
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, head, tail, token_weight, tokens

HYGIENE = 0.85
"""The part of the window from which on a request is always compressed."""
HYGIENE_MESSAGES = 4
FULL_SHARE = 0.95
WORTH, WORTH_WHEN_FULL = 0.1, 0.01
"""The part of a request that a compression must save to be worth a summary: usually, and if the window is
nearly full."""
FIXED_SHARE, HEAD_SHARE, PROTECTED_SHARE = 0.75, 0.125, 0.34
"""The part of its share of the window that the history always gets; and the parts of that for its
head, and for messages protected by their number."""
PRESSURE = 0.85
MAX_PASSES = 3
SUMMARY_SHARE, SUMMARY_LEAST, SUMMARY_MOST, SUMMARY_OF_WINDOW = 0.20, 2_000, 12_000, 0.05
RATIO_LEAST, RATIO_MOST = 0.10, 0.80


FRAME = tokens(enclose("")) + MESSAGE_OVERHEAD + ARCHIVE_TOKENS
"""Tokens of a summary in addition to its own text."""
FORM = max(map(tokens, (FIRST, UPDATE, LAYERED)))


class Compressor:
    """A `ContextEngine`. `redact` removes secrets from the input and output of a summariser."""

    def __init__(self, options: CompressorOptions, redact: Redact) -> None:
        self._options = options
        self._redact = redact

    def threshold(self, window: int, fixed: int = 0) -> int:
        """Tokens of a request from which on its history is compressed.

        If system prompt and tools (`fixed`) take much of it, the history still gets most of the share
        that it would have alone, as far as the window allows.
        """
        by_share = int(window * self._options.threshold)
        return max(by_share, min(fixed + int(by_share * FIXED_SHARE), int(window * HYGIENE)))

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        """Whether to compress before the next call, and why."""
        if not self._options.enabled or size.num_compressions >= MAX_PASSES:
            return None
        full = size.tokens >= size.window * HYGIENE
        full = full and (size.num_messages >= HYGIENE_MESSAGES or size.tokens > size.window)
        if full and size.first_call:
            return "hygiene"
        enough = full or size.is_measured or size.num_messages > 3 + self._options.protect_last + 1
        over = size.tokens >= self.threshold(size.window, size.fixed)
        return "threshold" if over and enough else None

    def pressure(self, size: ContextSize) -> bool:
        """Whether the context comes close to being compressed."""
        return self._options.enabled and size.tokens >= self.threshold(size.window, size.fixed) * PRESSURE

    def has_content_to_compress(
        self, messages: Sequence[Message], window: int, fixed: int = 0, *, requested: bool = False
    ) -> bool:
        """Whether a compression would save enough of the request to be worth a summary; for one that a user
        requested: enough of the conversation, with a summary of the usual size."""
        _, conversation = without_notes(messages)
        before = fixed + tokens_of(messages)
        parts = self._cut(conversation, window, fixed, before)
        if requested:
            saved = int(tokens_of(flatten(parts.middle)) * (1 - SUMMARY_SHARE)) - FRAME
            return saved >= tokens_of(messages) * WORTH
        minimum = WORTH if before < window * FULL_SHARE else WORTH_WHEN_FULL
        return before - _after(parts, window, fixed) >= before * minimum

    def estimate(self, messages: Sequence[Message]) -> int:
        """The estimated number of tokens of the messages."""
        return tokens_of(messages)

    def newest(self, messages: Sequence[Message], limit: int) -> tuple[Message, ...]:
        """As many of the newest messages as fit, beginning with a user's."""
        units = message_groups(messages)
        start = len(units)
        while start > 0 and (limit := limit - tokens_of(units[start - 1])) >= 0:
            start -= 1
        while start < len(units) and not isinstance(units[start][0], UserMessage):
            start += 1
        return flatten(units[start:])

    def compress(self, history: History, ask: AskSummariser) -> CompressedHistory:
        """The history with its middle summarised; nothing is removed if there was no middle.

        Raises `ModelError`: the summariser's error, or kind `invalid_summary`.
        """
        before, conversation = without_notes(history.messages)
        parts = self._cut_of(history, conversation)
        if not parts.middle:
            return CompressedHistory(messages=history.messages, summary=before, removed=0)
        summary = self._summarised(before, repair(flatten(parts.middle)), history, ask)
        return self._shortened(parts, summary, history)

    def set_aside(self, history: History) -> CompressedHistory:
        """The history without its middle, with a note in its place instead of a summary."""
        before, conversation = without_notes(history.messages)
        parts = self._cut_of(history, conversation)
        if not parts.middle:
            return CompressedHistory(messages=history.messages, summary="", removed=0)
        middle, layers = flatten(parts.middle), parse(self._redact(before))
        observed = entity_state.observe(middle, self._redact)
        words = SET_ASIDE.format(count=len(middle))
        layers = msgspec.structs.replace(
            layers,
            recent=f"{words}\n\n{layers.recent}".strip(),
            state=entity_state.merge(layers.state, observed),
        )
        budget = summary_budget(tokens_of(prune(middle)), history.window)
        shortened = self._shortened(parts, render(fit(layers, budget, history.session)), history)
        return msgspec.structs.replace(shortened, summary="")

    def _cut_of(self, history: History, conversation: Sequence[Message]) -> HistorySplit:
        before = history.fixed + tokens_of(history.messages)
        return self._cut(conversation, history.window, history.fixed, before)

    def _cut(self, conversation: Sequence[Message], window: int, fixed: int, before: int) -> HistorySplit:
        """The history in its parts. If the request of `before` tokens must become
        smaller, and protecting many messages prevents that, only the newest are protected."""
        units = message_groups(conversation)
        share = max(self.threshold(window, fixed) - fixed, int(window * (1 - HYGIENE)))
        ratio = min(max(self._options.target_ratio, RATIO_LEAST), RATIO_MOST)
        budget, protected = int(share * ratio), int(share * PROTECTED_SHARE)
        default_cut = cut(
            units,
            TokenBudget(
                budget=budget,
                threshold=max(budget, protected),
                protect_last=self._options.protect_last,
                head=int(share * HEAD_SHARE),
            ),
        )
        if before < window * HYGIENE or before - _after(default_cut, window, fixed) >= before * WORTH:
            return default_cut
        limit = min(budget, protected) // 2
        tight = cut(units, TokenBudget(budget=limit, threshold=limit, protect_last=0, head=0))
        return min(default_cut, tight, key=lambda parts: _after(parts, window, fixed))

    @staticmethod
    def _shortened(parts: HistorySplit, summary: str, history: History) -> CompressedHistory:
        messages = assemble(parts, summary, history.todos)
        return CompressedHistory(messages=messages, summary=summary, removed=len(flatten(parts.middle)))

    # --- the summary ------------------------------------------------------------------------------

    def _summarised(
        self, before: str, middle: tuple[Message, ...], history: History, ask: AskSummariser
    ) -> str:
        """The updated summary: the detail so far is condensed, and the middle summarised in its
        place."""
        layers, material = parse(self._redact(before)), prune(middle)
        budget = summary_budget(tokens_of(material), history.window)
        observed = entity_state.observe(middle, self._redact)
        answer_budget = room_for_answer(layers, entity_state.merge(layers.state, observed), budget)
        message = instructions(answer_budget, history.focus)
        summary_so_far = show(layers)
        limit = (
            history.summary_window
            - 2 * budget
            - max(tokens(summary_so_far) - budget, 0)
            - tokens(message)
            - FORM
        )
        answers: list[str] = []
        for part in portions(material, max(limit, 1_000), self._redact):
            text = self._redact(transcript(part))
            form = LAYERED if summary_so_far and not answers else UPDATE if answers else FIRST
            words = words_of(int(budget * EARLIER_SHARE) // 2)
            prompt = form.format(summary=summary_so_far, conversation=text, words=words)
            summary_so_far = self._checked(message, prompt, f"{summary_so_far}\n{text}", answer_budget, ask)
            answers.append(summary_so_far)
        return render(continue_layers(layers, observed, answers, history.session, budget))

    def _checked(self, system: str, prompt: str, source: str, budget: int, ask: AskSummariser) -> str:
        """The validated summary. If it names things missing from the source it is requested once more, then
        marked."""
        summary = self._redact(ask(system, prompt, budget)).strip()
        if not is_checkpoint(summary):
            summary = self._redact(ask(system, prompt, budget)).strip()
        if not is_checkpoint(summary):
            raise ModelError("invalid_summary", "the summariser wrote no summary", retryable=False)
        wrong = hallucinated_references(summary, source)
        if not wrong:
            return summary
        mend = (
            f"{prompt}\n\nYour checkpoint:\n\n{summary}\n\n{REPAIR_PROMPT.format(invented=', '.join(wrong))}"
        )
        mended = self._redact(ask(system, mend, budget)).strip()
        summary = mended if is_checkpoint(mended) else summary
        invented = hallucinated_references(summary, source)
        return summary + UNVERIFIED.format(invented=", ".join(invented)) if invented else summary


def _after(parts: HistorySplit, window: int, fixed: int) -> int:
    """The size of the request after summarising the middle; infinite if there is no middle."""
    if not parts.middle:
        return sys.maxsize
    stays = tokens_of(flatten(parts.head)) + tokens_of(flatten(parts.tail))
    return fixed + stays + summary_budget(tokens_of(flatten(parts.middle)), window) + FRAME


def from_setup(setup: EngineSetup) -> Compressor:
    """The engine as configured."""
    return Compressor(setup.options, setup.redact)


def summary_budget(tokens: int, window: int) -> int:
    """The budget, in tokens, for a summary of `tokens` tokens."""
    budget = max(SUMMARY_LEAST, int(tokens * SUMMARY_SHARE))
    return max(1, min(budget, int(window * SUMMARY_OF_WINDOW), SUMMARY_MOST))


def portions(messages: tuple[Message, ...], limit: int, redact: Redact) -> list[tuple[Message, ...]]:
    """The messages in portions of about `limit` tokens. Units are not split; a larger unit is redacted, then
    cut: half a key is hard to detect."""
    portions: list[list[Message]] = [[]]
    size = 0
    for unit in message_groups(messages):
        tokens = tokens_of(unit)
        if portions[-1] and size + tokens > limit:
            portions.append([])
            size = 0
        portions[-1].extend(
            unit if tokens <= limit else (_shortest(message, limit, redact) for message in unit)
        )
        size += tokens
    return [tuple(portion) for portion in portions if portion]


def _shortest(message: Message, limit: int, redact: Redact) -> Message:
    half = limit * CHARACTERS_A_TOKEN // 2
    if token_weight(message.content) <= 2 * half:
        return message
    content = redact(message.content)
    cut_out = f"{head(content, half)}\n[…]\n{tail(content, half)}"
    return msgspec.structs.replace(message, content=cut_out)
