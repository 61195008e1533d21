"""Where a history is cut: the head that stays, the middle that gives way, the tail that stays."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_jobs.agent.context.message_groups import Unit, newest_request, tokens_of
from hermes_jobs.domain.session.messages import AssistantMessage, UserMessage


class HistorySplit(msgspec.Struct, frozen=True):
    """A history in three parts. An empty middle: there is nothing to compress."""

    head: tuple[Unit, ...]
    middle: tuple[Unit, ...]
    tail: tuple[Unit, ...]


class TokenBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What stays may take: the tail `budget` tokens, or up to `threshold` while it has fewer than
    `protect_last` messages; the head `head` tokens, None for any number."""

    budget: int
    threshold: int
    protect_last: int
    head: int | None = None


def cut(units: Sequence[Unit], room: TokenBudget) -> HistorySplit:
    """The history in its parts.

    The user's newest message is in the tail, always; what followed it and does not fit is summarised as if
    it had come before.
    """
    head = _head(units)
    begin = len(head) if room.head is None or _size(head) <= room.head else 0
    body = units[begin:]
    start = _protected(body, room) or _within(body, room.budget)
    newest = newest_request(body)
    if newest is None or newest >= start:
        return HistorySplit(tuple(units[:begin]), tuple(body[:start]), tuple(body[start:]))
    if _size(body[newest:]) <= room.budget:
        return HistorySplit(tuple(units[:begin]), tuple(body[:newest]), tuple(body[newest:]))
    while newest + 1 < start < len(body) and isinstance(body[start][0], UserMessage):
        start -= 1  # what the agent was told in the user's place cannot follow the user
    middle = (*body[:newest], *body[newest + 1 : start])
    return HistorySplit(tuple(units[:begin]), middle, (body[newest], *body[start:]))


def _head(units: Sequence[Unit]) -> Sequence[Unit]:
    """The first exchange: what was asked, and the first thing that was done about it; none while that is
    still what the agent works on."""
    newest = newest_request(units)
    if newest is None or newest < 2:
        return units[:0]
    is_exchange = isinstance(units[0][0], UserMessage) and isinstance(units[1][0], AssistantMessage)
    return units[:2] if is_exchange else units[:0]


def _protected(units: Sequence[Unit], room: TokenBudget) -> int | None:
    """Where the newest messages begin that are protected by their number, as far as they fit, and by their
    size; None where they leave no middle."""
    start = max(len(units) - 1, 0)
    count, size = (len(units[start]), tokens_of(units[start])) if units else (0, 0)
    while start > 0:
        larger = size + tokens_of(units[start - 1])
        if larger > (room.threshold if count < room.protect_last else room.budget):
            break
        start, size = start - 1, larger
        count += len(units[start])
    return start if start > 0 and size <= room.threshold else None


def _within(units: Sequence[Unit], budget: int) -> int:
    """Where the units begin that fit into the budget; the last one is taken in any case."""
    start, size = len(units), 0
    while start > 0:
        size += tokens_of(units[start - 1])
        if size > budget and start < len(units):
            break
        start -= 1
    return start


def _size(units: Sequence[Unit]) -> int:
    return sum(tokens_of(unit) for unit in units)
