"""What `turns tree --json` prints, and `turns show --json` of a turn that delegated: the names are fixed."""

from __future__ import annotations

import msgspec

from hermes_jobs.domain.events import ChildStatus
from hermes_jobs.views.models import TurnStatus
from hermes_jobs.views.tree import Tree
from hermes_jobs.views.turn_json import UsageJson, usage_json


class TreeTotalJson(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn and all below it used. `cost_usd` None where a part of it is not known."""

    num_turns: int
    num_model_calls: int
    num_tool_calls: int
    usage: UsageJson
    cost_usd: float | None


class TreeJson(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a tree. `ended`: how a sub-agent ended, as its parent was told; null while it is at work.

    The figures are the turn's own; those with all below it stand in `total`.
    """

    turn: str
    session: str
    status: TurnStatus
    stopped_by: str | None
    ended: ChildStatus | None
    role: str
    goal: str
    depth: int
    model: str
    num_model_calls: int
    num_tool_calls: int
    usage: UsageJson
    cost_usd: float | None
    total: TreeTotalJson
    children: tuple[TreeJson, ...]


def tree_json(tree: Tree) -> TreeJson:
    """The tree as scripts see it."""
    turn, place = tree.turn, tree.turn.place
    return TreeJson(
        turn=turn.id,
        session=turn.session,
        status=turn.status,
        stopped_by=turn.stopped_by,
        ended=place.ended if place else None,
        role=place.role if place else "",
        goal=tree.about,
        depth=place.depth if place else 0,
        model=turn.model,
        num_model_calls=turn.books.num_model_calls,
        num_tool_calls=turn.num_tool_calls,
        usage=usage_json(turn.books.usage),
        cost_usd=turn.books.cost_usd,
        total=TreeTotalJson(
            num_turns=sum(1 for _ in tree.walk()),
            num_model_calls=tree.books.num_model_calls,
            num_tool_calls=tree.num_tool_calls,
            usage=usage_json(tree.books.usage),
            cost_usd=tree.books.cost_usd,
        ),
        children=tuple(tree_json(each) for each in tree.children),
    )
