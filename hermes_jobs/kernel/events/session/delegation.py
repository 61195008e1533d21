"""Events of delegation: children, which are sessions of their own, in the stream of their parent."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

ChildStatus = Literal["completed", "failed", "cancelled", "out_of_budget", "stopped", "unknown"]
"""How a child ended. `stopped`: a limit ended it early. `unknown`: its workers died repeatedly."""


class Payer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn that pays for its descendants, in the session of that stream. `budget_usd`: its own limit."""

    turn: str
    stream: str
    budget_usd: float | None = None


class Delegation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child's place below other sessions, fixed by its first text.

    `turn` is the child's own first turn, whose end its parent is told of. `parent`, `parent_turn` and `call`
    are the lineage, the turn and the tool call that began it. `payers` are all turns above it, the root's
    first; `depth` is 1 below a root. `role`: the agent's name. `max_iterations`: its rounds of tool calls;
    None: as configured. `withheld`: toolsets that its prompt has, and whose calls are refused.
    `model_is_fixed`: its kind, or that of a session above, names the model, which holds for all below it.
    `outside`: the origins of text that others wrote, which its parent had read.
    """

    turn: str
    parent: str
    parent_turn: str
    call: str
    payers: tuple[Payer, ...]
    depth: int = 1
    role: str = ""
    max_iterations: int | None = None
    withheld: tuple[str, ...] = ()
    model_is_fixed: bool = False
    outside: tuple[str, ...] = ()


class ChildRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child as its parent names it: its session and its first turn, its goal and its agent's name."""

    session: str
    turn: str
    goal: str
    role: str = ""


class ChildrenStarted(Event, frozen=True, kw_only=True):
    """A call delegated work to children, whose first texts are in the same append.

    `waits`: the call ends with the last of them; otherwise each one's end becomes a text of this session.
    """

    turn: str
    call: str
    children: tuple[ChildRef, ...]
    waits: bool = True


class ChildEnded(Event, frozen=True, kw_only=True):
    """A child has ended, in the same append as its turn. `message`: why it has no answer.

    `answer` is complete; the figures are those of its first turn, without its own children.
    `outside`: the origins of text that others wrote, which the child has read.
    """

    turn: str
    call: str
    child: str
    status: ChildStatus
    answer: str = ""
    message: str = ""
    num_model_calls: int = 0
    num_tool_calls: int = 0
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    outside: tuple[str, ...] = ()


class TurnReleased(Event, frozen=True, kw_only=True):
    """A held turn can begin: a slot for running children is free."""

    turn: str


DelegationEvent = ChildrenStarted | ChildEnded | TurnReleased
