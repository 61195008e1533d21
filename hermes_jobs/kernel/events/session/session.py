"""Events of the session itself: start, title, model, todo list, end; and its listeners' cursors."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.kernel.events.approval import Mode
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.session.delegation import Delegation
from hermes_jobs.kernel.events.session.review import VerifyMode
from hermes_jobs.kernel.streams.field_kinds import NAME

SessionKind = Literal["conversation", "review", "scheduled", "child", "subagent"]
"""`subagent`: never started here; imported logs may have it."""
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class McpCatalogue(msgspec.Struct, frozen=True, kw_only=True):
    """The digest of a server's listing: a session keeps those that it began with."""

    server: str
    digest: str


class Opening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a new session that are fixed by its first text. `delegation`: its place below a parent."""

    kind: SessionKind = "conversation"
    model: str | None = None
    system: str | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None
    title: str | None = None
    mode: Mode | None = None
    delegation: Delegation | None = None


class SessionStarted(Event, frozen=True, kw_only=True):
    """The session started with a frozen system prompt. With `parent` and `at` it continues the parent's
    history up to version `at`. `mcp`: the listings of MCP servers whose tools it has; `mcp_away`: why it
    does not have those of others; `mcp_search`: the model searches for these tools. `verify`: how what a
    review saves is verified. `small_window`: the window, in tokens, for which it has few tools.
    """

    session: str
    kind: SessionKind
    source: str
    model: str
    system_prompt: str
    parent: str | None = None
    at: int | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None
    mcp: tuple[McpCatalogue, ...] = ()
    mcp_away: tuple[str, ...] = ()
    mcp_search: bool = False
    verify: VerifyMode = "off"
    small_window: int | None = None


class SessionTitled(Event, frozen=True, kw_only=True):
    """The session got a title, from a user or a model."""

    session: str
    title: str


class SessionEnded(Event, frozen=True, kw_only=True):
    """The session accepts no more turns; `reason` is the author or cause."""

    session: str
    reason: Annotated[str, NAME]


class SessionRested(Event, frozen=True, kw_only=True):
    """The session has nothing to do from `at` on, in seconds since the epoch: recorded after `turn`, if the
    lifetime of its cached prompt or its compression depends on how long it rests.
    """

    turn: str
    at: float


class SessionUndone(Event, frozen=True, kw_only=True):
    """The session's last turn was undone: the user continues in `into`, to which the title belongs now."""

    session: str
    into: str


class ModelChanged(Event, frozen=True, kw_only=True):
    """Turns from here on use `model`."""

    session: str
    model: str


class ModeChanged(Event, frozen=True, kw_only=True):
    """A user changed what the agent may do without asking, from here on.

    `turn`: the running turn that proposed it, whose own mode is changed instead, if it has one.
    """

    session: str
    mode: Mode
    by: str
    turn: str = ""


class RightsWithdrawn(Event, frozen=True, kw_only=True):
    """The session came from elsewhere: what may run in it without asking, and the settings that its turns
    brought along, were withdrawn."""

    session: str
    by: str


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the agent's todo list; `id` is the agent's own."""

    id: str
    text: str
    status: TodoStatus = "pending"


class TodosWritten(Event, frozen=True, kw_only=True):
    """The agent's whole todo list was replaced."""

    session: str
    items: tuple[Todo, ...]


class ListenerTold(Event, frozen=True, kw_only=True):
    """A listener was notified of the stream's events up to version `upto`. `message`: the error of the next
    event, which is retried at `retry_at`, or skipped where that is not set.
    """

    listener: str
    upto: int
    attempt: int = 1
    message: str = ""
    retry_at: float | None = None
