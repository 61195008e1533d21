"""What holds lasting calls, as configured, and the line about those that wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_jobs.features.holding import events as e
from hermes_jobs.features.holding import rules
from hermes_jobs.features.holding.words import about, replaced, whole
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.feature import Decidable
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.moments import day_of

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.holding.tables import HeldView
    from hermes_jobs.tools.tool import Hold

NOUNS = {"memory": "note", "skill_manage": "change of skills", "schedule": "change of schedules"}
PLURALS = {"skill_manage": "changes of skills", "schedule": "changes of schedules"}
SHOWN = 3
"""Held calls that a line names."""


def holding(application: Application) -> Hold:
    """The rule for lasting calls."""
    from hermes_jobs.tools.tool import Hold

    settings, clock = application.settings, application.clock

    def waits(texts: Sequence[str], context: ToolContext) -> str:
        if not settings.learning.hold or context.confirmed_by:
            return ""
        must_wait = rules.must_wait(texts, outside=context.outside, typed=context.typed)
        return rules.QUESTION.format(origins=", ".join(context.outside)) if must_wait else ""

    def instead(call: ToolCall, context: ToolContext, change: Decision) -> Decision:
        now = clock.now()
        held = _held(call, context, now)
        return rules.Hold(call=held, change=change, day=day_of(now, settings.zone), now=now)

    return Hold(waits, instead)


def _held(call: ToolCall, context: ToolContext, now: float) -> e.CallHeld:
    return e.CallHeld(
        held=rules.id_of(call.name, call.arguments),
        tool=call.name,
        arguments=call.arguments,
        outside=context.outside,
        expires_at=now + rules.DAYS * 86_400,
        session=context.session,
        lineage=context.lineage,
        turn=context.turn,
        call=context.call,
        author=context.author,
        provisional=context.provisional,
        source=context.source,
        deliver=context.deliver,
        workdir=context.workdir,
    )


def waiting(application: Application, since: str = "") -> str:
    """A line about the calls that wait, if one was held after that moment; empty if there is none."""
    from hermes_jobs.features.holding import api

    if since and not api.held(application, since=since):
        return ""
    found = api.held(application)
    if not found:
        return ""
    verb = "waits" if len(found) == 1 else "wait"
    return f"{_counted(found)} {verb} for you: {_named(found)} (hermes-jobs held list){_refused(application)}"


def deciding(application: Application) -> Sequence[Decidable]:
    """The calls that wait, newest first."""
    from hermes_jobs.features.holding import api

    return tuple(_decidable(application, each) for each in api.held(application))


def _decidable(application: Application, held: HeldView) -> Decidable:
    from hermes_jobs.features.holding import api

    goes = [f"The entry that goes: {entry}" for entry in replaced(application, held)]
    return Decidable(
        id=held.held,
        title=f"The agent asks for: {about(held)}",
        text="\n\n".join((whole(held), *goes)),
        about=f"after reading {', '.join(held.outside)}",
        turn=held.turn,
        expires_at=held.expires_at,
        acts={
            "Keep": lambda by: api.keep(application, held.held, by=by),
            "Drop": lambda by: api.drop(application, held.held, by=by),
        },
    )


def _refused(application: Application) -> str:
    from hermes_jobs.features.holding import api

    if not (number := api.refused_today(application)):
        return ""
    verb = "was" if number == 1 else "were"
    limits = f"at most {rules.MOST_OF_TURN} of a turn and {rules.MOST_OF_DAY} of a day wait"
    return f"; {number} more of today {verb} refused: {limits}"


def _counted(found: Sequence[HeldView]) -> str:
    counts = Counter(each.tool for each in found)
    parts = [pluralize(counts[tool], NOUNS.get(tool, tool), PLURALS.get(tool, "")) for tool in sorted(counts)]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _named(found: Sequence[HeldView]) -> str:
    names = [about(each) for each in found[:SHOWN]]
    return ", ".join((*names, *(["…"] if len(found) > SHOWN else [])))
