"""Events of a turn: its text, its end, and its usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from hermes_jobs.kernel.events.approval import CallPattern, Mode
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.session.session import Opening
from hermes_jobs.kernel.streams.field_kinds import JSON, TEXT
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns.attachments import Attachment, Heard
from hermes_jobs.kernel.turns.rhythm import CacheTtl

BusyPolicy = Literal["queue", "collect", "steer", "interrupt", "reject"]
Rating = Literal["up", "down", "none"]
RecallTrack = Literal["words", "entities", "meaning"]


class TurnSubmitted(Event, frozen=True, kw_only=True):
    """A text was accepted. `opening` is set on the first text of a stream only.

    `deliver`: further targets of the answer, such as `file:PATH`. `budget_usd`: this turn's own limit,
    besides the configured one. `mode`: this turn's own; None: the session's. `approve`: calls that were
    approved beforehand. `unattended`: sent by a user who answers no questions. `settings`: this turn's own
    values of configuration keys, over the settings of the worker. `requires`: digests, by name, of keys and
    addresses that the worker must have. `answer_schema`: the JSON Schema that the answer has to fit, as JSON
    text; empty for none. `held`: it begins only when it is released. `wants_title`: the session gets a title
    from a model if it has none, because users choose among sessions by title. `skills`: the skills that were
    put into the text by name. `author`: who wrote it, where several people share a chat. `attachments`: the
    pictures and documents sent with it. `account`: what it, its sub-agents and its review spend is charged to
    this one, too, up to `account_usd` in all. `client_data`: JSON that the program that sent it reads again
    with the answer. `outside`: what of the text neither the person nor the agent wrote, such as the payload
    of a trigger, by its origin; empty for none. `unwatched`: nobody watches the turn, whose sender does not
    wait; earlier builds said so of turns from chat platforms, too. `piped`: not all of it was typed, as far
    as it is in no fence: a file or standard input is part of it, or a program sent it.
    """

    turn: str
    text: str
    source: str
    session: str
    key: Annotated[str | None, TEXT] = None
    if_busy: BusyPolicy = "queue"
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    attended: bool = True
    opening: Opening | None = None
    deliver: tuple[str, ...] = ()
    budget_usd: float | None = None
    mode: Mode | None = None
    approve: tuple[CallPattern, ...] = ()
    unattended: bool = False
    settings: Mapping[str, Any] = {}
    requires: Mapping[str, str] = {}
    answer_schema: Annotated[str, JSON] = ""
    held: bool = False
    wants_title: bool = False
    skills: tuple[str, ...] = ()
    author: str = ""
    attachments: tuple[Attachment, ...] = ()
    account: str = ""
    account_usd: float | None = None
    client_data: Annotated[str, JSON] = ""
    outside: str = ""
    unwatched: bool = False
    piped: bool = False


class RecalledItem(msgspec.Struct, frozen=True):
    """A recalled item, and the tracks that found it: shared `words`, a shared name of a thing
    (`entities`), or a near vector (`meaning`). `name` is the version of the memory's write, or the id of the
    turn that contains it."""

    kind: Literal["memory", "turn"]
    name: str
    tracks: tuple[RecallTrack, ...]


class ContextPrefetched(Event, frozen=True, kw_only=True):
    """The turn begins; the configuration values in it are fixed for the whole turn.

    A review is due after `memory_nudge` user turns or `skill_nudge` rounds of tool calls; 0: never.
    `recalled` is added to the user's text in this turn's requests only. `listeners` are notified of the
    session's events. The loop guard ends the turn after it has refused `max_refusals` calls; 0: at the first
    one, and no change in between resets its counts. `note`: the note to the model about the mode, sent with
    the user's text. `members` are the models of the `ensemble` that are called before the first call of
    `model`, which combines their answers. `memories`: the memory's entries in `recalled`, by the versions of
    the writes that made them; `recall`: the items in `recalled`, with the tracks that found them;
    `recall_failed`: why a track was left out. `at`: when the session's rest ended, in seconds since the
    epoch, 0 if it is not measured. `cache_ttl`: how long the provider is to keep the prompts of the turn;
    None: as configured. `heard`: the words of the sounds, and about the pictures, that go with the
    user's text. `describes`: pictures are described to the model.
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
    max_refusals: int = 0
    note: str = ""
    ensemble: str = ""
    members: tuple[str, ...] = ()
    memories: tuple[int, ...] = ()
    recall: tuple[RecalledItem, ...] = ()
    recall_failed: str = ""
    at: float = 0.0
    cache_ttl: CacheTtl | None = None
    heard: tuple[Heard, ...] = ()
    describes: bool = False


