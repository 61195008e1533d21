"""Sentences that the rules do not understand: a model proposes a timing, which the rules parse.

The response's usage is always recorded in the log: in the stream of its schedule.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.text.figures import money
from schedules.phrases import Refused, TimingProposal, Understood, may_ask, verify_proposal

if TYPE_CHECKING:
    from hermes_jobs.kernel.engine.ports import Reply


def interpret(
    context: CliContext, sentence: str, refused_timing: Refused, *, schedule: str, zone: str, now: float
) -> Understood | Refused:
    """Have a model interpret the sentence, if one is configured and may help.

    `schedule` is the id of its schedule, empty for a preview.
    """
    if context.settings.rehearsal or not may_ask(refused_timing):
        return refused_timing
    from hermes_jobs.kernel.engine.ports import ModelError
    from hermes_jobs.llm.interpreter import ModelInterpreter

    application = context.application
    moment = datetime.fromtimestamp(now, UTC)
    interpreter = ModelInterpreter(application.model, context.settings.main_model.model)
    try:
        proposal = interpreter.propose(sentence, moment, zone)
    except ModelError as error:
        note(f"The rules did not understand it, and the model could not be asked: {error.message}")
        return refused_timing
    if interpreter.reply is not None:
        _record_usage(context, schedule or application.ids.name("p"), sentence, proposal, interpreter.reply)
    return verify_proposal(sentence, refused_timing, proposal, moment, zone)


def _record_usage(
    context: CliContext, schedule: str, sentence: str, proposal: TimingProposal | None, reply: Reply
) -> None:
    from hermes_jobs.features.schedules.events import ScheduleWorded
    from hermes_jobs.features.schedules.rules.schedule import stream_of
    from hermes_jobs.kernel.engine.ports.model import bill
    from hermes_jobs.kernel.streams.decision import append

    settings, application = context.settings, context.application
    billed = bill(reply, settings.main_model.model, application.endpoints.by_name)
    event = ScheduleWorded(
        schedule=schedule,
        said=sentence,
        proposed=(proposal.timing if proposal else None) or "",
        model=billed.model,
        usage=reply.usage,
        cost_usd=billed.cost_usd,
    )
    try:
        application.engine().change(append(stream_of(schedule), event), "schedule wording")
    except LogUnavailable as error:
        note(f"What the model was asked could not be booked: {error}")
    text = "cost unknown" if billed.cost_usd is None else money(billed.cost_usd)
    note(f"The rules did not understand it; {billed.model} was asked ({text}).")
