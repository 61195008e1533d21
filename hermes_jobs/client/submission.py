"""What a turn is asked with, and the commands that submit it and resume it: for the command line, chats and
programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import Misconfigured
from hermes_jobs.kernel.events import BusyPolicy, CallPattern, Mode, Opening, TurnResumed, TurnSubmitted
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.commands import EndWait, ResumeTurn, SessionCommand
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.settings.turn_settings import TurnSettings

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A text for the agent. `session`: the lineage that it continues; None: a new session, whose lineage
    `begins` names.

    `workdir` and `system` are those of a new session; `model`, `toolsets` and `mode` of a new session, in an
    existing one of this turn only. `schema`: the JSON Schema of the answer. `deliver`: the targets that get
    the answer besides. `client_data`: see `TurnSubmitted`.
    """

    text: str
    source: str
    session: str | None = None
    begins: str | None = None
    workdir: str | None = None
    system: str | None = None
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    mode: Mode | None = None
    key: str | None = None
    if_busy: BusyPolicy | None = None
    approve: tuple[CallPattern, ...] = ()
    unattended: bool = False
    schema: str = ""
    skills: tuple[str, ...] = ()
    wants_title: bool = False
    attachments: tuple[Attachment, ...] = ()
    deliver: tuple[str, ...] = ()
    account: str = ""
    account_usd: float | None = None
    client_data: str = ""


def submission(application: Application, request: TurnRequest, settings: TurnSettings) -> TurnSubmitted:
    """The event that submits the request as a new turn under those settings."""
    name, continues = application.ids.name, request.session is not None
    return TurnSubmitted(
        turn=name("t"),
        session=request.session or request.begins or name("s"),
        text=request.text,
        source=request.source,
        key=request.key,
        if_busy=request.if_busy or application.settings.session.if_busy,
        model=request.model if continues else None,
        toolsets=request.toolsets if continues else None,
        mode=request.mode if continues else None,
        opening=None if continues else _opening(request),
        approve=request.approve,
        unattended=request.unattended,
        settings=settings.values,
        requires=settings.requires,
        answer_schema=request.schema,
        skills=request.skills,
        wants_title=request.wants_title,
        attachments=request.attachments,
        deliver=request.deliver,
        account=request.account,
        account_usd=request.account_usd,
        client_data=request.client_data,
    )


def _opening(request: TurnRequest) -> Opening:
    return Opening(
        model=request.model,
        system=request.system,
        workdir=request.workdir,
        toolsets=request.toolsets,
        mode=request.mode,
    )


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


def settings_for_workers(
    application: Application, model: str | None, variables: Mapping[str, str] | None = None
) -> TurnSettings:
    """What this process's environment sets for a turn that live workers run, if there are any.

    Raises `Misconfigured` if they lack some of it.
    """
    settings = application.travelling(model, variables)
    workers = application.workers
    if workers.are_live() and not workers.are_live(settings.requires):
        names = ", ".join(workers.lacking(settings.requires))
        raise Misconfigured(
            f"The workers do not have what is set for this process ({names}).",
            hint="Put it into .env or config.yaml in the home, which the workers read again.",
        )
    return settings
