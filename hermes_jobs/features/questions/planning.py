"""`propose_plan` and `enter_plan_mode`: plan mode begins and ends by an answer of the person."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from hermes_jobs.features.questions import rules
from hermes_jobs.features.questions.asking import Asking
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import Mode, ModeChanged
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.tools.tool import ToolFailed

Plan: TypeAlias = Annotated[str, Meta(min_length=1, max_length=20_000)]
Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2_000)]


class Planning(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Proposals about plan mode, which wait as questions do."""

    asking: Asking

    def is_offered(self, session: Session) -> bool:
        """Whether the session is a person's: sub-agents have the mode of the agent that they work for. A fork
        of that agent has its tools, byte for byte."""
        kind = session.opening.kind if session.opening is not None else "conversation"
        return kind == "conversation" or (kind == "child" and session.forked_from is not None)

    def propose_plan(
        self, context: ToolContext, plan: Annotated[Plan, "The whole plan, in Markdown."]
    ) -> ToolOutcome:
        """In plan mode: propose what you would change. The user accepts, changes or refuses the plan."""
        if context.input is None:
            if context.permissions.mode != "plan":
                raise ToolFailed("this is not plan mode: do what was asked, or use enter_plan_mode first.")
            return self.asking.asked(context, rules.plan_proposal(plan), rules.PLAN_FOR_NOBODY)
        match rules.answer_of(context.input):
            case None:
                return ToolOutcome(content=rules.PLAN_OPEN)
            case rules.ACCEPT:
                return _with_mode(context, context.after_plan, rules.PLAN_ACCEPTED)
            case rules.REFUSE:
                return ToolOutcome(content=rules.PLAN_REFUSED)
            case wish:
                return ToolOutcome(content=rules.PLAN_CHANGED.format(wish=wish))

    def enter_plan_mode(
        self, context: ToolContext, reason: Annotated[Reason, "What needs a plan, and why."]
    ) -> ToolOutcome:
        """Propose to plan before you change anything: where a wrong start would cost the user much."""
        if context.input is None:
            if context.permissions.mode == "plan":
                raise ToolFailed("this is plan mode: end it with propose_plan.")
            return self.asking.asked(context, rules.planning_proposal(reason))
        if rules.answer_of(context.input) == rules.YES:
            return _with_mode(context, "plan", rules.PLANNING)
        return ToolOutcome(content=rules.NOT_PLANNING)


def _with_mode(context: ToolContext, mode: Mode, content: str) -> ToolOutcome:
    """The answer, with the change of the mode unless the user has made it already."""
    is_planning = context.permissions.mode == "plan"
    changed = ModeChanged(session=context.session, mode=mode, by="user", turn=context.turn)
    return ToolOutcome(content=content, events=(changed,) if is_planning != (mode == "plan") else ())
