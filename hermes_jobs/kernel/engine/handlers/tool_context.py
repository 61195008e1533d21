"""The context of a tool call: its session, folder and toolsets."""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import Mode
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule, permissions
from hermes_jobs.kernel.streams.delegation import payers_of
from hermes_jobs.kernel.turns.session import Session, workdir_of
from hermes_jobs.kernel.turns.tool_results import UNLIMITED
from hermes_jobs.kernel.turns.turn import Turn


def tool_context(
    session: Session, turn: Turn, call: str, rules: tuple[ApprovalRule, ...] = ()
) -> ToolContext:
    """The context of a call of the turn, where these rules are in force."""
    payers = payers_of(session, turn)
    place = session.delegation_of(turn.id)
    tool_call = turn.call(call)
    return ToolContext(
        session=session.id,
        turn=turn.id,
        call=call,
        workdir=workdir_of(session),
        attended=turn.is_attended,
        todos=session.todos,
        source=turn.source,
        deliver=turn.deliver,
        author=call_purpose(session),
        lineage=session.lineage,
        approved_rule=tool_call.rule if tool_call and tool_call.approval == "given" else "",
        result_chars=turn.result_chars or UNLIMITED,
        permissions=permissions(
            rules,
            mode=mode_of(session, turn),
            session=session.approved,
            turn=turn.approve,
            personal=turn.attended,
        ),
        attempt=tool_call.attempt if tool_call else 1,
        input=tool_call.stored_input if tool_call else None,
        task=tool_call.task if tool_call else None,
        is_ending=turn.cancelled_by is not None,
        depth=len(payers) - 1,
        payers=payers,
        model=turn.model or session.model or "",
        withheld=place.withheld if place else (),
        model_is_fixed=place is not None and place.model_is_fixed,
        provisional=session.started is not None and session.started.verify != "off",
        after_plan="edits" if "edits" in {session.mode, session.unplanned} else "ask",
        watched=turn.is_watched,
        outside=session.outside,
        typed=session.typed if session.outside else (),
    )


def mode_of(session: Session, turn: Turn) -> Mode:
    """The turn's own mode, else the session's."""
    return turn.mode or session.mode


def call_purpose(session: Session) -> Literal["turn", "review"]:
    """The purpose of the session's model calls."""
    return "review" if session.is_review else "turn"


def toolsets_of(session: Session, turn: Turn) -> tuple[str, ...] | None:
    """The turn's own toolsets, else the session's, else None for the configured ones."""
    return turn.toolsets or (session.started.toolsets if session.started else None)
