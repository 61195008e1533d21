"""Tools for replays: those that only read, and ask no model; no other one can be run through this."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.domain.approval_rules import ApprovalRule
from hermes_jobs.domain.session.messages import ToolCall
from hermes_jobs.domain.session.session import Session, running_turn
from hermes_jobs.engine.handlers.tool_context import tool_context, toolsets_of, workdir_of
from hermes_jobs.engine.ports import Cancel, Toolbox


class ReadTools:
    """`pays(call)`: whether a call asks a model. `rules()` are the standing rules in force for tool calls."""

    def __init__(
        self,
        toolbox: Toolbox,
        pays: Callable[[ToolCall], bool],
        rules: Callable[[], tuple[ApprovalRule, ...]],
    ) -> None:
        self._toolbox = toolbox
        self._pays = pays
        self._rules = rules

    def __call__(self, session: Session, call: ToolCall, cancel: Cancel) -> str | None:
        """What the tool answers now, in the session's folder; None where it does more than read, asks a
        model, or would have to ask a person."""
        turn, toolbox = running_turn(session), self._toolbox.of(session)
        (plan,) = toolbox.plan("replay", (call,), workdir_of(session))
        if plan.effect != "read" or self._pays(call):
            return None
        context = tool_context(session, turn, plan.call, self._rules())
        if toolbox.verdict(call, context).decision != "allow":
            return None
        outcome = toolbox.run(call, context, toolsets_of(session, turn), cancel)
        has_effect = outcome.change is not None or outcome.facts or outcome.delegated is not None
        return None if has_effect or outcome.interrupted or outcome.invalid else outcome.content
