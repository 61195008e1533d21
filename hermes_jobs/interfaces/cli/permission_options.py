"""Permission options: a mode, calls approved beforehand, and unattended runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, get_args

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import option_group
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.kernel.events import CallPattern, Mode

F = TypeVar("F", bound=Callable[..., Any])


class PermissionChoice(NamedTuple):
    """The typed permission options of a turn."""

    mode: Mode | None
    approve: tuple[str, ...]
    unattended: bool


def mode_option(text: str) -> Callable[[F], F]:
    """`--mode M`."""
    return click.option("--mode", type=click.Choice(get_args(Mode)), help=text)


permission_options = option_group(
    "permitted",
    PermissionChoice,
    mode_option("Permission mode of a new session; in an existing one, of this turn only."),
    click.option(
        "--approve",
        metavar="PATTERN",
        type=NonEmpty(),
        multiple=True,
        help="Allow matching calls in this turn, such as 'npm test *' or 'edit:src/*'. Repeatable.",
    ),
    click.option("--unattended", is_flag=True, help="Never ask: refuse calls that need approval."),
)
"""`--mode`, `--approve` and `--unattended`; the command gets them as `permitted`."""


@contextmanager
def of_parameter(name: str) -> Iterator[None]:
    """Raise `BadParameter`, a wrong value of that parameter, for a call or pattern of an unknown tool."""
    try:
        yield
    except Rejected as rejected:
        if rejected.kind != "unknown_tool":
            raise
        message = rejected.message.replace("There is", "there is", 1)
        raise click.BadParameter(message, param_hint=name) from None


def resolve_approvals(context: CliContext, permitted: PermissionChoice) -> tuple[CallPattern, ...]:
    """The calls that `--approve` allows in this turn. Raises a usage error."""
    if not permitted.approve:
        return ()
    from hermes_jobs.client.approvals import Approvals

    with of_parameter("--approve"):
        return Approvals(context.application).patterns(permitted.approve)
