"""Events of the session itself: how it began, and what it is called, asked with, and busy with."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event

SessionKind = Literal["conversation", "review", "scheduled", "subagent"]
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class Opening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the first text of a new session fixes for all of it."""

    kind: SessionKind = "conversation"
    model: str | None = None
    system: str | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None
    title: str | None = None


class SessionStarted(Event, frozen=True, kw_only=True):
    """The frozen prompt. With `parent` and `at` the session goes on from the parent's version `at`."""

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
    """The session has a title, by a person or a model."""

    session: str
    title: str


class SessionEnded(Event, frozen=True, kw_only=True):
    """The session takes no more turns; `reason` is who or what ended it."""

    session: str
    reason: str


class ModelChanged(Event, frozen=True, kw_only=True):
    """Turns from here on are answered by `model`."""

    session: str
    model: str


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the agent has set itself to do; `id` is its own."""

    id: str
    text: str
    status: TodoStatus = "pending"


class TodosWritten(Event, frozen=True, kw_only=True):
    """The agent's whole list, as it is from now on."""

    session: str
    items: tuple[Todo, ...]
