"""Events of the session itself: start, title, model, todo list, end."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event

SessionKind = Literal["conversation", "review", "scheduled", "subagent"]
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Opening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a new session that are fixed by its first text."""

    kind: SessionKind = "conversation"
    model: str | None = None
    system: str | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None
    title: str | None = None


class SessionStarted(Event, frozen=True, kw_only=True):
    """The session started with a frozen system prompt. With `parent` and `at` it continues the parent's
    history up to version `at`.
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


class SessionTitled(Event, frozen=True, kw_only=True):
    """The session got a title, from a user or a model."""

    session: str
    title: str


class SessionEnded(Event, frozen=True, kw_only=True):
    """The session accepts no more turns; `reason` is the author or cause."""

    session: str
    reason: str


class ModelChanged(Event, frozen=True, kw_only=True):
    """Turns from here on use `model`."""

    session: str
    model: str


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the agent's todo list; `id` is the agent's own."""

    id: str
    text: str
    status: TodoStatus = "pending"


class TodosWritten(Event, frozen=True, kw_only=True):
    """The agent's whole todo list was replaced."""

    session: str
    items: tuple[Todo, ...]
