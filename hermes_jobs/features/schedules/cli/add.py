"""`hermes-jobs schedule add` and `edit`: the parsed schedule is shown before it is recorded."""

from __future__ import annotations

import click
import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.schedules.cli.format import folder_of, print_plan
from hermes_jobs.features.schedules.cli.input import (
    ScheduleInput,
    changed_plan,
    parse_timing,
    plan_options,
    refusal,
)
from hermes_jobs.features.schedules.events import Plan, ScheduleAdded, ScheduleEdited
from hermes_jobs.features.schedules.rules.commands import Add, Edit
from hermes_jobs.features.schedules.rules.names import name_from, unused
from hermes_jobs.features.schedules.rules.timing import zone_of
from hermes_jobs.features.schedules.schedule_json import NEXT, schedule_json, starts
from hermes_jobs.features.schedules.tables import select_schedule, select_schedules
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.options import (
    Json,
    ScheduleId,
    example,
    yes_option,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.questions.confirmation import confirmed
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.targets import warn_of_undeliverable
from hermes_jobs.kernel.streams.decision import DecisionResult
from schedules.phrases import Refused, Understood

_YES = yes_option("Do not ask for confirmation.")
TIME_HINT = 'Give a time: "every weekday at 9", or one of --cron, --every, --at, --in.'
UNCHANGED = "Nothing to change: give an option such as --task TEXT, or a sentence."
UNNAMED = "schedule"


@command(
    "add",
    epilog=example(
        'hermes-jobs schedule add "Check my GitHub notifications every weekday at 9am and summarise them"',
        'hermes-jobs schedule add --cron "0 9 * * 1-5" --task "Read my mail" --deliver file:~/mail.md --yes',
    ),
)
@plan_options
@_YES
def add_schedule(context: CliContext, wanted: ScheduleInput, *, yes: bool, as_json: Json) -> int:
    """Add a prompt that is sent once, or repeatedly.

    SENTENCE says what to do and when. The schedule is shown with its next three runs for confirmation;
    without a terminal, --yes is required.
    """
    application = context.application
    now, schedule = application.clock.now(), application.ids.name("p")
    zone = wanted.tz or application.timezone
    zone_of(zone)
    understood = _interpret(context, wanted, schedule, zone, now)
    if understood is None:
        raise click.UsageError(TIME_HINT)
    settings = context.settings.schedules
    blank = Plan(
        name=UNNAMED,
        text="",
        kind="once",
        timing="",
        timezone=zone,
        missed=settings.missed,
        overlap=settings.overlap,
    )
    plan = _named(context, wanted, changed_plan(context, wanted, understood, blank))
    act = Add(schedule=schedule, now=now, plan=plan, wording=wanted.sentence or "")
    _show(context, act(application.engine().state))  # invalid input is refused before the confirmation
    if not confirmed("Add it?", "Nothing was added", yes=yes):
        note("Nothing was added.")
        return FAILED
    application.engine().change(act, "schedule add")
    _print_outcome(context, schedule, "is added", as_json=as_json)
    return 0


@command(
    "edit",
    epilog=example(
        'hermes-jobs schedule edit p3k9 "every day at 8"', "hermes-jobs schedule edit p3k9 --overlap queue"
    ),
)
@plan_options
@_YES
def edit_schedule(
    context: CliContext, wanted: ScheduleInput, *, schedule_id: ScheduleId, yes: bool, as_json: Json
) -> int:
    """Change a schedule's task, timing or options.

    SENTENCE replaces the timing, and the task if it contains one; the result is shown for confirmation. The
    value `none` resets --session, --model, --toolsets, --budget, --jitter, --if or --workdir.
    """
    application = context.application
    now = application.clock.now()
    schedule = application.views.find_schedule(schedule_id)
    before = application.views.read(select_schedule, schedule).plan
    zone = wanted.tz or before.timezone
    zone_of(zone)
    understood = _interpret(context, wanted, schedule, zone, now)
    plan = changed_plan(context, wanted, understood, before)
    if wanted.name is not None:
        _check_unused(context, wanted.name, schedule)
    changes = {
        name: value for name, value in msgspec.structs.asdict(plan).items() if value != getattr(before, name)
    }
    act = Edit(
        schedule=schedule,
        now=now,
        replan=lambda current: msgspec.structs.replace(current, **changes),
        wording=wanted.sentence or "",
    )
    _show(context, act(application.engine().state))
    if not confirmed("Change it?", "Nothing was changed", yes=yes or not _is_asked(wanted, before, plan)):
        note("Nothing was changed.")
        return FAILED
    application.engine().change(act, "schedule edit")
    _print_outcome(context, schedule, "is changed", as_json=as_json)
    return 0


def _is_asked(wanted: ScheduleInput, before: Plan, plan: Plan) -> bool:
    """Whether an edit is confirmed first: a sentence may be misunderstood, a command may need approval."""
    condition = plan.condition
    return wanted.sentence is not None or (
        condition is not None and bool(condition.asked) and condition != before.condition
    )


def _interpret(
    context: CliContext, inputs: ScheduleInput, schedule: str, zone: str, now: float
) -> Understood | None:
    """The parsed timing. Raises `Rejected` if neither the rules nor a model understand it."""
    parsed = parse_timing(inputs, zone, now)
    if isinstance(parsed, Refused) and inputs.sentence is not None and not inputs.no_model:
        from hermes_jobs.features.schedules.wording import interpret

        parsed, notes = interpret(
            context.application, inputs.sentence, parsed, schedule=schedule, zone=zone, now=now
        )
        for line in notes:
            note(line)
    if isinstance(parsed, Refused):
        raise refusal(parsed)
    return parsed


def _named(context: CliContext, inputs: ScheduleInput, plan: Plan) -> Plan:
    """The plan with an unused name."""
    if not plan.text.strip():
        raise Rejected(
            "The sentence has a time, but no task.",
            kind="usage",
            hint="Add the task to the sentence, or give it with --task.",
        )
    if inputs.name is not None:
        _check_unused(context, inputs.name)
        return plan
    others = [other.plan.name for other in context.application.views.read(select_schedules)]
    return msgspec.structs.replace(plan, name=unused(name_from(plan.text), others))


def _check_unused(context: CliContext, name: str, schedule: str | None = None) -> None:
    """Raise a usage error for the name of another schedule."""
    others = [
        other.plan.name for other in context.application.views.read(select_schedules) if other.id != schedule
    ]
    if unused(name, others) != name:
        raise click.BadParameter(f"there is a schedule {name!r} already.", param_hint="--name")


def _show(context: CliContext, changed: DecisionResult) -> None:
    """Show the schedule as it would be recorded."""
    if not changed.writes:
        raise click.UsageError(UNCHANGED)
    event = changed.writes[0].events[-1]
    assert isinstance(event, ScheduleAdded | ScheduleEdited), f"{event} is not a plan"
    note("Understood:")
    ahead = starts(event.schedule, event.plan, event.next_due, NEXT)
    print_plan(event.plan, ahead, folder_of(context, event.plan))


def _print_outcome(context: CliContext, schedule: str, text: str, *, as_json: bool) -> None:
    view = context.application.views.read(select_schedule, schedule)

    def outcome() -> None:
        click.echo(schedule)
        note(f"The schedule {view.plan.name!r} {text}.")

    print_result(lambda: schedule_json(view), outcome, as_json=as_json)
    _note_who_fires(context)
    _warn_of_no_folder(context, view.plan, schedule)
    warn_of_undeliverable(context, view.plan.deliver)


def _note_who_fires(context: CliContext) -> None:
    """Print a note if no process would fire the schedule."""
    if not context.application.workers.has_consumer("schedules"):
        note("No worker is alive: schedules run only while `hermes-jobs up` is running.")


def _warn_of_no_folder(context: CliContext, plan: Plan, schedule: str) -> None:
    """Warn if commands and file tools would be refused in every run."""
    if plan.session is None and folder_of(context, plan) is None:
        note(
            "Warning: its runs have no working folder, so commands and file tools are refused in them.\n"
            f"  hermes-jobs schedule edit {schedule} --workdir DIR   names one."
        )
