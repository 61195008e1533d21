"""`hermes-jobs triggers` and `hermes-jobs trigger`: named tasks that programs start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from hermes_jobs.features.triggers.hooks.options import HookInput, hook_options, new_secret, note_hook
from hermes_jobs.interfaces.cli.budgets import check_price
from hermes_jobs.interfaces.cli.command import command, group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_session
from hermes_jobs.interfaces.cli.later_turns import changes_of_turns
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.options import (
    Json,
    Name,
    WaitOptions,
    example,
    limit_option,
    model_option,
    option_group,
    wait_options,
    workdir_option,
)
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import DurationParam, NonEmpty, TextParam
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.interfaces.cli.targets import deliver_option, stored_targets, warn_of_undeliverable
from hermes_jobs.interfaces.cli.turns.options import working_folder
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.triggers.api import Fired, FiringView, TriggerPlan, TriggerView

STDIN = "-"


@group(
    epilog=example(
        'hermes-jobs triggers add ci-failed --task "Find out why the build failed" --debounce 30s',
        "make test 2>&1 | hermes-jobs trigger ci-failed -",
    )
)
def triggers() -> None:
    """Named tasks that programs start: CI, hooks of git and of the shell.

    `hermes-jobs trigger NAME` starts one.
    """


class TriggerInput(NamedTuple):
    """The given flags; None for missing ones."""

    task: str | None
    debounce: float | None
    deliver: tuple[str, ...]
    session: str | None
    workdir: str | None
    model: str | None
    toolsets: str | None
    budget: str | None


plan_options = option_group(
    "wanted",
    TriggerInput,
    click.option("--task", metavar="TEXT", type=TextParam(), help="Prompt to send."),
    click.option(
        "--debounce",
        metavar="TIME",
        type=DurationParam(none=0.0, most="1d"),
        help="Start one turn for all firings until there is none for so long, such as `30s`.",
    ),
    deliver_option("Target of answers"),
    click.option(
        "--session",
        metavar="ID|TITLE",
        type=NonEmpty(),
        shell_complete=complete_session,
        help="Continue this session.  [default: a new session each time]",
    ),
    workdir_option("Working folder of its turns.  [default: this one]"),
    model_option("Model of its turns."),
    click.option("--toolsets", metavar="A,B", help="Toolsets of its turns."),
    click.option("--budget", metavar="USD", help="Budget of one turn."),
)
"""The options that `add` and `edit` share; the command gets them as `wanted`."""


@triggers.command(
    "add", epilog=example('hermes-jobs triggers add review --task "Review the last commit" --workdir .')
)
@plan_options
@hook_options
@click.option("--replace", "replaces", is_flag=True, help="Replace the trigger of that name.")
def add_trigger(
    context: CliContext, wanted: TriggerInput, hooked: HookInput, *, name: Name, replaces: bool, as_json: Json
) -> None:
    """Add a trigger: a name for a task.

    Its turns are unattended, like the runs of schedules, and their input is untrusted text.
    """
    from hermes_jobs.features.triggers import api

    if wanted.task is None:
        raise click.UsageError("A trigger needs a task: --task TEXT.")
    plan = _changed(context, wanted, hooked, api.TriggerPlan(text=""))
    api.add(context.application, name, plan, replaces=replaces)
    text = f"The trigger {name} is added. Fire it: hermes-jobs trigger {name}"
    _print_changed(context, name, text, hooked, as_json=as_json)


@triggers.command("edit", epilog=example("hermes-jobs triggers edit review --debounce 1m --model none"))
@plan_options
@hook_options
def edit_trigger(
    context: CliContext, wanted: TriggerInput, hooked: HookInput, *, name: Name, as_json: Json
) -> None:
    """Change a trigger's task or options; the rest stays.

    The value `none` resets --debounce, --session, --model, --toolsets, --budget, --on-event or --if-field.
    --hook gives an open hook a new secret: the old one ends.
    """
    from hermes_jobs.features.triggers import api

    if not hooked.is_given and not any(value is not None and value != () for value in wanted):
        raise click.UsageError("Name what to change, such as --task or --debounce.")
    application = context.application
    api.edit(application, name, _changed(context, wanted, hooked, api.trigger(application, name).plan))
    _print_changed(context, name, f"The trigger {name} is changed.", hooked, as_json=as_json)


def _print_changed(context: CliContext, name: str, text: str, hooked: HookInput, *, as_json: bool) -> None:
    """The changed trigger; with a new secret that, on standard output."""
    import msgspec

    from hermes_jobs.features.triggers import api

    view = api.trigger(context.application, name)
    secret = new_secret(context, name, view.plan.hook) if hooked.hook and view.plan.hook else None
    if as_json:
        print_json(view if secret is None else {**msgspec.to_builtins(view), "secret": secret})
    else:
        note(text)
        if secret is not None:
            note_hook(context, name)
            click.echo(secret)
    warn_of_undeliverable(context, view.plan.deliver)


def _changed(context: CliContext, wanted: TriggerInput, hooked: HookInput, plan: TriggerPlan) -> TriggerPlan:
    """The plan with all given options. Raises usage errors for invalid ones."""
    from hermes_jobs.features.triggers.hooks.keys import made_key

    workdir = wanted.workdir or plan.workdir
    of_turns = changes_of_turns(context, wanted.session, wanted.model, wanted.toolsets, wanted.budget)
    session = of_turns.get("session", plan.session)
    if session is not None and wanted.workdir is not None:
        raise click.UsageError("--workdir is for turns with a new session: a session keeps its folder.")
    changes: dict[str, Any] = {
        "text": None if wanted.task is None else wanted.task.strip(),
        "deliver": stored_targets(wanted.deliver) or None,
        "debounce": wanted.debounce,
    }
    changes = {name: value for name, value in changes.items() if value is not None} | of_turns
    folder = None if session is not None else workdir or working_folder()
    plan = replace(plan, workdir=folder, hook=hooked.changed(plan.hook), **changes)
    check_price(context, plan.model, plan.budget_usd)
    context.application.check(plan.model)
    if hooked.hook:
        made_key(context.application)
    return plan


@triggers.command("list", epilog=example("hermes-jobs triggers list"))
@limit_option("triggers, by name")
def list_triggers(context: CliContext, limit: int, as_json: Json) -> None:
    """List triggers."""
    from hermes_jobs.features.triggers import api

    TRIGGERS.print_list(api.triggers(context.application)[:limit], as_json=as_json)


@triggers.command("show", epilog=example("hermes-jobs triggers show ci-failed"))
@limit_option("turns, newest first")
def show_trigger(context: CliContext, name: Name, limit: int, as_json: Json) -> None:
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


def _action(verb: str, text: str, done: str) -> None:
    """Add the command `triggers VERB`, which does what the function of that name in `api` does."""

    @triggers.command(verb, help=text, epilog=example(f"hermes-jobs triggers {verb} ci-failed"))
    def command(context: CliContext, name: Name) -> None:
        from hermes_jobs.features.triggers import api

        act: Callable[[Application, str], None] = getattr(api, verb)
        act(context.application, name)
        note(f"The trigger {name} {done}.")


_action("pause", "Refuse firings until it is resumed; those that wait start no turn.", "is paused")
_action("resume", "Accept firings again; those that have waited start their turn now.", "can be fired again")
_action("remove", "Remove a trigger. Firings that wait are dropped; turns continue.", "is removed")


@command(
    "trigger",
    epilog=example(
        "hermes-jobs trigger review",
        "make test 2>&1 | hermes-jobs trigger ci-failed - --key build-17",
        "hermes-jobs trigger ci-failed -f build.log --wait",
    ),
)
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
def trigger(
    context: CliContext,
    name: Name,
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
    from hermes_jobs.interfaces.cli.detach import follow_or_detach
    from hermes_jobs.kernel.turns.submitted import Submitted

    return follow_or_detach(context, Submitted(turn=fired.turn, stream=fired.session), waiting)


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


def _hook(view: TriggerView) -> str:
    hook = view.plan.hook
    return " ".join((f"/hooks/{view.name}", *hook.events, *hook.fields)) if hook else ""


def _debounce(view: TriggerView) -> str:
    return f"{view.plan.debounce:g} s" if view.plan.debounce else ""


TRIGGERS: Resource[TriggerView] = Resource(
    (
        Column("TRIGGER", lambda view: view.name),
        Column("STATUS", lambda view: view.status),
        Column("TURNS", lambda view: str(view.num_turns), right=True, rank=1),
        Column("LAST", lambda view: view.last.status if view.last else "", rank=2),
        Column("HOOK", lambda view: "open" if view.plan.hook else "", rank=4),
        Column("DEBOUNCE", _debounce, rank=3),
        Column("TASK", lambda view: view.plan.text, is_main=True),
    ),
    'No triggers. `hermes-jobs triggers add NAME --task "…"` adds one.',
    fields=lambda view: [
        ("Trigger", view.name),
        ("Status", view.status),
        ("Task", view.plan.text),
        ("Debounce", _debounce(view)),
        ("Hook", _hook(view)),
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
