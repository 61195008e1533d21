"""State of a session's lineage: messages, the running turn, waiting texts, reviews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import asdict, replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import (
    CallPattern,
    ChildRef,
    Delegation,
    Mode,
    Opening,
    SessionStarted,
    Todo,
    TurnRated,
    UsageRecorded,
)
from hermes_jobs.kernel.helper_calls import HelperCall
from hermes_jobs.kernel.streams.subscriptions import Subscription
from hermes_jobs.kernel.turns.compression import Compression
from hermes_jobs.kernel.turns.layered import Layered
from hermes_jobs.kernel.turns.messages import Message
from hermes_jobs.kernel.turns.reviews import Review, ReviewCounters
from hermes_jobs.kernel.turns.turn import Turn

PREFIX = "session-"

EndStatus = Literal["completed", "failed", "cancelled", "merged"]
_PAST: dict[EndStatus, str] = {"cancelled": "been cancelled", "merged": "been merged into another"}


class EndedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended. `turn` is its state if it can be resumed; `into` is the
    turn that it was merged into; `stopped_by` names the limit that ended it early. `rated`: how a person
    rated it.
    """

    status: EndStatus
    turn: Turn | None = None
    into: str | None = None
    stopped_by: str | None = None
    rated: TurnRated | None = None

    @property
    def past(self) -> str:
        """The status as a past participle for messages."""
        return _PAST.get(self.status, self.status)


class OpenChild(msgspec.Struct, frozen=True, kw_only=True):
    """A child that has not ended. `parent_turn`: the state of the turn that started it; `waits`: the call
    waits for it. Otherwise its end becomes a text with the permissions of that turn, limited like its tool
    results.
    """

    ref: ChildRef
    parent_turn: Turn
    call: str
    waits: bool


class Titling(HelperCall, frozen=True, kw_only=True):
    """The call for a title. `turn` requested it; its settings apply to the call, too."""

    turn: Turn


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one `session-ID` stream at `version`.

    `messages` is the canonical history: only complete rounds are appended. While a round is open its results
    are in `current.calls`, so that their order of arrival has no effect.

    `named` is the given title, `title` that of the newest session, which has a number after a compression.
    `forked_from` is the lineage that this one continues, if any; `undone_into` the one in which the user
    continued, with its title, after the last turn was undone. `prompt_tokens` is the provider's count for the
    first `measured_messages`, 0 if unknown; the last accepted request held the first `accepted` messages.
    `ineffective_compressions` counts those in a row without real effect; the request size at the last one was
    `ineffective_at` tokens; while `compression_paused` none is started automatically. `pressure_notified`:
    the user was notified of a full context. `reviews` are waiting, `active_review` is the running one. `news`
    are notices for the next answer in a chat. `restored_files` are those that a user has restored since the
    last text. `mode` and `approved`: what the agent may do without approval; `plan_mode_noted`: the model
    knows that it may only plan; `unplanned` is the mode before that. `children` are those that have not
    ended. `titling` is the title that a model has to make; `title_given_up`: it failed for good. `labels` are
    those of turns. It rests since `rested_at`, in seconds since the epoch, 0 if that is not measured; `rests`
    are its earlier ones, in seconds. `outside` are the origins of text in it that others wrote, `typed` what
    persons wrote, both also after a compression.
    """

    stream: str
    version: int = 0
    opening: Opening | None = None
    forked_from: str | None = None
    started: SessionStarted | None = None
    title: str | None = None
    named: str | None = None
    model: str | None = None
    ended_because: str | None = None
    undone_into: str | None = None
    messages: tuple[Message, ...] = ()
    current: Turn | None = None
    waiting: tuple[Turn, ...] = ()
    ended: Layered[EndedTurn] = Layered()
    last_ended: str | None = None
    todos: tuple[Todo, ...] = ()
    compression: Compression | None = None
    compressions_requested: int = 0
    num_compressed: int = 0
    ineffective_compressions: int = 0
    ineffective_at: int = 0
    compression_paused: bool = False
    prompt_tokens: int = 0
    measured_messages: int = 0
    accepted: int = 0
    pressure_notified: bool = False
    review_counters: ReviewCounters = ReviewCounters()
    reviews: tuple[Review, ...] = ()
    active_review: str | None = None
    listeners: tuple[Subscription, ...] = ()
    news: tuple[str, ...] = ()
    restored_files: tuple[str, ...] = ()
    mode: Mode = "ask"
    approved: tuple[CallPattern, ...] = ()
    plan_mode_noted: bool = False
    unplanned: Mode = "ask"
    children: tuple[OpenChild, ...] = ()
    titling: Titling | None = None
    title_given_up: bool = False
    labels: Mapping[str, tuple[str, ...]] = {}
    rested_at: float = 0.0
    rests: tuple[float, ...] = ()
    outside: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the lineage's newest session."""
        return self.started.session if self.started else self.lineage

    @property
    def lineage(self) -> str:
        """The id of the lineage's first session."""
        return lineage_of(self.stream)

    @property
    def is_review(self) -> bool:
        """Whether this is a review's own session."""
        return self.started is not None and self.started.kind == "review"

    def delegation_of(self, turn: str | None) -> Delegation | None:
        """The delegated turn's place below its parent; None for turns that users sent."""
        delegation = self.opening.delegation if self.opening else None
        return delegation if delegation is not None and delegation.turn == turn else None

    @property
    def is_under_review(self) -> bool:
        """Whether a review of it waits or runs."""
        return bool(self.reviews) or self.active_review is not None

    @property
    def waits_for_others(self) -> bool:
        """Whether its children are running, or it is a child that waits for a slot."""
        return bool(self.children) or (self.current is not None and self.current.held)

    @property
    def needs_title(self) -> bool:
        """Whether it has no title, and was neither ended nor undone."""
        return self.named is None and self.ended_because is None and self.undone_into is None

    def helper_call(self, step: str) -> Titling | None:
        """The call for a title with that id, if it is due or running."""
        job = self.titling
        is_due = job is not None and job.id == step and (job.running or self.needs_title)
        return job if is_due else None

    def find(self, turn: str) -> Turn | None:
        """The running or waiting turn with that id."""
        open_turns = (self.current, *self.waiting) if self.current else self.waiting
        return next((candidate for candidate in open_turns if candidate.id == turn), None)


