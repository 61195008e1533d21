"""Reports errors of a command: one sentence, a hint, and the exit code.

`hermes_jobs.interfaces.cli.help` explains the codes.
"""

from __future__ import annotations

import errno
import sys
import traceback
from typing import Final

import click

from hermes_jobs.errors import Corrupt, HermesJobsError, LogUnavailable, Misconfigured, Rejected
from hermes_jobs.interfaces.cli.context import DEBUG, CliContext
from hermes_jobs.interfaces.cli.stdio import discard_output
from hermes_jobs.kernel.turns.titles import printable

FAILED: Final = 1
USAGE: Final = 2
TIMED_OUT: Final = 3
CREDENTIALS: Final = 4
LOG: Final = 5
UNFIT: Final = 6
INTERRUPTED: Final = 130

CODES: Final = {
    "ambiguous": USAGE,
    "unknown": USAGE,
    "unknown_delivery": USAGE,
    "unknown_held": USAGE,
    "unknown_rule": USAGE,
    "unknown_browser": USAGE,
    "unknown_key": USAGE,
    "unknown_turn": USAGE,
    "unknown_id": USAGE,
    "unknown_schedule": USAGE,
    "unknown_trigger": USAGE,
    "unknown_session": USAGE,
    "unknown_review": USAGE,
    "unknown_replay": USAGE,
    "unknown_skill": USAGE,
    "unknown_stream": USAGE,
    "unreadable_export": USAGE,
    "newer_export": USAGE,
    "other_content": USAGE,
    "usage": USAGE,
    "auth": CREDENTIALS,
    "broker": LOG,
}
"""Exit codes by the `kind` of a refusal; every other kind is `FAILED`."""

CODES_OF_TURNS: Final = {"auth": CREDENTIALS, "schema": UNFIT}
"""Exit codes by the `kind` of a turn's failure; every other kind is `FAILED`."""


def report(error: Exception, context: CliContext) -> int:
    """Print the error on standard error, without secrets; returns its exit code."""
    if context.debug and not isinstance(error, click.exceptions.Exit | click.Abort):
        click.echo(context.redact("".join(traceback.format_exception(error))), err=True)
    match error:
        case click.Abort():
            click.echo(err=True)  # the shell's prompt is on its own line
            return INTERRUPTED
        case click.ClickException():
            error.show()
            return error.exit_code
        case HermesJobsError():
            hint = error.hint if isinstance(error, Rejected) else ""
            explain(str(error), hint, context)
            return code_of(error)
        case OSError(errno=errno.EPIPE):
            _write_no_more()
            return 0
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            _write_no_more()
            where = f" ({error.filename})" if error.filename else ""
            explain(f"The disk is full{where}.", "Free some space, then try again.", context)
            return LOG
        case OSError(errno=errno.EMFILE | errno.ENFILE):
            explain("Too many files are open.", "Raise the limit: ulimit -n 1024.", context)
            return FAILED
        case PermissionError(filename=str(path), strerror=reason):
            hint = "Correct its permissions; after a `sudo` it may belong to root."
            explain(f"{path} cannot be used: {reason}.", hint, context)
            return FAILED
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            explain(f"Unexpected: {what}", f"{DEBUG}=1 shows where it came from.", context)
            return FAILED


def explain(message: str, hint: str, context: CliContext) -> None:
    """A line with the error, and one with a hint if there is one."""
    from hermes_jobs.interfaces.cli.output import flowed, terminal_width

    width = terminal_width(sys.stderr)
    text = f"{click.style('Error:', fg='red')} {printable(context.redact(message))}"
    click.echo(flowed(text, width), err=True)
    if hint:
        click.echo(flowed(f"Hint: {printable(context.redact(hint))}", width), err=True)


def code_of(error: HermesJobsError) -> int:
    """The exit code of the error."""
    match error:
        case Misconfigured():
            return USAGE
        case Rejected():
            return CODES.get(error.kind, FAILED)
        case LogUnavailable() | Corrupt():
            return LOG
        case _:
            return FAILED


def _write_no_more() -> None:
    """The output cannot be written (`… | head`, a full disk): write nothing more, not even at exit."""
    discard_output(sys.stdout.fileno())
