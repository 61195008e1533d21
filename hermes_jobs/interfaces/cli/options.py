"""Options that many commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, cast

import click

from hermes_jobs.interfaces.cli.command import shared_option
from hermes_jobs.interfaces.cli.id_completion import (
    complete_review,
    complete_schedule,
    complete_session,
    complete_turn,
    complete_waiting,
)
from hermes_jobs.interfaces.cli.param_types import (
    DateParam,
    FloatParam,
    FolderParam,
    IntParam,
    NonEmpty,
    TextParam,
)

if TYPE_CHECKING:
    from hermes_jobs.interfaces.cli.id_completion import Completion

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def option_group(name: str, make: Callable[..., object], *options: Callable[[F], F]) -> Callable[[F], F]:
    """Options that belong together: the command gets the result of `make` for their values, as `name`."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(*arguments: Any, **given: Any) -> Any:
            own = {option_name: given.pop(option_name) for option_name in names}
            return function(*arguments, **given, **{name: make(**own)})

        before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        names = [parameter.name for parameter in command.__click_params__[before:]]  # type: ignore[attr-defined]  # click's
        return cast(F, command)

    return decorate


def exclude(values: Mapping[str, object], reason: str = "") -> None:
    """Raise a usage error if more than one of these flags has a value; `reason` is its end."""
    names = [name for name, value in values.items() if value]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} exclude each other{reason}.")


Json = Annotated[bool, click.Option(["--json"], is_flag=True, help="Print one JSON value.")]
"""`--json`: one JSON value instead of text for users."""


def limit_option(what: str, default: int | None = 20) -> Callable[[F], F]:
    """`-n N`: at most so many."""
    return click.option(
        "-n",
        "limit",
        type=IntParam(min=1),
        metavar="N",
        default=default,
        show_default=default is not None,
        help=f"At most N {what}.",
    )


def newest(rows: Sequence[T], limit: int | None) -> Sequence[T]:
    """The last N of rows in ascending order; all of them without a limit."""
    return rows if limit is None else rows[-limit:]


def id_argument(complete: Completion | None, metavar: str = "ID") -> click.Argument:
    """`ID`: an id, the unique beginning of one, or `last`; or `NAME`. What fits is completed."""
    return click.Argument(["id"], metavar=metavar, type=NonEmpty(), shell_complete=complete)


TurnId = Annotated[str, id_argument(complete_turn)]
WaitingTurnId = Annotated[str, id_argument(complete_waiting)]
"""A turn's id, of a turn that waits for a user."""
SessionId = Annotated[str, id_argument(complete_session)]
"""A session's id, or its title."""
ScheduleId = Annotated[str, id_argument(complete_schedule)]
"""A schedule's id or name."""
ReviewId = Annotated[str, id_argument(complete_review)]
Name = Annotated[str, id_argument(None, "NAME")]
"""A name that nothing completes."""


def session_option(text: str) -> Callable[[F], F]:
    """`-s ID|TITLE`."""
    return click.option(
        "-s", "--session", metavar="ID|TITLE", type=NonEmpty(), help=text, shell_complete=complete_session
    )


environment_option = click.option(
    "--env",
    "environment",
    metavar="NAME[=VALUE]",
    type=TextParam(),
    multiple=True,
    help="Pass a variable of this shell to the agent's commands; no secrets. Repeatable.",
)
"""`--env NAME[=VALUE]`, several times; the command gets them as `environment`."""


def workdir_option(text: str) -> Callable[[F], F]:
    """`--workdir DIR`: a folder that exists, as an absolute path."""
    return click.option("--workdir", metavar="DIR", type=FolderParam(), help=text)


class SessionChoice(NamedTuple):
    """The session of a text: a named one, the newest of `workdir` or of all folders, or a new one in
    `workdir`. `workdir` None: the folder here."""

    session: str | None
    newest: bool
    anywhere: bool
    workdir: str | None


def _session_choice(session: str | None, newest: bool, anywhere: bool, workdir: str | None) -> SessionChoice:
    """Raises a usage error for options that exclude each other."""
    exclude({"--session": session, "--continue": newest})
    if anywhere and not newest:
        raise click.UsageError("--anywhere goes with --continue.")
    reason = ": a session keeps its folder"
    exclude({"--workdir": workdir, "--session": session}, reason)
    exclude({"--workdir": workdir, "--anywhere": anywhere}, reason)
    return SessionChoice(session, newest, anywhere, workdir)


