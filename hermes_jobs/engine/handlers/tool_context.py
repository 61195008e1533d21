"""The context of a tool call: its session, folder and toolsets."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.tool_results import UNLIMITED
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.engine.ports import ToolContext


def tool_context(session: Session, turn: Turn, call: str) -> ToolContext:
    """The context of a call of the turn."""
    return ToolContext(
        session=session.id,
        turn=turn.id,
        call=call,
        workdir=workdir_of(session),
        attended=turn.attended,
        todos=session.todos,
        source=turn.source,
        deliver=turn.deliver,
        author=call_purpose(session),
        lineage=session.lineage,
        result_chars=turn.result_chars or UNLIMITED,
    )


def call_purpose(session: Session) -> Literal["turn", "review"]:
    """The purpose of the session's model calls."""
    return "review" if session.is_review else "turn"


def toolsets_of(session: Session, turn: Turn) -> tuple[str, ...] | None:
    """The turn's own toolsets, else the session's, else None for the configured ones."""
    return turn.toolsets or (session.started.toolsets if session.started else None)


def workdir_of(session: Session) -> str:
    """The session's working folder; empty where it has none."""
    return (session.started.workdir if session.started else None) or ""
