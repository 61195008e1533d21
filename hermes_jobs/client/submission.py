"""Turns as the command line, chats and programs submit and resume them: with which settings and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes_jobs.errors import Misconfigured
from hermes_jobs.kernel.events import Opening, TurnResumed, TurnSubmitted
from hermes_jobs.kernel.turns.commands import EndWait, ResumeTurn, SessionCommand
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.settings.turn_settings import TurnSettings

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


def submission(
    turn: TurnSubmitted, opening: Opening, settings: TurnSettings, *, is_first: bool
) -> TurnSubmitted:
    """The turn under those settings. The first one of a session opens it so; of another one, the opening's
    model, toolsets and mode are its own, and its folder and system prompt have no effect."""
    carried = replace(turn, settings=settings.values, requires=settings.requires)
    if is_first:
        return replace(carried, opening=opening)
    return replace(carried, model=opening.model, toolsets=opening.toolsets, mode=opening.mode)


def resumption(
    application: Application,
    turn: str,
    carried: TurnSettings | None = None,
    *,
    model: str | None = None,
    budget_usd: float | None = None,
    by: str = "user",
    only_stopped: bool = False,
) -> ResumeTurn:
    """The command that resumes a turn, by another model or ensemble where one is named; `carried` is laid
    over the settings that it was sent with."""
    carried = carried or TurnSettings()
    name = application.settings.ensemble_name(model) if model else None
    ensemble = None if name is None else application.settings.models.ensembles[name]
    return ResumeTurn(
        TurnResumed(
            turn=turn,
            by=by,
            budget_usd=budget_usd,
            model=(model or "") if ensemble is None else ensemble.aggregator,
            settings=carried.values,
            requires=carried.requires,
            ensemble=name or "",
            members=() if ensemble is None else ensemble.members,
        ),
        only_stopped=only_stopped,
    )


def retrial(application: Application, submitted: Submitted, resumed: ResumeTurn) -> SessionCommand:
    """The command that resumes a turn so, or ends its wait where it waits for a quota or a server."""
    turn = application.engine().sessions.load(submitted.stream).find(submitted.turn)
    if turn is None or not turn.waits_until:
        return resumed
    return EndWait(turn=submitted.turn, by=resumed.resumed.by, model=resumed.resumed.model)


def settings_for_workers(application: Application, model: str | None) -> TurnSettings:
    """What this process's environment sets for a turn that live workers run, if there are any.

    Raises `Misconfigured` if they lack some of it.
    """
    settings = application.travelling(model)
    workers = application.workers
    if workers.are_live() and not workers.are_live(settings.requires):
        names = ", ".join(workers.lacking(settings.requires))
        raise Misconfigured(
            f"The workers do not have what is set for this process ({names}).",
            hint="Put it into .env or config.yaml in the home, which the workers read again.",
        )
    return settings
