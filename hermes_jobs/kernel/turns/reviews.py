"""State of nudges and reviews of a conversation: which reviews are due, waiting or running.

A review runs in its own session, whose stream is named after the review's `ID`; the conversation only records
its request and its outcome. One runs at a time; the others wait. A curator reviews the skills, not a
conversation: all its events are in its own stream.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.text.clip import one_line
from hermes_jobs.text.figures import pluralize

SOURCE = "review:"
MEMORY_TOOL, SKILL_TOOL = "memory", "skill_manage"
CURATED = f"{SOURCE}curate"
"""The source of a curator's session, which continues no conversation."""
SAVING = frozenset({MEMORY_TOOL, SKILL_TOOL, "propose_merge", "propose_archive"})
"""Tools whose success gives a review a result."""


MAX_SAVED_WORDS = 60
"""Characters that are shown of an entry."""


def saved_by(call: ToolCall) -> str:
    """A few words for users about the effect of a saving tool's call."""
    try:
        arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return call.name
    operations = arguments.get("operations")
    writes = (
        [one for one in operations if isinstance(one, dict)] if isinstance(operations, list) else [arguments]
    )
    return ", ".join(_saved(call.name, one) for one in writes) or call.name


def _saved(tool: str, arguments: Mapping[str, object]) -> str:
    words = (arguments.get(name) for name in ("name", "content", "old_text"))
    texts = (word for word in words if isinstance(word, str) and word.strip())
    about = one_line(next(texts, ""), MAX_SAVED_WORDS)
    where = "skill" if tool == SKILL_TOOL else tool
    return " ".join(
        part for part in (where, str(arguments.get("action") or ""), f'"{about}"' if about else "") if part
    )


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A review that has not started. `at`: the version of the conversation that it reads.
    `account`, `account_usd`: what it spends is charged to."""

    id: str
    kind: e.ReviewKind
    at: int
    account: str = ""
    account_usd: float | None = None


class ReviewCounters(msgspec.Struct, frozen=True, kw_only=True):
    """Counters towards the next review: user turns, and rounds of tool calls. An interval of 0 is off."""

    turns: int = 0
    iterations: int = 0
    memory_interval: int = 0
    skill_interval: int = 0


def turn_begun(nudges: ReviewCounters, *, memory_interval: int, skill_interval: int) -> ReviewCounters:
    """One more user turn, with the currently configured intervals."""
    return replace(
        nudges, turns=nudges.turns + 1, memory_interval=memory_interval, skill_interval=skill_interval
    )


def round_opened(nudges: ReviewCounters) -> ReviewCounters:
    """One more round of tool calls."""
    return replace(nudges, iterations=nudges.iterations + 1)


def tool_used(nudges: ReviewCounters, tool: str) -> ReviewCounters:
    """The counters after a tool call: a saving tool resets its counter."""
    if tool == MEMORY_TOOL:
        return replace(nudges, turns=0)
    if tool == SKILL_TOOL:
        return replace(nudges, iterations=0)
    return nudges


def due_kind(nudges: ReviewCounters) -> e.ReviewKind | None:
    """The kind of the due review, if any."""
    memory = 0 < nudges.memory_interval <= nudges.turns
    skills = 0 < nudges.skill_interval <= nudges.iterations
    if memory and skills:
        return "combined"
    return "memory" if memory else "skills" if skills else None


def fired(nudges: ReviewCounters, kind: e.ReviewKind) -> ReviewCounters:
    """The counters after a review was requested."""
    return replace(
        nudges,
        turns=0 if kind in {"memory", "combined"} else nudges.turns,
        iterations=0 if kind in {"skills", "combined"} else nudges.iterations,
    )


def reason(nudges: ReviewCounters, kind: e.ReviewKind) -> str:
    """The reason why the review is due, for users."""
    turns = pluralize(nudges.turns, "turn")
    rounds = pluralize(nudges.iterations, "round of tool calls", "rounds of tool calls")
    since = {"memory": turns, "skills": rounds, "combined": f"{turns} and {rounds}"}.get(kind, "")
    return f"{since} since the last"
