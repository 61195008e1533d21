"""Events of a turn: its text, its end, and its usage."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.session.session import Opening
from hermes_jobs.domain.usage import NO_USAGE, Usage

BusyPolicy = Literal["queue", "collect", "steer", "interrupt", "reject"]


class TurnSubmitted(Event, frozen=True, kw_only=True):
    """A text was accepted. `opening` is set on the first text of a stream only.

    `deliver`: further targets of the answer, such as `file:PATH`. `budget_usd`: this turn's own limit,
    besides the configured one.
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
    """The turn begins; the configuration values in it are fixed for the whole turn.

    A review is due after `memory_nudge` user turns or `skill_nudge` rounds of tool calls; 0: never.
    `recalled` is added to the user's text in this turn's requests only. `listeners` are notified of the
    session's events.
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
    """The text was merged into another turn (collected or steered), and ends with it."""

    turn: str
    into: str


class TurnCancelRequested(Event, frozen=True, kw_only=True):
    """A user wants to cancel the turn; running steps are interrupted."""

    turn: str
    by: str


class TurnResumed(Event, frozen=True, kw_only=True):
    """The turn was resumed. `budget_usd`: its total limit from now on; None: unchanged.

    `model`: the model from now on, empty for the same.
    """

    turn: str
    by: str = "user"
    budget_usd: float | None = None
    model: str = ""


class WaitEnded(Event, frozen=True, kw_only=True):
    """A turn that waits for a quota continues at once, with `model` where that is not empty."""

    turn: str
    by: str
    model: str = ""


class UsageRecorded(Event, frozen=True, kw_only=True):
    """The usage of the turn's responses since the last record; `cost_usd` is None where a price is unknown.

    `estimated` is not included in it: estimated usage of calls that ended without a response.
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
