"""The views' results: frozen values with the user interface's names. Moments are ISO 8601, UTC."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.kernel.engine.ports.conversation_search import Role
from hermes_jobs.kernel.events import InputAction, InputRequested, SessionKind
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.stops import STOPPED
from hermes_jobs.kernel.views.children import Place

TurnStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "merged"]
StatusFilter = TurnStatus | Literal["stopped"]
"""Filters for turns: their status, or an early end by a limit."""
SessionStatus = Literal["idle", "queued", "running", "waiting", "ended"]
StepKind = Literal["model_call", "reference", "tool_call"]
Outcome = Literal[
    "waiting",
    "approved",
    "answered",
    "running",
    "ok",
    "error",
    "failed",
    "denied",
    "held",
    "interrupted",
    "abandoned",
    "discarded",
]


ANSWERED: dict[InputAction, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
"""The state of a server's question."""


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of responses; `cost_usd` is None if one of them is unknown.

    `known_cost_usd` is the sum of the others.
    """

    usage: Usage
    cost_usd: float | None
    num_model_calls: int
    known_cost_usd: float = 0.0


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a model call, a call of an ensemble's member, or a tool call.

    `name` is the tool, the model that answered, or the member. `started_at` None: it never started (it waits
    for an approval, was denied or cancelled before). `outcome`: `waiting` for a person, `approved` or
    `answered` and not started, `running`; `ok`; `error` (a tool's own answer), `failed` (a model call),
    `denied`, `held` (it waits for a person beyond its turn), `interrupted`; `abandoned` by a worker that
    crashed or left, and `discarded` if that worker's outcome arrived too late. `message` says why. `asks`:
    the unanswered questions of its server.
    """

    kind: StepKind
    id: str
    name: str
    arguments: str
    attempt: int
    worker: str | None
    started_at: str | None
    ended_at: str | None
    outcome: Outcome
    message: str
    finish_reason: str
    totals: UsageTotals
    asks: InputRequested | None = None


class TurnFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a turn failed."""

    kind: str
    message: str
    hint: str


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. `lineage` names its stream, `session` the lineage's tip at the moment it was submitted.

    A merged turn's answer and error are those of the turn `into` which it was merged. `began_waiting_at` is
    when it was submitted, or resumed; `seen_at` the time of its newest event. `waits_until`: the reset of the
    quota that it waits for, or the next attempt; `waits_for`: why it could not begin, empty for a quota.
    `stopped_by` is the limit that ended it early, `budget` or `schema` where that made it fail. `has_schema`:
    its answer is a JSON document that fits the schema that came with its text. `warnings`: the limits that
    were nearly used up in it, a sentence for each. `files`: those that it delivers. `position` is that of the
    event that submitted it. `compressed`: the history was compressed during it. `ensemble`: the one whose
    members were called first; empty for none. `place`: the place of a sub-agent's turn in its tree. `rating`:
    a user's rating, `up` or `down`; `labels`: those of users.
    """

    id: str
    position: int
    lineage: str
    session: str
    text: str
    source: str
    status: TurnStatus
    model: str
    into: str | None
    answer: str | None
    error: TurnFailure | None
    stopped_by: str | None
    compressed: bool
    cancelled_by: str | None
    submitted_at: str
    began_waiting_at: str
    begun_at: str | None
    ended_at: str | None
    seen_at: str
    totals: UsageTotals
    num_tool_calls: int
    waits_until: str | None = None
    waits_for: str = ""
    warnings: tuple[str, ...] = ()
    files: tuple[Attachment, ...] = ()
    has_schema: bool = False
    ensemble: str = ""
    place: Place | None = None
    rating: str | None = None
    rating_note: str = ""
    labels: tuple[str, ...] = ()
    steps: tuple[StepView, ...] = ()

    @property
    def stream(self) -> str:
        """The stream that holds its events."""
        return stream_of(self.lineage)

    @property
    def status_word(self) -> str:
        """Its status for users; an end by a limit has its own."""
        return STOPPED if self.stopped_by and self.status in {"completed", "failed"} else self.status


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A lineage of sessions: its newest session, and the counts of the whole lineage.

    `preview` is the beginning of its first text. `parent` is the session that it works for; with `at` the
    one that it was forked from, at that event of its stream. `root` and `place` are those of a sub-agent,
    whose parent is the one that began it. `workdir` is the folder that its tools work in.
    `undone_into`: the one in which the user continued after undoing a turn here.
    """

    id: str
    lineage: str
    parent: str | None
    at: int | None
    kind: SessionKind
    source: str
    workdir: str | None
    title: str | None
    preview: str
    model: str
    status: SessionStatus
    ended_because: str | None
    num_turns: int
    num_messages: int
    totals: UsageTotals
    started_at: str
    last_at: str
    undone_into: str | None = None
    root: str | None = None
    place: Place | None = None

    @property
    def status_word(self) -> str:
        """Its status for users; an undone session is idle and is not continued."""
        return "undone" if self.undone_into and self.status == "idle" else self.status

    @property
    def stream(self) -> str:
        """The stream that holds its events."""
        return stream_of(self.lineage)

    @property
    def label(self) -> str:
        """Its name in a list."""
        return self.title or self.preview or (f"(fork of {self.parent})" if self.at else "")


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """A message. `name` and `arguments` are those of the call that a tool's message answers.

    `position` is that of its event; `kept`: the whole text is in `results/CALL.txt`.
    """

    position: int
    session: str
    turn: str
    role: Role
    content: str
    call: str | None
    name: str | None
    arguments: str | None
    at: str
    kept: bool = False


class GenerationStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One file of views. `behind` counts positions of the log that it has not applied; `size` is in bytes.

    `problem` says why it cannot be read; then its other figures are zero.
    """

    file: str
    current: bool
    position: int
    behind: int
    size: int
    rows: dict[str, int]
    problem: str | None = None


class ViewsStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the read models. `stopped` says why they cannot follow the log to its end."""

    last_position: int
    generations: tuple[GenerationStatus, ...]
    stopped: str | None