session_choice_options = option_group(
    "choice",
    _session_choice,
    session_option("Use this session instead of a new one."),
    click.option("-c", "--continue", "newest", is_flag=True, help="Continue this folder's newest session."),
    click.option("--anywhere", is_flag=True, help="With -c: the newest session of any folder."),
    workdir_option("Working folder of a new session's tools; with -c, whose newest session to continue."),
)
"""`--session`, `--continue`, `--anywhere` and `--workdir`; the command gets them as `choice`."""


def model_option(text: str) -> Callable[[F], F]:
    """`-m NAME`: a model, an alias or an ensemble."""
    return click.option("-m", "--model", metavar="NAME", type=NonEmpty(), help=text)


def budget_option(text: str) -> Callable[[F], F]:
    """`--budget USD`."""
    return click.option("--budget", type=FloatParam(), metavar="USD", help=text)


def since_option(text: str) -> Callable[[F], F]:
    """`--since WHEN`: a day or a moment, also in words."""
    return click.option("--since", type=DateParam(), metavar="WHEN", help=text)


def yes_option(text: str) -> Callable[[F], F]:
    """`-y`: without confirmation."""
    return click.option("-y", "--yes", is_flag=True, help=text)


def numbers_option(text: str) -> Callable[[F], F]:
    """`--only N`, several times; the command gets them as `numbers`."""
    return click.option("--only", "numbers", type=IntParam(min=1), multiple=True, metavar="N", help=text)


def wait_option(
    text: str = "Wait until it is done (the default).", *, default: bool | None = True
) -> Callable[[F], F]:
    """`--wait/--no-wait`."""
    return click.option("--wait/--no-wait", default=default, help=text)


Timeout = Annotated[
    float | None,
    click.Option(["--timeout"], type=FloatParam(), metavar="SECONDS", help="Stop waiting after this time."),
]
"""`--timeout SECONDS`: stop waiting then."""


Quiet = Annotated[bool, click.Option(["-q", "--quiet"], is_flag=True, help="Print only the answer.")]
"""`-q`: nothing but the answer."""


class OutputOptions(NamedTuple):
    """How a turn is printed. `stream`: text as it arrives; `progress`: a line for each tool call; `quiet`:
    the answer alone; `rich`: Markdown on a live display; `footer`: what it took, below it."""

    form: Literal["text", "json", "jsonl"] = "text"
    stream: bool = False
    progress: bool = False
    quiet: bool = False
    rich: bool = False
    footer: bool = False

    def for_document(self) -> OutputOptions:
        """The same for a JSON answer: it is shown unformatted, after its validation."""
        return self if self.form != "text" else self._replace(stream=False, rich=False)


class WaitOptions(NamedTuple):
    """How a command waits for a turn: whether to wait (None: the command decides), for how many seconds
    (None: without limit), and the output options."""

    wait: bool | None
    timeout: float | None
    output: OutputOptions


def wait_options(default: bool | None, text: str) -> Callable[[F], F]:
    """Options of commands that submit or continue a turn: whether and how long to wait, and the output.

    The command gets all of it as `waiting`. Raises a usage error for forms that exclude each other.
    """
    return option_group(
        "waiting",
        _wait_options,
        wait_option(text, default=default),
        shared_option(Timeout, "timeout"),
        shared_option(Json, "as_json"),
        click.option(
            "--jsonl", "as_jsonl", is_flag=True, help="Print events and text as JSON lines, as they arrive."
        ),
        stream_option,
        shared_option(Quiet, "quiet"),
    )


def _wait_options(wait: bool | None, timeout: float | None, **shown: Any) -> WaitOptions:
    return WaitOptions(wait, timeout, output_options(**shown))


stream_option = click.option(
    "--stream/--no-stream",
    default=None,
    help="Print the answer as it arrives (on a terminal and with --jsonl).",
)
"""`--stream`: the answer while it is being written."""


def output_options(*, as_json: bool, as_jsonl: bool, stream: bool | None, quiet: bool) -> OutputOptions:
    """The output of the turn: plain if standard output or error is not a terminal. Raises a usage error."""
    exclude({"--json": as_json, "--jsonl": as_jsonl})
    if as_json:
        return OutputOptions(form="json", quiet=quiet)
    if as_jsonl:
        return OutputOptions(form="jsonl", quiet=quiet, stream=stream is not False)
    on_terminal = sys.stdout.isatty()
    return OutputOptions(
        stream=on_terminal if stream is None else stream,
        progress=sys.stderr.isatty() and not quiet,
        quiet=quiet,
        footer=on_terminal and sys.stderr.isatty() and not quiet,
        rich=on_terminal and not quiet and os.environ.get("TERM") != "dumb",
    )


def example(*lines: str) -> str:
    """An epilog that shows how the command is used, its lines kept as they are."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
