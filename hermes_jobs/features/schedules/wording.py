"""Sentences that the rules do not understand: a model proposes a timing, which the rules parse.

The response's usage is always recorded in the log: in the stream of its schedule.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.schedules.events import ScheduleWorded
from hermes_jobs.features.schedules.rules.schedule import stream_of
from hermes_jobs.kernel.engine.ports import ModelError, Reply
from hermes_jobs.kernel.engine.ports.model import bill
from hermes_jobs.kernel.streams.decision import append
from hermes_jobs.text.figures import money
from schedules.phrases import Refused, TimingProposal, Understood, may_ask, verify_proposal

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class Interpretation(NamedTuple):
    """What the sentence means, and what to tell the person about the model that was asked."""

    timing: Understood | Refused
    notes: tuple[str, ...] = ()


def interpret(
    application: Application, sentence: str, refused: Refused, *, schedule: str, zone: str, now: float
) -> Interpretation:
    """Have a model interpret the sentence, if one is configured and may help.

    `schedule` is the id of its schedule, empty for a preview.
    """
    settings = application.settings
    if settings.rehearsal or not may_ask(refused):
        return Interpretation(refused)
    from hermes_jobs.llm.interpreter import ModelInterpreter

    moment = datetime.fromtimestamp(now, UTC)
    interpreter = ModelInterpreter(application.model, settings.main_model.model)
    try:
        proposal = interpreter.propose(sentence, moment, zone)
    except ModelError as error:
        note = f"The rules did not understand it, and the model could not be asked: {error.message}"
        return Interpretation(refused, (note,))
    notes: tuple[str, ...] = ()
    if interpreter.reply is not None:
        schedule = schedule or application.ids.name("p")
        notes = _record_usage(application, schedule, sentence, proposal, interpreter.reply)
    return Interpretation(verify_proposal(sentence, refused, proposal, moment, zone), notes)


def _record_usage(
    application: Application, schedule: str, sentence: str, proposal: TimingProposal | None, reply: Reply
) -> tuple[str, ...]:
    billed = bill(reply, application.settings.main_model.model, application.endpoints.by_name)
    event = ScheduleWorded(
        schedule=schedule,
        said=sentence,
        proposed=(proposal.timing if proposal else None) or "",
        model=billed.model,
        usage=reply.usage,
        cost_usd=billed.cost_usd,
    )
    notes: tuple[str, ...] = ()
    try:
        application.engine().change(append(stream_of(schedule), event), "schedule wording")
    except LogUnavailable as error:
        notes = (f"What the model was asked could not be booked: {error}",)
    cost = "cost unknown" if billed.cost_usd is None else money(billed.cost_usd)
    return (*notes, f"The rules did not understand it; {billed.model} was asked ({cost}).")
