"""`hermes-jobs schedule`: scheduled prompts. `preview` only parses a text."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import USAGE, explain
from hermes_jobs.interfaces.cli.lazy_group import LazyGroup
from hermes_jobs.interfaces.cli.moments import local_zone, read_moment
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import note, print_fields
from hermes_jobs.interfaces.cli.param_types import IntParam, TextParam
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.kernel.feature import Command
from hermes_jobs.text import figures

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from schedules.phrases import Understood

NEXT = 3
"""Runs that are shown ahead."""

MAX_RUNS = 1000


COMMANDS = {
    "add": Command("...features.schedules.cli.add:add_schedule", "Add a schedule, in words or by flags."),
    "list": Command("...features.schedules.cli.list:list_schedules", "List schedules, next due first."),
    "show": Command(
        "...features.schedules.cli.list:show_schedule", "Show a schedule: task, timing, last result, cost."
    ),
    "preview": Command(
        "...features.schedules.cli.commands:preview", "Show how a text is understood, and its next runs."
    ),
    "edit": Command(
        "...features.schedules.cli.add:edit_schedule", "Change a schedule's task, timing or options."
    ),
    "pause": Command("...features.schedules.cli.actions:pause_schedule", "Pause a schedule."),
    "resume": Command("...features.schedules.cli.actions:resume_schedule", "Resume a paused schedule."),
    "run": Command(
        "...features.schedules.cli.actions:run_schedule", "Run a schedule now, and wait for its answer."
    ),
    "remove": Command(
        "...features.schedules.cli.actions:remove_schedule", "Remove a schedule; its history stays."
    ),
    "history": Command(
        "...features.schedules.cli.list:show_history", "Show past due times: runs, results, missed runs."
    ),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=example(
        'hermes-jobs schedule add "Check my mail every weekday at 9 and summarise it"',
        'hermes-jobs schedule preview "every other Tuesday at half past eight"',
    ),
)
def schedule() -> None:
    """Prompts that are sent at set times, once or repeatedly.

    ID is an id, a name, a unique prefix of either, or `last` for the one added last.
    """


@command(
    "preview",
    epilog=example(
        'hermes-jobs schedule preview "every other Tuesday at half past eight"',
        'hermes-jobs schedule preview "0 9 * * 1-5" --tz America/New_York --from 2026-12-24',
    ),
)
@click.argument("text", type=TextParam())
@click.option(
    "--from",
    "start",
    metavar="TIME",
    help="Compute runs from this time, such as `monday 9:00`.  [default: now]",
)
@click.option("--tz", metavar="ZONE", help="Time zone, if TEXT names none.  [default: yours]")
@click.option(
    "-n",
    "count",
    type=IntParam(1, MAX_RUNS),
    metavar="N",
    default=NEXT,
    show_default=True,
    help="Number of runs.",
)
@click.option(
    "--no-model", is_flag=True, help="Do not ask a model about sentences that the rules do not understand."
)
def preview(
    context: CliContext,
    text: str,
    start: str | None,
    tz: str | None,
    count: int,
    no_model: bool,
    as_json: Json,
) -> int:
    """Show how a text is understood as a schedule, and its next runs; nothing is added.

    TEXT is a timing, a sentence with a task and a timing, a cron expression or an ISO time.
    """
    from hermes_jobs.features.schedules.wording import interpret
    from schedules.phrases import Refused, Understood, parse

    zone = _zone(tz or context.settings.schedules.timezone or local_zone().key)
    begin = datetime.now(UTC)
    if start is not None:
        begin = read_moment(start, zone=zone, ahead=True).at
    now = begin.astimezone(UTC).replace(microsecond=0)
    parsed = parse(text, now, zone.key)
    if isinstance(parsed, Refused) and not no_model:
        parsed, notes = interpret(
            context.application, text, parsed, schedule="", zone=zone.key, now=now.timestamp()
        )
        for line in notes:
            note(line)
    if isinstance(parsed, Understood):
        _print_understood(parsed, now, count, as_json=as_json)
        return 0
    refused_timing = parsed
    print_result(
        lambda: _as_object(
            None, zone.key, [], error=f"{refused_timing.reason} {refused_timing.proposal}".rstrip()
        ),
        lambda: explain(refused_timing.reason, refused_timing.proposal, context),
        as_json=as_json,
    )
    return USAGE


def _zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises `Rejected`."""
    from difflib import get_close_matches
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        nearest = get_close_matches(name, available_timezones(), n=1, cutoff=0.0)
        raise Rejected(
            f"There is no time zone {name!r}.",
            kind="usage",
            hint=f"The nearest known one is {nearest[0]!r}."
            if nearest
            else "Time zones look like Europe/Berlin.",
        ) from error


def _print_understood(understood: Understood, now: datetime, count: int, *, as_json: bool) -> None:
    from zoneinfo import ZoneInfo

    from schedules.timing import upcoming, written

    zone = ZoneInfo(understood.zone)
    runs = [due.astimezone(zone) for due in islice(upcoming(understood.timing, now, zone), count)]
    fields = [
        ("When", written(understood.timing)),
        ("Zone", understood.zone),
        ("Task", understood.task or ""),
        *(("" if number else "Next", _shown(run)) for number, run in enumerate(runs)),
    ]
    print_result(
        lambda: _as_object(understood, understood.zone, runs, error=None),
        lambda: print_fields(fields),
        as_json=as_json,
    )


def _shown(run: datetime) -> str:
    """A run for users: in its zone, which is named because it often is another one."""
    text = figures.moment(run, datetime.now(run.tzinfo), seconds=bool(run.second))
    return f"{text} {run:%Z}"


def _as_object(
    understood: Understood | None, zone: str, runs: list[datetime], *, error: str | None
) -> dict[str, object]:
    """The parsed text for scripts."""
    from schedules.timing import kind_of, written

    return {
        "ok": understood is not None,
        "kind": kind_of(understood.timing) if understood else None,
        "canonical": written(understood.timing) if understood else None,
        "timezone": zone,
        "task": understood.task if understood else None,
        "next": [run.isoformat() for run in runs],
        "error": error,
    }
