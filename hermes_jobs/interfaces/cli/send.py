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
from hermes_jobs.interfaces.cli.context import Invocation, pass_invocation
from hermes_jobs.interfaces.cli.options import Waiting, example, session_option, waiting_options
from hermes_jobs.interfaces.cli.param_types import Name, Text
from hermes_jobs.interfaces.cli.stdio import decoded, read_stdin
from hermes_jobs.interfaces.cli.turn_options import (
    checked_model,
    chosen_toolsets,
    meant_session,
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
@click.argument("text", type=Text(), required=False)
@click.option("-f", "--file", "file", type=click.Path(dir_okay=False), help="Read the text from a file.")
@session_option("Into that session; else a new one.")
@click.option("-c", "--continue", "newest", is_flag=True, help="Into the newest session.")
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    type=Name(),
    help="The model: of a new session, else of this turn alone.",
)
@click.option("--system", metavar="TEXT", type=Text(), help="What a new session's prompt says besides.")
@click.option("--toolsets", metavar="A,B", help="The toolsets: of a new session, else of this turn alone.")
@click.option(
    "--source",
    metavar="NAME",
    type=Name(),
    default=SOURCE,
    show_default=True,
    help="Where the text comes from.",
)
@click.option("--key", metavar="KEY", type=Name(), help="The same key again gives the same turn.")
@click.option("--if-busy", type=click.Choice(get_args(BusyPolicy)), help="What to do where a turn runs.")
@waiting_options(True, "Wait for the answer (as by default), or print only the turn's id.")
@pass_invocation
def send(  # noqa: PLR0913, PLR0917 - one argument a flag
    invocation: Invocation,
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
    waiting: Waiting,
) -> int:
    """Submit a turn and wait for its answer.

    TEXT may be `-` for standard input. With TEXT and piped input, the text comes first.
    """
    if source.startswith(SCHEDULE):
        raise click.BadParameter(f"{SCHEDULE}… is for the runs of schedules.", param_hint="--source")
    if session and newest:
        raise click.UsageError("--session and --continue exclude each other.")
    said = _text(text, file)
    lineage = meant_session(invocation, session, newest)
    if lineage is not None and system:
        raise click.UsageError(
            "--system is for a new session: an existing one keeps the prompt it began with."
        )
    chosen = chosen_toolsets(invocation, toolsets)
    model = checked_model(invocation, model, lineage)
    application = invocation.application
    name = application.ids.name
    command = c.SubmitTurn(
        turn=name("t"),
        session=lineage or name("s"),
        text=said,
        source=source,
        key=key,
        if_busy=if_busy or invocation.settings.session.if_busy,
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
        return _answered(invocation, submitted, waiting)
    from hermes_jobs.interfaces.cli.detach import leave

    return leave(invocation, submitted, waiting.style)


def _answered(invocation: Invocation, submitted: Submitted, waiting: Waiting) -> int:
    """Follow the turn to its end, then tell what else there is to know."""
    from hermes_jobs.interfaces.cli.inbox import note_unread
    from hermes_jobs.interfaces.cli.review_notices import note_learned
    from hermes_jobs.interfaces.cli.turn_waiter import follow

    code = follow(invocation, submitted, waiting.style, waiting.timeout)
    if not waiting.style.quiet:
        note_learned(invocation, submitted.turn, reviews=waiting.style.progress)
    if waiting.style.progress:
        note_unread(invocation)
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
