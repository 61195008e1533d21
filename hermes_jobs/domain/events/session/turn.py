"""Events of a turn: what was asked, how it was answered, and what it cost."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.session.session import Opening
from hermes_jobs.domain.usage import NO_USAGE, Usage

BusyPolicy = Literal["queue", "collect", "steer", "interrupt", "reject"]


class TurnSubmitted(Event, frozen=True, kw_only=True):
    """A text was accepted. `opening` only on the first text of a stream.

    `deliver`: where the answer goes besides the log, such as `file:PATH`. `budget_usd`: what this turn may
    cost, besides what the configuration allows every turn.
    """

    turn: str
    text: str
    source: str
    session: str
    key: str | None = None
    if_busy: BusyPolicy = "queue"
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    attended: bool = True
    opening: Opening | None = None
    deliver: tuple[str, ...] = ()
    budget_usd: float | None = None


class ContextPrefetched(Event, frozen=True, kw_only=True):
    """The turn begins; what the configuration said at that moment holds for all of it.

    `memory_nudge` user turns, or `skill_nudge` rounds of tool calls, make a review due; 0: none.
    `recalled` stands beside the user's text in this turn's requests, and nowhere else. `listeners` are to be
    told what the session comes to.
    """

    turn: str
    model: str
    max_iterations: int
    result_chars: int = 100_000
    turn_chars: int = 200_000
    preview_chars: int = 1_500
    memory_nudge: int = 0
    skill_nudge: int = 0
    recalled: str = ""
    listeners: tuple[str, ...] = ()


class TurnMerged(Event, frozen=True, kw_only=True):
    """The text was collected into, or steered to, another turn; that one's end is its end."""

    turn: str
    into: str


class TurnCancelRequested(Event, frozen=True, kw_only=True):
    """A person wants the turn to end; running steps are interrupted."""

    turn: str
    by: str


class TurnResumed(Event, frozen=True, kw_only=True):
    """`budget_usd`: what the turn may cost from now on, all in all; None leaves its own budget as it was.

    `model`: the model that answers from now on, empty for the same.
    """

    turn: str
    by: str = "user"
    budget_usd: float | None = None
    model: str = ""


class WaitEnded(Event, frozen=True, kw_only=True):
    """A turn that waits for a quota goes on at once, with `model` where that is not empty."""

    turn: str
    by: str
    model: str = ""


class UsageRecorded(Event, frozen=True, kw_only=True):
    """What the turn's responses used since it was last recorded; `cost_usd` None where a price is unknown.

    `estimated` is apart from that: what calls may have used that ended without their response.
    """

    turn: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_1h_tokens: int | UnsetType = UNSET
    cost_usd: float | None = None
    num_model_calls: int = 0
    num_tool_calls: int = 0
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class TurnCompleted(Event, frozen=True, kw_only=True):
    """The turn ended with an answer; `stopped_by` names the limit that ended it early."""

    turn: str
    answer: str
    stopped_by: str | None = None


class TurnFailed(Event, frozen=True, kw_only=True):
    """The turn ended without an answer: `kind` of the error, its message, and what to do."""

    turn: str
    kind: str
    message: str
    hint: str = ""


class TurnCancelled(Event, frozen=True, kw_only=True):
    """The turn ended because `by` cancelled it."""

    turn: str
    by: str


TurnEnd = TurnCompleted | TurnFailed | TurnCancelled
