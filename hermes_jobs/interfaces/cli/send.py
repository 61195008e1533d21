"""`hermes-jobs send`: a text becomes a turn; then its answer, or only its id."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, get_args

import click

from hermes_jobs.client.submission import submission
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.conditions import condition_option, new_condition, submitted_if
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_skill
from hermes_jobs.interfaces.cli.options import (
    SessionChoice,
    WaitOptions,
    environment_option,
    example,
    model_option,
    session_choice_options,
    wait_options,
)
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty, SchemaParam, TextParam
from hermes_jobs.interfaces.cli.permission_options import (
    PermissionChoice,
    permission_options,
    resolve_approvals,
)
from hermes_jobs.interfaces.cli.targets import deliver_option, stored_targets, warn_of_undeliverable
from hermes_jobs.interfaces.cli.turns.attached_files import (
    Given,
    attached_lines,
    holds_text,
    read_file,
    read_given,
    text_of,
)
from hermes_jobs.interfaces.cli.turns.options import (
    by_flags,
    describe_session,
    named_variables,
    resolve_model,
    resolve_session,
    resolve_settings,
    resolve_toolsets,
    resolve_variables,
    working_folder,
)
from hermes_jobs.interfaces.cli.turns.text import STDIN, Inputs, read_text
from hermes_jobs.kernel.events import BusyPolicy, Opening, TurnSubmitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.features.attachments.api import File
    from hermes_jobs.features.skills.cli.attached_skills import TextWithSkills
    from hermes_jobs.kernel.turns.attachments import Attachment
    from hermes_jobs.kernel.turns.submitted import Submitted

SOURCE = "cli"
SCHEDULE = "schedule:"  # the source of the turns of scheduled runs
TRIGGER = "trigger:"  # of those that triggers start
CONTINUE = "--continue"  # the scope of a key without a named session: the same key, the same turn


@command(
    epilog=example(
        'hermes-jobs send "What changed in this folder today?"',
        'git diff | hermes-jobs send -c "Review this."',
        'hermes-jobs send -q --schema person.json "Who is this?" -f letter.txt',
        'hermes-jobs send "Compare these." -f old.toml -f new.toml',
        'hermes-jobs send "What does the sign say?" -a sign.jpg',
    )
)
@click.argument("text", type=TextParam(), required=False)
@click.option(
    "-f",
    "--file",
    "files",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    multiple=True,
    help="Attach a file; - is standard input. Repeatable. Without TEXT, a single file is the message.",
)
@click.option(
    "-a",
    "--attach",
    "attached",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    multiple=True,
    help="Attach a picture, a PDF document or a text file; - is standard input. Repeatable.",
)
@session_choice_options
@model_option("Model of a new session; in an existing one, of this turn only.")
@click.option("--system", metavar="TEXT", type=TextParam(), help="Additional system prompt of a new session.")
@click.option(
    "--toolsets", metavar="A,B", help="Toolsets of a new session; in an existing one, of this turn only."
)
@click.option(
    "--source",
    metavar="NAME",
    type=NonEmpty(),
    default=SOURCE,
    show_default=True,
    help="Name of the text's source.",
)
@click.option(
    "--key",
    metavar="KEY",
    type=NonEmpty(),
    help="Idempotency key: a second send with the same key returns the same turn.",
)
@click.option(
    "--if-busy", type=click.Choice(get_args(BusyPolicy)), help="What to do if the session is running a turn."
)
@environment_option
@click.option(
    "--skill",
    "skills",
    metavar="NAME",
    type=NonEmpty(),
    multiple=True,
    shell_complete=complete_skill,
    help="Load this skill into the turn. Repeatable.",
)
@click.option(
    "--schema",
    metavar="FILE",
    type=SchemaParam(),
    help="Require JSON that validates against this JSON Schema. One correction round, then exit code 6.",
)
@condition_option("--if-changed", "Send only if this command exits with 0; 1 skips.", "if_changed")
@deliver_option("Also deliver the answer to")
@permission_options
@wait_options(True, "Wait for the answer (the default), or print only the turn's id.")
def send(  # noqa: PLR0913, PLR0917 - one argument a flag
    context: CliContext,
    text: str | None,
    files: tuple[str, ...],
    attached: tuple[str, ...],
    choice: SessionChoice,
    model: str | None,
    system: str | None,
    toolsets: str | None,
    source: str,
    key: str | None,
    if_busy: BusyPolicy | None,
    environment: tuple[str, ...],
    skills: tuple[str, ...],
    schema: str | None,
    if_changed: str | None,
    deliver: tuple[str, ...],
    permitted: PermissionChoice,
    waiting: WaitOptions,
) -> int:
    """Submit a turn and wait for its answer.

    Use `-` as TEXT to read standard input. The message is TEXT, then each file with its name, then piped
    input: at most 1,000,000 bytes of files and input. Beside a TEXT or file, an input that stays silent for a
    second is left out, unless `-f -` asks for it. `@PATH` in TEXT attaches a file, `@SERVER:URI` a resource
    of an MCP server. Pictures and PDF documents go beside the message, for models that take them.

    With --if-changed the command decides by its exit status: 0 sends, 1 skips without a model call, any other
    one is an error. What it prints goes along as untrusted text.

    Settings in this environment (HERMES_JOBS_…, OPENAI_BASE_URL) apply to the turn, whichever process runs
    it. Other variables are those of the process that runs the commands, which may have started in another
    shell: pass variables of this shell with --env.
    """
    _check_options(source, if_changed, key)
    session = resolve_session(context, choice)
    if session is not None and system:
        raise click.UsageError("--system is for a new session: an existing one keeps its prompt.")
    lineage = session.lineage if session else None
    folder = (session.workdir or "") if session else choice.workdir or working_folder()
    given = read_given(attached, context.application.intake.file_bytes) if attached else Given()
    message = _read_message(
        context, text, files, skills, folder, given=given, unattended=permitted.unattended
    )
    targets = stored_targets(deliver)
    chosen = resolve_toolsets(context, toolsets)
    variables = resolve_variables(context, environment)
    model = resolve_model(context, model, lineage)
    carried = resolve_settings(context, model, lineage, wait=bool(waiting.wait), variables=variables)
    warn_of_undeliverable(context, targets)
    for line in (*message.notes, *named_variables(context, text or "", variables, by_flags)):
        note(line)
    name = context.application.ids.name
    turn = TurnSubmitted(
        turn=name("t"),
        text=message.text,
        source=source,
        session=lineage or name("s"),
        key=key,
        if_busy=if_busy or context.settings.session.if_busy,
        approve=resolve_approvals(context, permitted),
        unattended=permitted.unattended,
        answer_schema=schema or "",
        skills=message.skills,
        wants_title=sys.stdout.isatty() and context.settings.names_sessions,
        attachments=message.attachments,
        deliver=targets,
        outside=message.outside,
        piped=message.piped or source != SOURCE,
        unwatched=not waiting.wait,
    )
    opening = Opening(model=model, system=system, workdir=folder, toolsets=chosen, mode=permitted.mode)
    turn = submission(turn, opening, carried, is_first=lineage is None)
    if waiting.wait:
        context.application.sync_files()  # edits of files come before this message
    submitted: Submitted | None
    if if_changed is None:
        asked_for = CONTINUE if choice.newest else lineage or ""
        submitted = context.application.engine().submit(turn, asked_for=asked_for)
    else:
        condition = new_condition(context, if_changed, folder, "--if-changed", turn.approve)
        submitted = submitted_if(context, turn, condition, as_json=waiting.output.form != "text")
    if submitted is None:
        return 0
    if schema:
        waiting = waiting._replace(output=waiting.output.for_document())
    return _answered(context, submitted, waiting, describe_session(session, folder))


def _check_options(source: str, if_changed: str | None, key: str | None) -> None:
    if source.startswith((SCHEDULE, TRIGGER)):
        raise click.BadParameter("that is for the runs of schedules and triggers.", param_hint="--source")
    if if_changed is not None and key is not None:
        raise click.UsageError("--key and --if-changed exclude each other: a condition is asked each time.")


class _Message(NamedTuple):
    """The turn's text with its skills, their names, notes for the user, what goes beside it, the servers that
    wrote parts of it, and whether a file or standard input is part of it."""

    text: str
    skills: tuple[str, ...]
    notes: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    outside: str
    piped: bool


def _read_message(
    context: CliContext,
    text: str | None,
    files: tuple[str, ...],
    skills: tuple[str, ...],
    folder: str,
    *,
    given: Given,
    unattended: bool,
) -> _Message:
    attached_notes: list[str] = []
    servers: list[str] = []
    beside = list(given.files)

    def named_in(words: str, inputs: Inputs) -> Sequence[str]:
        if "@" not in words:
            return ()
        files, file_notes = _files(context, words, inputs, folder, beside)
        resources, notes = _resources(context, words, inputs, folder, unattended=unattended)
        attached_notes.extend((*file_notes, *notes))
        if resources:
            servers.append(_servers_in(context, words))
        return (*files, *resources)

    message, is_piped = read_text(
        text,
        (*files, *given.text_files),
        may_be_empty=bool(skills or given.files),
        named_in=named_in,
        piped=given.piped,
        stdin_is_read=STDIN in given.names,
    )
    attachments = context.application.intake.attach(beside) if beside else ()
    message = text_of(message, attachments)
    attached_notes.extend(attached_lines(attachments))
    loaded = _with_skills(context, skills, message)
    if loaded is None:
        return _Message(message, (), tuple(attached_notes), attachments, "".join(servers), is_piped)
    notes = (*attached_notes, *loaded.notes)
    return _Message(loaded.text, loaded.names, notes, attachments, "".join(servers), is_piped)


def _files(
    context: CliContext, text: str, inputs: Inputs, folder: str, beside: list[File]
) -> tuple[Sequence[str], Sequence[str]]:
    """The text files mentioned as `@PATH`, as parts of the turn's text, with notes; others are added to
    `beside`."""
    from hermes_jobs.features.mcp.cli.mentions import resource_named
    from hermes_jobs.interfaces.cli.turns.mentioned_files import attached, mentioned_files, missing

    parts, notes = [], []
    servers = tuple(context.settings.mcp_servers)
    for name, file in mentioned_files(text, folder, servers):
        if file is not None and not holds_text(file, name):
            beside.append(read_file(file, name, context.application.intake.file_bytes))
        elif file is not None:
            part, message = attached(inputs, name, file)
            parts.append(part)
            notes.append(message)
        elif not resource_named(name, servers)[1]:
            notes.append(missing(name))
    return parts, notes


def _resources(
    context: CliContext, text: str, inputs: Inputs, folder: str, *, unattended: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """The resources of MCP servers mentioned as `@server:URI`, with notes."""
    from hermes_jobs.features.mcp.cli.mentions import may_name_resources, mentioned_resources
    from hermes_jobs.interfaces.cli.questions.reader import reader_here

    if not may_name_resources(text):
        return (), ()
    reader = reader_here(context.application, unattended=unattended)
    return mentioned_resources(text, inputs, reader, folder)


def _servers_in(context: CliContext, text: str) -> str:
    """The servers whose resources the text mentions, as an origin."""
    from hermes_jobs.features.mcp.cli.mentions import origin_of, resources_in

    return origin_of(resources_in(text, tuple(context.settings.mcp_servers)))


def _with_skills(context: CliContext, names: tuple[str, ...], text: str) -> TextWithSkills | None:
    """The text with the named skills; None if none is named."""
    if not names:
        return None
    from hermes_jobs.features.skills.cli.attached_skills import with_skills

    return with_skills(context.application.skills, names, text)


def _answered(context: CliContext, submitted: Submitted, waiting: WaitOptions, where: str) -> int:
    """Follow the turn of the session `where` to its end, then print notices; or only print its id."""
    if not waiting.wait:
        from hermes_jobs.interfaces.cli.detach import detach

        return detach(context, submitted, waiting.output)
    if waiting.output.progress:
        click.secho(f"· {where}", dim=True, err=True)
    from hermes_jobs.interfaces.cli.notices import print_notices
    from hermes_jobs.interfaces.cli.turns.waiter import follow
    from hermes_jobs.runtime.housekeeping import maintain_home_if_due

    code = follow(context, submitted, waiting.output, waiting.timeout)
    if not waiting.output.quiet:
        _note_deliveries(context, submitted)
        print_notices(context, submitted.turn, terminal=waiting.output.progress)
    maintain_home_if_due(context.application)
    return code


def _note_deliveries(context: CliContext, submitted: Submitted) -> None:
    """Print where the turn's answer was delivered, or why not yet."""
    from hermes_jobs.features.deliveries import api
    from hermes_jobs.features.deliveries.cli import delivery_status

    for delivery in reversed(api.deliveries(context.application, turn=submitted.turn)):
        note(f"To {delivery.target}: {delivery_status(delivery)}.")
