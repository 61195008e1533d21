"""What can be done with held calls. Every function raises `LogUnavailable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.features.holding import rules
from hermes_jobs.features.holding.events import COUNTER
from hermes_jobs.features.holding.tables import HeldView, select_held, select_one_held
from hermes_jobs.text.moments import day_of

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.streams.decision import Decision

__all__ = ["HeldView", "drop", "find_held", "held", "keep", "one_held", "refused_today"]

USER = "user"


def held(application: Application, *, everything: bool = False, since: str = "") -> tuple[HeldView, ...]:
    """The calls that wait, or all that were held, newest first; those held after that moment (ISO 8601)."""
    now = application.clock.now()
    return application.views.read(select_held, now, everything=everything, since=since)


def one_held(application: Application, name: str) -> HeldView:
    """The one with that id or beginning of it. Raises `Rejected`: `ambiguous`, `unknown_held`."""
    return application.views.read(select_one_held, name, application.clock.now())


def find_held(application: Application, name: str) -> str:
    """The id of that one. Raises `Rejected`, as `one_held` does."""
    return one_held(application, name).held


def keep(application: Application, name: str, *, by: str = USER) -> HeldView:
    """Do what the call was to do, once; it, as it is then. Raises `Rejected`, also where the call cannot be
    done any more: it waits on then."""
    held, now = find_held(application, name), application.clock.now()
    rules.waiting(application.engine().state, held, now)
    change = _change_of(application, held, by)
    application.engine().change(rules.Keep(held=held, change=change, by=by, now=now), "held keep")
    application.sync_files()
    return one_held(application, held)


def drop(application: Application, name: str, *, by: str = USER) -> HeldView:
    """Do nothing of what the call was to do, now or when it is made again; it, as it is then. Raises
    `Rejected`."""
    held, now = find_held(application, name), application.clock.now()
    application.engine().change(rules.Drop(held=held, by=by, now=now), "held drop")
    return one_held(application, held)


def refused_today(application: Application) -> int:
    """How many calls of today were not held, because too many wait."""
    counter = application.engine().state(COUNTER)
    assert isinstance(counter, rules.Counter)
    day = day_of(application.clock.now(), application.settings.zone)
    return counter.refused if counter.day == day else 0


def _change_of(application: Application, held: str, by: str) -> Decision:
    """What the call does, under its own author and turn. Raises `Rejected` where it can do nothing."""
    from hermes_jobs.kernel.engine.in_flight import CancelToken
    from hermes_jobs.kernel.engine.ports import ToolContext
    from hermes_jobs.kernel.turns.messages import ToolCall

    state = application.engine().state(rules.stream_of(held))
    assert isinstance(state, rules.HeldCall)
    call = state.call
    assert call is not None, f"{state.stream} has no call"
    context = ToolContext(
        session=call.session,
        turn=call.turn,
        call=call.call,
        workdir=call.workdir,
        attended=True,
        author=call.author,
        source=call.source,
        deliver=call.deliver,
        lineage=call.lineage,
        provisional=call.provisional,
        confirmed_by=by,
    )
    tools = {each.name: each.toolset for each in application.toolbox.tools}
    request, toolsets = ToolCall("", call.tool, call.arguments), (tools.get(call.tool, ""),)
    outcome = application.toolbox.run(request, context, toolsets, CancelToken())
    if outcome.change is None:
        raise Rejected(outcome.content.removeprefix("Error: "), kind="held")
    return outcome.change
