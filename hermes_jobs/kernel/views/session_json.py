"""The JSON of a session. The names are part of the public interface."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_jobs.kernel.events import SessionKind
from hermes_jobs.kernel.views.children import Place
from hermes_jobs.kernel.views.models import MessageView, SessionStatus, SessionView
from hermes_jobs.kernel.views.turn_json import UsageJson, usage_json


class SessionJson(msgspec.Struct, frozen=True, kw_only=True):
    """A session as scripts see it: the fields of `SessionView`, with its sums."""

    session: str
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
    started_at: str
    last_at: str
    undone_into: str | None
    root: str | None
    place: Place | None
    num_model_calls: int
    usage: UsageJson
    cost_usd: float | None


class ShownSessionJson(SessionJson, frozen=True, kw_only=True):
    """The same with its messages."""

    messages: tuple[MessageView, ...]


def session_json(session: SessionView) -> SessionJson:
    """The session as `sessions list --json` prints it."""
    return SessionJson(**_fields(session))


def shown_session_json(session: SessionView, messages: tuple[MessageView, ...]) -> ShownSessionJson:
    """The session as `sessions show --json` prints it."""
    return ShownSessionJson(**_fields(session), messages=messages)


def _fields(session: SessionView) -> dict[str, Any]:
    fields = msgspec.structs.asdict(session)
    totals = session.totals
    del fields["id"], fields["totals"]
    return {
        "session": session.id,
        **fields,
        "num_model_calls": totals.num_model_calls,
        "usage": usage_json(totals.usage),
        "cost_usd": totals.cost_usd,
    }
