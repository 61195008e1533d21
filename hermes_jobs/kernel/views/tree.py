"""A turn with its tree of sub-agents, each with the usage of its whole subtree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from sqlite3 import Connection

import msgspec

from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.views.message_texts import Texts
from hermes_jobs.kernel.views.models import StepView, TurnView, UsageTotals
from hermes_jobs.kernel.views.queries import TOTALS, select_turns_below, select_waiting_calls, totals_of
from hermes_jobs.kernel.views.rows import fetched


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A turn and those that it started by delegation, in order.

    `waiting`: the turn's calls that wait for a person.
    `totals` and `num_tool_calls` are those of the turn and of all below it.
    """

    turn: TurnView
    children: tuple[Tree, ...]
    waiting: tuple[StepView, ...]
    totals: UsageTotals
    num_tool_calls: int

    @property
    def about(self) -> str:
        """The purpose of the turn: a sub-agent's goal, else its text."""
        return self.turn.place.goal if self.turn.place is not None else self.turn.text

    @property
    def is_at_work(self) -> bool:
        """Whether a sub-agent below the turn has not ended."""
        return any(node.turn.place is not None and node.turn.place.ended is None for node in self._below())

    def _below(self) -> Iterator[Tree]:
        for child in self.children:
            yield from child.walk()

    def walk(self) -> Iterator[Tree]:
        """The node and all below it, parents before children."""
        yield self
        yield from self._below()

    def path(self, turn: str) -> tuple[TurnView, ...]:
        """The turns from this one down to that one; empty if that is not below it."""
        if turn == self.turn.id:
            return (self.turn,)
        below = (child.path(turn) for child in self.children)
        return next(((self.turn, *path) for path in below if path), ())

    def find(self, turn: str) -> Tree | None:
        """The subtree of that turn."""
        return next((node for node in self.walk() if node.turn.id == turn), None)


def select_tree(connection: Connection, texts: Texts, turn: str) -> Tree:
    """The whole tree that the turn belongs to, from its root. Raises `Rejected`, kind `unknown_turn`."""
    turns = select_turns_below(connection, texts, turn)
    waiting: dict[str, list[StepView]] = {}
    for turn_id, step in select_waiting_calls(connection, [row.id for row in turns]):
        waiting.setdefault(turn_id, []).append(step)
    below: dict[str, list[TurnView]] = {}
    for descendant in turns[1:]:
        assert descendant.place is not None
        below.setdefault(descendant.place.parent_turn, []).append(descendant)
    return _tree(turns[0], below, waiting)


def select_used_below(connection: Connection, root: str) -> UsageTotals:
    """The usage of all sub-agents below that lineage."""
    query = f"SELECT {TOTALS} FROM responses r WHERE r.turn IN (SELECT turn FROM children WHERE root = ?)"
    (row,) = fetched(connection, query, (root,))
    return totals_of(row)


def _tree(
    turn: TurnView, below: Mapping[str, Sequence[TurnView]], waiting: Mapping[str, Sequence[StepView]]
) -> Tree:
    children = tuple(_tree(child, below, waiting) for child in below.get(turn.id, ()))
    return Tree(
        turn=turn,
        children=children,
        waiting=tuple(waiting.get(turn.id, ())),
        totals=_sum([turn.totals, *(child.totals for child in children)]),
        num_tool_calls=turn.num_tool_calls + sum(child.num_tool_calls for child in children),
    )


def _sum(totals: Sequence[UsageTotals]) -> UsageTotals:
    costs = [book.cost_usd for book in totals]
    priced = [cost for cost in costs if cost is not None]
    return UsageTotals(
        usage=sum((book.usage for book in totals), NO_USAGE),
        cost_usd=sum(priced) if len(priced) == len(costs) else None,
        num_model_calls=sum(book.num_model_calls for book in totals),
        known_cost_usd=sum(book.known_cost_usd for book in totals),
    )
