"""Parses the input of `schedule add` and `edit`: words or flags become a timing and a task, without
guesses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import click
import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.conditions.api import Condition
from hermes_jobs.features.schedules.events import MissedPolicy, OverlapPolicy, Plan, TimingKind
from hermes_jobs.interfaces.cli.budgets import check_price
from hermes_jobs.interfaces.cli.conditions import condition_option, new_condition
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_session
from hermes_jobs.interfaces.cli.later_turns import NONE, changes_of_turns
from hermes_jobs.interfaces.cli.options import model_option, option_group
from hermes_jobs.interfaces.cli.param_types import DurationParam, FolderParam, NonEmpty, TextParam
from hermes_jobs.interfaces.cli.targets import deliver_option, stored_targets
from hermes_jobs.interfaces.cli.turns.options import working_folder
from schedules.phrases import Refused, Understood, parse
from schedules.timing import as_cron, kind_of, written
from schedules.timing.cron import BadCron


class ScheduleInput(msgspec.Struct, frozen=True, kw_only=True):
    """The given flags; None for missing ones."""

    sentence: str | None
    cron: str | None
    every: str | None
    at: str | None
    in_: str | None
    task: str | None
    tz: str | None
    name: str | None
    session: str | None
    deliver: tuple[str, ...]
    missed: MissedPolicy | None
    overlap: OverlapPolicy | None
    model: str | None
    toolsets: str | None
    budget: str | None
    workdir: str | None
    jitter: float | None
    condition: str | None
    no_model: bool

    @property
    def timings(self) -> list[str]:
        """The names of the timing flags."""
        options = {"--cron": self.cron, "--every": self.every, "--at": self.at, "--in": self.in_}
        return [name for name, value in options.items() if value is not None]


plan_options = option_group(
    "wanted",
    ScheduleInput,
    click.argument("sentence", type=TextParam(), required=False),
    click.option("--cron", metavar="FIELDS", help="When: a cron expression of five fields, or @daily etc."),
    click.option("--every", metavar="WHEN", help="When: `30m`, `2 hours`, `weekday at 9`."),
    click.option("--at", metavar="TIME", help="When: once, at `14:00` or `2026-12-24T18:00`."),
    click.option("--in", "in_", metavar="TIME", help="When: once, in `20 minutes` or `2h`."),
    click.option("--task", metavar="TEXT", type=TextParam(), help="Prompt to send."),
    click.option("--tz", metavar="ZONE", help="Time zone, such as Europe/Berlin.  [default: yours]"),
    click.option(
        "--name",
        metavar="NAME",
        type=TextParam(),
        help="Name.  [default: the beginning of the task]",
    ),
    click.option(
        "--session",
        metavar="ID|TITLE",
        type=NonEmpty(),
        help="Continue this session.  [default: a new session per run]",
        shell_complete=complete_session,
    ),
    deliver_option("Target of answers"),
    click.option(
        "--missed",
        type=click.Choice(get_args(MissedPolicy)),
        help="What to do with runs missed while nothing was running.",
    ),
    click.option(
        "--overlap",
        type=click.Choice(get_args(OverlapPolicy)),
        help="What to do if the last run is still running.",
    ),
    model_option("Model of its runs."),
    click.option("--toolsets", metavar="A,B", help="Toolsets of its runs."),
    click.option("--budget", metavar="USD", help="Budget of one run."),
    click.option(
        "--workdir",
        metavar="DIR",
        type=TextParam(),
        help="Working folder of its runs.  [default: this one]",
    ),
    condition_option("--if", "Run only if this command exits with 0; 1 skips the run.", "condition"),
    click.option(
        "--jitter",
        metavar="TIME",
        type=DurationParam(none=0.0, most="1d"),
        help="Spread runs: each starts up to so much later, such as `5m`.",
    ),
    click.option(
        "--no-model",
        is_flag=True,
        help="Do not ask a model about sentences that the rules do not understand.",
    ),
)
"""The options that `add` and `edit` share; the command gets them as `wanted`."""


def parse_timing(inputs: ScheduleInput, zone: str, now: float) -> Understood | Refused | None:
    """The timing, and the task in a sentence; None without a timing.

    Raises a usage error for flags that exclude each other.
    """
    flags = inputs.timings
    if len(flags) > 1 or (flags and inputs.sentence is not None):
        options = [*flags, *(["a sentence"] if inputs.sentence is not None else [])]
        raise click.UsageError(f"{' and '.join(options)} exclude each other: give one time.")
    moment = datetime.fromtimestamp(now, UTC)
    if inputs.sentence is not None:
        return parse(inputs.sentence, moment, zone)
    if inputs.cron is not None:
        return _cron(inputs.cron, moment, zone)
    if inputs.every is not None:
        return _timing(f"every {inputs.every}", "--every", ("cron", "interval", "calendar"), moment, zone)
    if inputs.at is not None:
        parsed = parse(inputs.at, moment, zone)
        text = inputs.at if isinstance(parsed, Understood) else f"at {inputs.at}"
        return _timing(text, "--at", ("once",), moment, zone)
    if inputs.in_ is not None:
        return _timing(f"in {inputs.in_}", "--in", ("once",), moment, zone)
    return None


def _cron(text: str, now: datetime, zone: str) -> Understood | Refused:
    if "=" in text.partition(" ")[0]:  # CRON_TZ=Zone before the fields
        return _timing(text, "--cron", ("cron",), now, zone)
    try:
        return Understood(as_cron(text), zone)
    except BadCron as error:
        raise click.BadParameter(str(error), param_hint="--cron") from error


def _timing(
    text: str, flag: str, kinds: tuple[TimingKind, ...], now: datetime, zone: str
) -> Understood | Refused:
    parsed = parse(text, now, zone)
    if isinstance(parsed, Refused):
        return parsed
    if parsed.task is not None:
        raise click.BadParameter(
            f"{text!r} says more than when: put {parsed.task!r} into --task.", param_hint=flag
        )
    if kind_of(parsed.timing) not in kinds:
        raise click.BadParameter(
            f"{text!r} is not a timing for {flag}: it means {written(parsed.timing)!r}.", param_hint=flag
        )
    return parsed


def refusal(refused_timing: Refused) -> Rejected:
    """The error for a text that the rules refuse: nothing was recorded."""
    return Rejected(refused_timing.reason, kind="usage", hint=refused_timing.proposal)


def task_of(inputs: ScheduleInput, understood: Understood | None) -> str | None:
    """The task; None if none was given. Raises a usage error for two tasks."""
    task = understood.task if understood is not None else None
    if task is not None and inputs.task is not None:
        raise click.UsageError(
            f"The sentence has a task already ({task!r}): leave out --task, or say only when."
        )
    return inputs.task if inputs.task is not None else task


def changed_plan(
    context: CliContext, inputs: ScheduleInput, understood: Understood | None, plan: Plan
) -> Plan:
    """The plan with all given options. Raises a usage error for invalid ones."""
    changes: dict[str, Any] = {
        "name": inputs.name,
        "text": task_of(inputs, understood),
        "missed": inputs.missed,
        "overlap": inputs.overlap,
        "jitter": inputs.jitter,
    }
    if understood is not None:
        if inputs.tz is not None and understood.zone != inputs.tz:
            raise click.UsageError(f"The sentence says {understood.zone}, and --tz says {inputs.tz}.")
        changes |= {
            "kind": kind_of(understood.timing),
            "timing": written(understood.timing),
            "timezone": understood.zone,
        }
    elif inputs.tz is not None:
        changes["timezone"] = inputs.tz
    if inputs.deliver:
        changes["deliver"] = stored_targets(inputs.deliver)
    fields = {name: value for name, value in changes.items() if value is not None}
    of_runs = changes_of_turns(context, inputs.session, inputs.model, inputs.toolsets, inputs.budget)
    before, plan = plan, msgspec.structs.replace(plan, **fields, **of_runs)
    plan = msgspec.structs.replace(plan, workdir=_folder(inputs, before, plan))
    plan = msgspec.structs.replace(plan, condition=_condition(context, inputs, plan))
    if inputs.budget is not None or inputs.model is not None:
        check_price(context, plan.model, plan.budget_usd)
    return plan


def _folder(inputs: ScheduleInput, before: Plan, plan: Plan) -> str | None:
    """The folder of its runs: the given one, else the current one if runs get their own sessions."""
    if plan.session is not None:
        if inputs.workdir not in {None, NONE}:
            raise click.UsageError("--workdir is for runs with a new session: a session keeps its folder.")
        return None
    if inputs.workdir is None:
        is_new = not before.text or before.session is not None
        return working_folder() if is_new else plan.workdir
    if inputs.workdir == NONE:
        return None
    try:
        return FolderParam().convert(inputs.workdir, None, None)
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint="--workdir") from error


def _condition(context: CliContext, inputs: ScheduleInput, plan: Plan) -> Condition | None:
    """The condition in the folder of the runs, with what has to be approved: again where either is new."""
    command = inputs.condition or (plan.condition.command if plan.condition else NONE)
    if command == NONE:
        return None
    if plan.session is not None:
        folder = context.find_session(plan.session).workdir
    else:
        folder = plan.workdir or context.settings.agent.workdir
    known = plan.condition
    if known is not None and known.approved and (known.command, known.folder) == (command, folder):
        return known
    return new_condition(context, command, folder, "--if")
