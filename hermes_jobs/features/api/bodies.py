"""What the paths of the plain API take: bodies and queries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hermes_jobs.client.home import SpendingKey
from hermes_jobs.kernel.events import ApprovalScope
from hermes_jobs.kernel.views.models import StatusFilter

Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=1_000)]


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """How many are listed."""

    limit: Limit = 20


class ListedTurns(Listed, frozen=True, kw_only=True):
    """Which turns are listed."""

    session: Name | None = None
    status: StatusFilter | None = None


class SentTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A text for the agent. The header `Idempotency-Key` makes one turn of repeated requests."""

    text: Text
    session: Name | None = None
    system: Text | None = None
    model: Annotated[str, Meta(max_length=200)] = ""


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """Which call is allowed, and for how long."""

    call: Name
    scope: ApprovalScope = "once"


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Which call is refused, and why."""

    call: Name
    reason: Annotated[str, Meta(max_length=10_000)] = ""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question: a text, the number of a choice (from 1), several of them, or the fields of a
    form."""

    call: Name
    key: Name | None = None
    answer: Text | int | tuple[str | int, ...] | dict[str, msgspec.Raw] | None = None
    action: Literal["accept", "decline", "cancel"] = "accept"


class Searched(Listed, frozen=True, kw_only=True):
    """What is searched for."""

    q: Name


class Titled(msgspec.Struct, frozen=True, kw_only=True):
    """A title."""

    title: Name


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """Where the copy ends: after the turn `at`, or before the turn `before`; neither: at the end."""

    at: Name | None = None
    before: Name | None = None


class AddedSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """When what is to be done: `every weekday at 9`, `in 2 hours`, or five fields of cron."""

    when: Name
    task: Text
    name: Name | None = None
    timezone: Name | None = None


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of the report, and since when: ISO 8601 with an offset."""

    by: SpendingKey = "day"
    since: datetime | None = None
