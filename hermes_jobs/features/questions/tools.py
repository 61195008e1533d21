"""The toolset `ask`: questions, and plans that a person accepts, changes or refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hermes_jobs.features.questions.asking import Asking
from hermes_jobs.features.questions.planning import Planning
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.tools.tool import Arguments, CallRules, Tool, tool

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

TOOLSET = "ask"


class ChangesNothing(CallRules):
    """A call that only asks is allowed in plan mode."""

    def only_reads(self, arguments: Arguments, context: ToolContext) -> bool | None:
        return True


def question_tools(application: Application) -> Iterator[Tool]:
    """The tools, as configured."""
    asking = Asking(clock=application.clock, unattended=application.settings.ask.unattended)
    make = tool(toolset=TOOLSET, effect="idempotent", rules=ChangesNothing(), offered=asking.is_offered)
    yield make(asking.ask_user)
    planning = Planning(asking=asking)
    make = tool(toolset=TOOLSET, effect="idempotent", rules=ChangesNothing(), offered=planning.is_offered)
    yield make(planning.propose_plan)
    yield make(planning.enter_plan_mode)