def fork_of(parent: Session, stream: str) -> Session:
    """A session that continues its parent's messages; no turn or review of the parent is inherited."""
    messages = parent.messages
    if parent.current is not None and parent.current.calls:
        messages = messages[:-1]  # calls without results, because the parent was still running them
    return Session(
        stream=stream,
        opening=parent.opening,
        model=parent.model,
        messages=messages,
        mode=parent.mode,
        approved=parent.approved,
        plan_mode_noted=parent.plan_mode_noted,
        unplanned=parent.unplanned,
        outside=parent.outside,
        typed=parent.typed,
    )


def is_session(stream: str) -> bool:
    """Whether that is the name of a session's stream."""
    return stream.startswith(PREFIX)


def stream_of(session: str) -> str:
    """The stream of the lineage whose first session has that id."""
    return f"{PREFIX}{session}"


def lineage_of(stream: str) -> str:
    """The id of the first session in the lineage of that stream."""
    return stream.removeprefix(PREFIX)


def running_turn(session: Session) -> Turn:
    """The running turn. It exists whenever one of its steps is due."""
    assert session.current is not None, f"{session.stream} has no running turn at version {session.version}"
    return session.current


def compression_of(session: Session) -> Compression:
    """The due or running compression. It exists whenever one of its steps is due."""
    assert session.compression is not None, f"{session.stream} is not being compressed at {session.version}"
    return session.compression


def require_open_turn(session: Session, turn_id: str) -> Turn:
    """The turn if it runs or waits. Raises `Rejected`, kind `already_ended` or `unknown_turn`."""
    ended = session.ended.get(turn_id)
    if ended is not None:
        raise Rejected(f"Turn {turn_id} has already {ended.past}.", kind="already_ended")
    turn = session.find(turn_id)
    if turn is None:
        raise Rejected(f"There is no turn {turn_id} in session {session.id}.", kind="unknown_turn")
    return turn


def not_ended(session: Session, turn_id: str, kind: str = "not_ended") -> Rejected:
    """The error for a turn that has to end first: it waits for the user, runs, or has not begun."""
    turn, hint = session.find(turn_id), "Wait for it, or cancel it"
    how = "it is still running" if session.current is turn else "it waits for the turn before it"
    if turn is not None and any(call.waits_for_person for call in turn.calls):
        how, hint = "it waits for your answer", f"See hermes-jobs turns show {turn_id}, or cancel it"
    return Rejected(
        f"Turn {turn_id} has not ended: {how}.", kind=kind, hint=f"{hint}: hermes-jobs turns cancel {turn_id}"
    )


def require_no_children(session: Session) -> None:
    """Raise `Rejected`, kind `busy`, while children of the session are running."""
    if session.children:
        names = ", ".join(child.ref.session for child in session.children)
        raise Rejected(
            f"Sub-agents of session {session.id} are still at work: {names}.",
            kind="busy",
            hint=f"Wait for them, or cancel one: hermes-jobs turns cancel {session.children[0].ref.turn}",
        )


def replace_turn(session: Session, turn: Turn) -> Session:
    """The session with its running or waiting turn of that id replaced."""
    if session.current is not None and session.current.id == turn.id:
        return replace(session, current=turn)
    return replace(
        session, waiting=tuple(turn if other.id == turn.id else other for other in session.waiting)
    )


def append_messages(session: Session, turn: Turn, *messages: Message) -> Session:
    """The session with these messages appended, and with that running turn."""
    return replace(session, current=turn, messages=(*session.messages, *messages))


def usage_recorded(session: Session, turn: Turn) -> UsageRecorded:
    """The turn's unrecorded usage, as an event."""
    tally = turn.tally
    return UsageRecorded(
        turn=turn.id,
        model=turn.model or session.model or "",
        **asdict(tally.usage),
        cost_usd=tally.cost_usd,
        num_model_calls=tally.num_model_calls,
        num_tool_calls=tally.num_tool_calls,
        estimated=tally.estimated,
        estimated_cost_usd=tally.estimated_cost_usd,
    )


def workdir_of(session: Session) -> str:
    """The session's working folder; empty where it has none."""
    return (session.started.workdir if session.started else None) or ""
