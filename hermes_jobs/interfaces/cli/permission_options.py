"""Permission options: a mode, calls approved beforehand, and unattended runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar, get_args

import click

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import option_group
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.kernel.events import CallPattern, Mode

F = TypeVar("F", bound=Callable[..., Any])

GROUPS = ("edit", "read")
"""Subjects of rules other than tools."""


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


def parsed_pattern(context: CliContext, text: str, folder: str, param: str) -> CallPattern:
    """Parse a pattern of calls. Raises `Rejected`, or a usage error for an unknown tool."""
    from hermes_jobs.kernel.streams.approval_rules import parse_pattern

    return _of_known_tool(context, parse_pattern(text, folder), text, param)


def parsed_call(context: CliContext, text: str, param: str) -> CallPattern:
    """Parse a call. Raises as `parsed_pattern`."""
    from hermes_jobs.kernel.streams.approval_rules import parse_call

    return _of_known_tool(context, parse_call(text), text, param)


def _of_known_tool(context: CliContext, calls: CallPattern, text: str, param: str) -> CallPattern:
    from difflib import get_close_matches

    from hermes_jobs.kernel.streams.approval_rules import COMMANDS

    names = [*context.application.toolbox.names, *GROUPS, *context.application.mcp.rule_names]
    if calls.tool == COMMANDS:
        _refuse_tool_name(text.strip(), names, param)
        return calls
    if calls.tool in names:
        return calls
    nearest = get_close_matches(calls.tool, names, n=1)
    suggestion = f" Did you mean {nearest[0]}:…?" if nearest else ""
    raise click.BadParameter(
        f"there is no tool {calls.tool!r}.{suggestion} For a command: terminal:{text}", param_hint=param
    )


def _refuse_tool_name(word: str, names: Collection[str], param: str) -> None:
    """Raise a usage error for a tool's name alone, which as the pattern of a command would match nothing."""
    from hermes_jobs.features.mcp.tools import group_of

    tools = group_of(word.removesuffix("__*")) if word.endswith("__*") else word
    if tools not in names:
        return
    raise click.BadParameter(
        f"{word} names tools, not a command. For all their calls: '{tools}:*'."
        f" For a command: 'terminal:{word}'",
        param_hint=param,
    )


def resolve_approvals(context: CliContext, permitted: PermissionChoice) -> tuple[CallPattern, ...]:
    """The calls that `--approve` allows in this turn. Raises a usage error."""
    return tuple(parsed_pattern(context, text, "", "--approve") for text in permitted.approve)
