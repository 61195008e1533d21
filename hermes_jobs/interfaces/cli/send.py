"""`hermes-jobs send`: a text becomes a turn; then its answer, or only its id."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from hermes_jobs.domain.events import BusyPolicy, Opening
from hermes_jobs.domain.session import commands as c
from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import WaitOptions, example, session_option, wait_options
from hermes_jobs.interfaces.cli.param_types import NonEmpty, TextParam
from hermes_jobs.interfaces.cli.stdio import decoded, read_stdin
from hermes_jobs.interfaces.cli.turn_options import (
    resolve_model,
    resolve_session,
    resolve_toolsets,
    working_folder,
)

if TYPE_CHECKING:
    from hermes_jobs.engine.engine import Submitted

SOURCE = "cli"
SCHEDULE = "schedule:"  # what the turns of a schedule's runs name as their source
CONTINUE = "--continue"  # what a key is bound to where the session was not named: the same key, the same turn


@click.command(
    epilog=example(
        'hermes-jobs send "What changed in this folder today?"',
        'git diff | hermes-jobs send -c "Review this."',
    )
)
@click.argument("text", type=TextParam(), required=False)
@click.option("-f", "--file", "file", type=click.Path(dir_okay=False), help="Read the text from a file.")
@session_option("Into that session; else a new one.")
@click.option("-c", "--continue", "newest", is_flag=True, help="Into the newest session.")
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    type=NonEmpty(),
    help="The model: of a new session, else of this turn alone.",
)
@click.option("--system", metavar="TEXT", type=TextParam(), help="What a new session's prompt says besides.")
@click.option("--toolsets", metavar="A,B", help="The toolsets: of a new session, else of this turn alone.")
@click.option(
    "--source",
    metavar="NAME",
    type=NonEmpty(),
    default=SOURCE,
    show_default=True,
    help="Where the text comes from.",
)
@click.option("--key", metavar="KEY", type=NonEmpty(), help="The same key again gives the same turn.")
@click.option("--if-busy", type=click.Choice(get_args(BusyPolicy)), help="What to do where a turn runs.")
@wait_options(True, "Wait for the answer (as by default), or print only the turn's id.")
@pass_context
def send(  # noqa: PLR0913, PLR0917 - one argument a flag
    context: CliContext,
    text: str | None,
    file: str | None,
    session: str | None,
    newest: bool,
    model: str | None,
    system: str | None,
    toolsets: str | None,
    source: str,
    key: str | None,
    if_busy: BusyPolicy | None,
    waiting: WaitOptions,
) -> int:
    """Submit a turn and wait for its answer.

    TEXT may be `-` for standard input. With TEXT and piped input, the text comes first.
    """
    if source.startswith(SCHEDULE):
        raise click.BadParameter(f"{SCHEDULE}… is for the runs of schedules.", param_hint="--source")
    if session and newest:
        raise click.UsageError("--session and --continue exclude each other.")
    said = _text(text, file)
    lineage = resolve_session(context, session, newest)
    if lineage is not None and system:
        raise click.UsageError(
            "--system is for a new session: an existing one keeps the prompt it began with."
        )
    chosen = resolve_toolsets(context, toolsets)
    model = resolve_model(context, model, lineage)
    application = context.application
    name = application.ids.name
    command = c.SubmitTurn(
        turn=name("t"),
        session=lineage or name("s"),
        text=said,
        source=source,
        key=key,
        if_busy=if_busy or context.settings.session.if_busy,
        model=model if lineage else None,
        toolsets=chosen if lineage else None,
        opening=None
        if lineage
        else Opening(model=model, system=system, workdir=working_folder(), toolsets=chosen),
    )
    if waiting.wait:
        application.settle()  # what was edited by hand comes before what is said now
    submitted = application.engine().submit(command, asked_for=CONTINUE if newest else lineage or "")
    if waiting.wait:
        return _answered(context, submitted, waiting)
    from hermes_jobs.interfaces.cli.detach import detach

    return detach(context, submitted, waiting.output)


def _answered(context: CliContext, submitted: Submitted, waiting: WaitOptions) -> int:
    """Follow the turn to its end, then tell what else there is to know."""
    from hermes_jobs.interfaces.cli.inbox import print_unread_notice
    from hermes_jobs.interfaces.cli.review_notices import print_review_notices
    from hermes_jobs.interfaces.cli.turn_waiter import follow

    code = follow(context, submitted, waiting.output, waiting.timeout)
    if not waiting.output.quiet:
        print_review_notices(context, submitted.turn, reviews=waiting.output.progress)
    if waiting.output.progress:
        print_unread_notice(context)
    return code


def _text(text: str | None, file: str | None) -> str:
    """What was said: TEXT or the file, then what was piped. Raises a usage error where there is nothing."""
    if text is not None and text != "-" and file is not None:
        raise click.UsageError("TEXT and --file exclude each other.")
    parts = []
    if file is not None:
        try:
            parts.append(decoded(Path(file).read_bytes(), file))
        except OSError as error:
            raise click.BadParameter(f"{file}: {error.strerror}.", param_hint="--file") from error
    elif text not in {None, "-"}:
        parts.append(str(text))
    if text == "-" or _is_piped():
        parts.append(read_stdin())
    said = "\n\n".join(part for part in parts if part.strip())
    if not said:
        raise click.UsageError('There is nothing to send: give TEXT, --file, or standard input ("-").')
    return said


def _is_piped() -> bool:
    """Whether something was redirected to standard input: a pipe, a file or a socket, not a terminal."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
