"""`hermes-jobs triggers` and `hermes-jobs trigger`: named tasks that programs start."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.budgets import check_price, dollars
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.id_completion import complete_session
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import (
    WaitOptions,
    example,
    json_option,
    limit_option,
    model_option,
    wait_options,
    workdir_option,
)
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import DurationParam, NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.interfaces.cli.targets import deliver_option, stored_targets, warn_of_undeliverable
from hermes_jobs.interfaces.cli.turns.options import resolve_toolsets, working_folder
from hermes_jobs.kernel.engine.clock_and_ids import iso

if TYPE_CHECKING:
    from hermes_jobs.features.triggers.api import Fired, FiringView, TriggerView

MAX_DEBOUNCE = 86_400.0
STDIN = "-"
_name = click.argument("name", type=NonEmpty(), metavar="NAME")


@click.group(
    epilog=example(
        'hermes-jobs triggers add ci-failed --task "Find out why the build failed" --debounce 30s',
        "make test 2>&1 | hermes-jobs trigger ci-failed -",
    )
)
def triggers() -> None:
    """Named tasks that programs start: CI, hooks of git and of the shell.

    `hermes-jobs trigger NAME` starts one.
    """


@triggers.command(
    "add", epilog=example('hermes-jobs triggers add review --task "Review the last commit" --workdir .')
)
@_name
@click.option("--task", metavar="TEXT", type=TextParam(), required=True, help="Prompt to send.")
@click.option(
    "--debounce",
    metavar="TIME",
    type=DurationParam(),
    default=0.0,
    help="Start one turn for all firings until there is none for so long, such as `30s`.",
)
@deliver_option("Target of answers")
@click.option(
    "--session",
    metavar="ID|TITLE",
    type=NonEmpty(),
    shell_complete=complete_session,
    help="Continue this session.  [default: a new session each time]",
)
@workdir_option("Working folder of its turns.  [default: this one]")
@model_option("Model of its turns.")
@click.option("--toolsets", metavar="A,B", help="Toolsets of its turns.")
@click.option("--budget", metavar="USD", help="Budget of one turn.")
@click.option("--replace", "replaces", is_flag=True, help="Replace the trigger of that name.")
@json_option
@pass_context
def add_trigger(  # noqa: PLR0913, PLR0917 - one argument a flag
    context: CliContext,
    name: str,
    task: str,
    debounce: float,
    deliver: tuple[str, ...],
    session: str | None,
    workdir: str | None,
    model: str | None,
    toolsets: str | None,
    budget: str | None,
    replaces: bool,
    as_json: bool,
) -> None:
    """Add a trigger: a name for a task.

    Its turns are unattended, like the runs of schedules, and their input is untrusted text.
    """
    from hermes_jobs.features.triggers import api

    if debounce > MAX_DEBOUNCE:
        raise click.BadParameter("it is longer than 1d.", param_hint="--debounce")
    if session is not None and workdir is not None:
        raise click.UsageError("--workdir is for turns with a new session: a session keeps its folder.")
    plan = api.TriggerPlan(
        text=task.strip(),
        session=None if session is None else context.find_session(session).lineage,
        deliver=stored_targets(deliver) or ("cli",),
        model=model,
        toolsets=resolve_toolsets(context, toolsets),
        budget_usd=None if budget is None else dollars(budget),
        workdir=None if session is not None else workdir or working_folder(),
        debounce=debounce,
    )
    check_price(context, model, plan.budget_usd)
    context.application.check(model)
    api.add(context.application, name, plan, replaces=replaces)
    text = f"The trigger {name} is added. Fire it: hermes-jobs trigger {name}"
    print_result(lambda: api.trigger(context.application, name), text, as_json=as_json)
    warn_of_undeliverable(context, plan.deliver)


@triggers.command("list", epilog=example("hermes-jobs triggers list"))
@limit_option("triggers, by name")
@json_option
@pass_context
def list_triggers(context: CliContext, limit: int, as_json: bool) -> None:
    """List triggers."""
    from hermes_jobs.features.triggers import api

    TRIGGERS.print_list(api.triggers(context.application)[:limit], as_json=as_json)


@triggers.command("show", epilog=example("hermes-jobs triggers show ci-failed"))
@_name
@limit_option("turns, newest first")
@json_option
@pass_context
def show_trigger(context: CliContext, name: str, limit: int, as_json: bool) -> None:
    """Show a trigger, and the turns that it has started."""
    from hermes_jobs.features.triggers import api

    trigger = api.trigger(context.application, name)
    firings = api.firings(context.application, name, limit)

    def details() -> None:
        due = api.waits_until(context.application, name)
        if due is not None and trigger.status == "active":
            note(f"Its next turn starts {format_time(due, seconds=True)}, unless it is fired until then.")
        FIRINGS.print_list(firings, as_json=False)

    shown = TRIGGERS._replace(to_json=lambda item: {"trigger": item, "turns": firings})
    shown.print_one(trigger, as_json=as_json, details=details)


@triggers.command("pause", epilog=example("hermes-jobs triggers pause ci-failed"))
@_name
@pass_context
def pause_trigger(context: CliContext, name: str) -> None:
    """Refuse firings until it is resumed; those that wait start no turn."""
    from hermes_jobs.features.triggers import api

    api.pause(context.application, name)
    note(f"The trigger {name} is paused.")


@triggers.command("resume", epilog=example("hermes-jobs triggers resume ci-failed"))
@_name
@pass_context
def resume_trigger(context: CliContext, name: str) -> None:
    """Accept firings again."""
    from hermes_jobs.features.triggers import api

    api.resume(context.application, name)
    note(f"The trigger {name} can be fired again.")


@triggers.command("remove", epilog=example("hermes-jobs triggers remove ci-failed"))
@_name
@pass_context
def remove_trigger(context: CliContext, name: str) -> None:
    """Remove a trigger. Firings that wait are dropped; turns continue."""
    from hermes_jobs.features.triggers import api

    api.remove(context.application, name)
    note(f"The trigger {name} is removed.")


@click.command(
    "trigger",
    epilog=example(
        "hermes-jobs trigger review",
        "make test 2>&1 | hermes-jobs trigger ci-failed - --key build-17",
        "hermes-jobs trigger ci-failed -f build.log --wait",
    ),
)
@_name
@click.argument("text", type=TextParam(), metavar="[-]", required=False)
@click.option(
    "-f",
    "--file",
    "files",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    multiple=True,
    help="Input for the task; - is standard input. Repeatable.",
)
@click.option("--key", metavar="KEY", type=NonEmpty(), help="Idempotency key: the same one fires once.")
@wait_options(False, "Wait for the answer, without a debounce, or print only the turn's id (the default).")
@pass_context
def trigger(
    context: CliContext,
    name: str,
    text: str | None,
    files: tuple[str, ...],
    key: str | None,
    waiting: WaitOptions,
) -> int:
    """Fire a trigger: start its task.

    Files, and standard input if `-` is given, go along as untrusted text.
    """
    from hermes_jobs.features.triggers import api

    if text not in {None, STDIN}:
        raise click.UsageError("A trigger has its task already: give input with - or --file.")
    payload = _payload(files, reads_stdin=text == STDIN)
    fired = api.fire(context.application, name, payload, key=key or "", at_once=bool(waiting.wait))
    if context.application.clock.now() < fired.due:
        return _print_pending(context, fired, waiting)
    from hermes_jobs.kernel.engine.engine import Submitted

    submitted = Submitted(turn=fired.turn, stream=fired.session)
    if not waiting.wait:
        from hermes_jobs.interfaces.cli.detach import detach

        return detach(context, submitted, waiting.output)
    from hermes_jobs.interfaces.cli.turns.waiter import follow

    return follow(context, submitted, waiting.output, waiting.timeout)


def _payload(files: tuple[str, ...], *, reads_stdin: bool) -> str:
    """The input: each file under its name, then standard input. Raises usage errors."""
    from hermes_jobs.interfaces.cli.turns.text import PIPED, Inputs

    inputs = Inputs()
    if [*files].count(STDIN) + reads_stdin > 1:
        raise click.UsageError("Standard input (-) can only be read once.")
    parts = [(file, inputs.read_file(file)) for file in files if file != STDIN]
    if reads_stdin or STDIN in files:
        parts.append((PIPED, inputs.read(sys.stdin.buffer, PIPED)))
    if len(parts) == 1:
        return parts[0][1]
    return "\n\n".join(f"{name}:\n{content}" for name, content in parts)


def _print_pending(context: CliContext, fired: Fired, waiting: WaitOptions) -> int:
    """The turn that starts after the debounce."""
    if waiting.output.form == "text":
        click.echo(fired.turn)
    else:
        print_json({"turn": fired.turn, "status": "pending", "starts_at": iso(fired.due)})
    if not waiting.output.quiet:
        note(f"It starts {format_time(fired.due, seconds=True)}, unless the trigger is fired until then.")
        if not context.application.workers.has_consumer("schedules"):
            note("No worker is alive: it starts when one is (`hermes-jobs up`).")
    return 0


def _debounce(view: TriggerView) -> str:
    return f"{view.plan.debounce:g} s" if view.plan.debounce else ""


TRIGGERS: Resource[TriggerView] = Resource(
    (
        Column("TRIGGER", lambda view: view.name),
        Column("STATUS", lambda view: view.status),
        Column("TURNS", lambda view: str(view.num_turns), right=True, rank=1),
        Column("LAST", lambda view: view.last.status if view.last else "", rank=2),
        Column("DEBOUNCE", _debounce, rank=3),
        Column("TASK", lambda view: view.plan.text, is_main=True),
    ),
    'No triggers. `hermes-jobs triggers add NAME --task "…"` adds one.',
    fields=lambda view: [
        ("Trigger", view.name),
        ("Status", view.status),
        ("Task", view.plan.text),
        ("Debounce", _debounce(view)),
        ("Session", view.plan.session or "a fresh one each time"),
        ("Folder", view.plan.workdir or ""),
        ("Delivered to", ", ".join(view.plan.deliver)),
        ("Model", view.plan.model or ""),
        ("Toolsets", ", ".join(view.plan.toolsets or ())),
        ("Budget", "" if view.plan.budget_usd is None else f"${view.plan.budget_usd:g} a turn"),
        ("Added", format_time(view.added_at)),
        ("Turns", str(view.num_turns)),
    ],
)
FIRINGS: Resource[FiringView] = Resource(
    (
        Column("TURN", lambda view: view.turn),
        Column("STATUS", lambda view: view.status),
        moment_column("FIRED", lambda view: view.at),
        Column("TIMES", lambda view: str(view.count), right=True),
        Column("WHY", lambda view: view.message, is_main=True),
    ),
    "It has not been fired yet.",
)
