"""Events of the stream `api-keys`: the keys with which programs use `serve`."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event

STREAM = "api-keys"
SOURCE = "api:"
"""Prefix of the `source` of turns, and of the author of decisions, that a key has sent."""
Scope = Literal["chat", "read", "approve", "manage", "mcp", "hooks"]


class ApiKeyAdded(Event, frozen=True, kw_only=True):
    """A key was made. `digest`: the SHA-256 of its text in hex; the text itself is stored nowhere.

    `budget_usd`: the most that its turns may spend in a calendar month; None: no limit of its own.
    """

    key: str
    digest: str
    scopes: tuple[Scope, ...]
    by: str
    at: float
    budget_usd: float | None = None


class ApiKeyRevoked(Event, frozen=True, kw_only=True):
    """The key is refused from now on."""

    key: str
    by: str


class ApiKeyBudgetChanged(Event, frozen=True, kw_only=True):
    """The key's turns may spend so much in a calendar month from now on; None: no limit of its own."""

    key: str
    by: str
    budget_usd: float | None = None


ApiKeyEvent = ApiKeyAdded | ApiKeyRevoked | ApiKeyBudgetChanged
