"""Turns that a limit ended early: their kinds, and the messages for users."""

from __future__ import annotations

from typing import Final

from hermes_jobs.kernel.events import TurnCompleted, TurnEnd, TurnFailed
from hermes_jobs.kernel.turns.loop_guard import MAX_REFUSALS
from hermes_jobs.kernel.turns.synthetic_messages import STOPPED_WITHOUT_WORDS

BUDGET: Final = "budget"
"""The kind of failure of a turn whose budget is used up."""
SCHEMA: Final = "schema"
"""The kind of failure of a turn whose answer violates its schema."""
FAILING = (BUDGET, SCHEMA)
"""The kinds of failure that count as stopped early."""
REFUSED: Final = "refused"
"""The limit of an unattended turn whose tool calls were all refused."""
STOPPED: Final = "stopped"
"""The status for people of a turn that a limit ended early."""

_WHY = {
    "max_iterations": "it had used all the rounds of tool calls of one turn (agent.max_iterations)",
    "loop_guard": f"it continued repeating calls with the same result: {MAX_REFUSALS} of them were refused",
    "length": "its answer reached the model's output limit",
    BUDGET: "its budget is used up",
    SCHEMA: "its answer does not fit the schema",
    REFUSED: "every tool call of it was refused",
}


def stopped_by(end: TurnEnd) -> str | None:
    """The limit that ended the turn early: `max_iterations`, `loop_guard`, `length`, `refused`, `budget`,
    `schema`.

    None if none did.
    """
    if isinstance(end, TurnCompleted):
        return end.stopped_by
    return end.kind if isinstance(end, TurnFailed) and end.kind in FAILING else None


def is_unanswered(limit: str | None, answer: str | None) -> bool:
    """Whether the limit stopped the turn without an answer of the model: its text only says so."""
    return limit == REFUSED or (limit is not None and answer in STOPPED_WITHOUT_WORDS.values())


def stop_sentence(limit: str) -> str:
    """What stopped a turn, as a sentence for people."""
    return f"Stopped before it was done: {_WHY.get(limit, limit)}."