class PerceptionStarted(Event, frozen=True, kw_only=True):
    """Models are asked what is in the turn's sounds and pictures, before it begins. `reserved`: for all of
    these calls."""

    turn: str
    step: str
    attempt: int
    reserved: Reservation | None = None


class TurnPostponed(Event, frozen=True, kw_only=True):
    """The turn could not begin, for that `reason`, and is retried at `retry_at`. `number` counts from 1;
    `since`: the time of the first attempt. Both times are seconds since the epoch. `what` it waits for, in a
    few words."""

    turn: str
    reason: str
    retry_at: float
    since: float
    number: int = 1
    what: str = ""


class TurnMerged(Event, frozen=True, kw_only=True):
    """The text was merged into another turn (collected or steered), and ends with it."""

    turn: str
    into: str


class TurnCancelRequested(Event, frozen=True, kw_only=True):
    """A user wants to cancel the turn; running steps are interrupted."""

    turn: str
    by: str


class TurnResumed(Event, frozen=True, kw_only=True):
    """The turn was resumed after it failed, was cancelled, or was stopped by a limit.

    `budget_usd`: its total limit from now on; None: unchanged. `model`: the model from now on, empty for the
    same. `settings` are laid over those of the turn; where they or `requires` are given, `requires` takes the
    place of the turn's. `ensemble` and `members`: those that are called before `model`.
    """

    turn: str
    by: str = "user"
    budget_usd: float | None = None
    model: str = ""
    settings: Mapping[str, Any] = {}
    requires: Mapping[str, str] = {}
    ensemble: str = ""
    members: tuple[str, ...] = ()


class WaitEnded(Event, frozen=True, kw_only=True):
    """A turn that waits (for a quota, or to begin) continues at once, with `model` where that is given."""

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
    audio_tokens: int | UnsetType = UNSET
    cost_usd: float | None = None
    num_model_calls: int = 0
    num_tool_calls: int = 0
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class BudgetWarned(Event, frozen=True, kw_only=True):
    """A limit is nearly used up. `setting` is its key, `limit` its value and `spent` what is charged to
    `account`, in US dollars or, for a limit in tokens, in tokens.
    """

    turn: str
    account: str
    setting: str
    limit: float
    spent: float


class AnswerRejected(Event, frozen=True, kw_only=True):
    """The answer of that model call does not fit the turn's schema, for these reasons (with JSON paths)."""

    turn: str
    step: str
    faults: tuple[str, ...]


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


class TurnRated(Event, frozen=True, kw_only=True):
    """A user rated the turn; the last rating counts, and `none` removes it."""

    turn: str
    rating: Rating
    by: str
    note: str = ""


class TurnLabelled(Event, frozen=True, kw_only=True):
    """A user labelled the turn. `labels` are all labels that it has from now on, in order."""

    turn: str
    labels: tuple[str, ...]
    by: str


TurnEnd = TurnCompleted | TurnFailed | TurnCancelled
TurnEvent = (
    TurnSubmitted
    | PerceptionStarted
    | ContextPrefetched
    | TurnPostponed
    | TurnMerged
    | TurnCancelRequested
    | TurnResumed
    | WaitEnded
    | UsageRecorded
    | TurnEnd
    | TurnRated
    | TurnLabelled
)
