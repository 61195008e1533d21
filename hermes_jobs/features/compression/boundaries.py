"""Splits a history for compression: the head and the tail stay, the middle is replaced."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_jobs.features.compression.message_groups import Unit, newest_request, tokens_of
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage


class HistorySplit(msgspec.Struct, frozen=True):
    """A history in three parts. With an empty middle there is nothing to compress."""

    head: tuple[Unit, ...]
    middle: tuple[Unit, ...]
    tail: tuple[Unit, ...]


class TokenBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the other parts: the tail has `budget` tokens, or up to `threshold` while it has fewer than
    `protect_last` messages; the head `head` tokens, None for any number."""

    budget: int
    threshold: int
    protect_last: int
    head: int | None = None


def cut(units: Sequence[Unit], budget: TokenBudget) -> HistorySplit:
    """The history in its parts.

    The user's newest message is always in the tail; messages after it that do not fit are summarised as if
    they had come before it.
    """
    head = _head(units)
    begin = len(head) if budget.head is None or _size(head) <= budget.head else 0
    body = units[begin:]
    start = _protected(body, budget) or _within(body, budget.budget)
    newest = newest_request(body)
    if newest is None or newest >= start:
        return HistorySplit(tuple(units[:begin]), tuple(body[:start]), tuple(body[start:]))
    if _size(body[newest:]) <= budget.budget:
        return HistorySplit(tuple(units[:begin]), tuple(body[:newest]), tuple(body[newest:]))
    while newest + 1 < start < len(body) and isinstance(body[start][0], UserMessage):
        start -= 1  # a synthetic user message cannot follow the user's message
    middle = (*body[:newest], *body[newest + 1 : start])
    return HistorySplit(tuple(units[:begin]), middle, (body[newest], *body[start:]))


def _head(units: Sequence[Unit]) -> Sequence[Unit]:
    """The first exchange: the first request, and the first round that handles it; empty while that is
    the current request."""
    newest = newest_request(units)
    if newest is None or newest < 2:
        return units[:0]
    is_exchange = isinstance(units[0][0], UserMessage) and isinstance(units[1][0], AssistantMessage)
    return units[:2] if is_exchange else units[:0]


def _protected(units: Sequence[Unit], budget: TokenBudget) -> int | None:
    """The start of the newest messages that are protected by their number, within the budget, and by their
    size; None if they leave no middle."""
    start = max(len(units) - 1, 0)
    count, size = (len(units[start]), tokens_of(units[start])) if units else (0, 0)
    while start > 0:
        larger = size + tokens_of(units[start - 1])
        if larger > (budget.threshold if count < budget.protect_last else budget.budget):
            break
        start, size = start - 1, larger
        count += len(units[start])
    return start if start > 0 and size <= budget.threshold else None


def _within(units: Sequence[Unit], budget: int) -> int:
    """The start of the units that fit into the budget; the last one is always included."""
    start, size = len(units), 0
    while start > 0:
        size += tokens_of(units[start - 1])
        if size > budget and start < len(units):
            break
        start -= 1
    return start


def _size(units: Sequence[Unit]) -> int:
    return sum(tokens_of(unit) for unit in units)
