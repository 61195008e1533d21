"""What the views answer with: frozen values, named as people name things. Moments are ISO 8601, UTC."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events import SessionKind
from hermes_jobs.domain.session.session import stream_of
from hermes_jobs.domain.usage import Usage
from hermes_jobs.engine.ports.conversation_search import Role

TurnStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled", "merged"]
SessionStatus = Literal["idle", "queued", "running", "waiting", "ended"]
StepKind = Literal["model_call", "tool_call"]
Outcome = Literal[
    "waiting",
    "approved",
    "running",
    "ok",
    "error",
    "failed",
    "denied",
    "interrupted",
    "abandoned",
    "discarded",
]


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of responses; `cost_usd` None where the price of one of them is not known."""

    usage: Usage
    cost_usd: float | None
    num_model_calls: int


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at a model call or a tool call.

    `name` is the tool, or the model that answered. `started_at` None: it was never begun (it waits for an
    approval, was denied or cancelled before).
    `outcome`: `waiting` for an approval, `approved` and not yet begun, `running`; `ok`; `error` (a tool's own
    answer), `failed` (a model call), `denied`, `interrupted`; `abandoned` by a worker that died or left, and
    `discarded` where that worker's outcome came too late. `message` says why.
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
    books: UsageTotals


class TurnFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a turn failed."""

    kind: str
    message: str
    hint: str


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. `lineage` names its stream, `session` the lineage's tip at the moment it was submitted.

    A merged turn's answer and error are those of the turn `into` which it was merged.
    `began_waiting_at` is when it was submitted, or resumed; `seen_at` the time of its newest event.
    `waits_until`: when the quota resets that it waits for.
    `position` is that of the event that submitted it. `compressed`: the history was, on its way.
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
    books: UsageTotals
    num_tool_calls: int
    waits_until: str | None = None
    steps: tuple[StepView, ...] = ()

    @property
    def stream(self) -> str:
        """The stream that holds its events."""
        return stream_of(self.lineage)


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A lineage of sessions: what its tip is, and the whole lineage's counts.

    `preview` is the beginning of its first text. `parent` is the session that it works for; with `at` the
    one that it was forked from, at that event of its stream.
    """

    id: str
    lineage: str
    parent: str | None
    at: int | None
    kind: SessionKind
    source: str
    title: str | None
    preview: str
    model: str
    status: SessionStatus
    ended_because: str | None
    num_turns: int
    num_messages: int
    books: UsageTotals
    started_at: str
    last_at: str

    @property
    def stream(self) -> str:
        """The stream that holds its events."""
        return stream_of(self.lineage)

    @property
    def label(self) -> str:
        """What to call it in a list."""
        return self.title or self.preview or (f"(fork of {self.parent})" if self.at else "")


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said. `name` and `arguments` are those of the call that a tool's message answers.

    `position` is that of the event that said it; `kept`: all of it stands in `results/CALL.txt`.
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
    """One file of views. `behind` counts positions of the log that it has not taken in; `size` is in bytes.

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
