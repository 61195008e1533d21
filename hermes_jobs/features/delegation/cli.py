"""`hermes-jobs agents`: the kinds of sub-agents: list, show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option, workdir_option
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column

if TYPE_CHECKING:
    from hermes_jobs.features.delegation.roles import AgentRole

AS_PARENT = "same as parent"


def _listed(role: AgentRole) -> str:
    names = AS_PARENT if role.toolsets is None else ", ".join(role.toolsets) or "none"
    return f"{names}, without {', '.join(role.excluded)}" if role.excluded else names


ROLES: Resource[AgentRole] = Resource(
    columns=(
        Column("name", lambda role: role.name),
        Column("for", lambda role: role.description, is_main=True),
        Column("toolsets", _listed, rank=1),
        Column("model", lambda role: role.model or AS_PARENT, rank=3),
        Column("from", lambda role: role.origin, rank=2),
    ),
    fields=lambda role: (
        ("Name", role.name),
        ("For", role.description),
        ("Toolsets", _listed(role)),
        ("Model", role.model or AS_PARENT),
        ("Budget", f"${role.budget:g}" if role.budget else "none of its own"),
        ("Rounds of tool calls", f"{role.max_iterations}" if role.max_iterations else "agent.max_iterations"),
        ("From", role.origin),
    ),
    empty="There are no kinds of sub-agents.",
)


@group(epilog=example("hermes-jobs agents list"))
def agents() -> None:
    """Kinds of sub-agents, to which the agent can delegate tasks.

    Define your own in config.yaml (`agents.NAME`), or as NAME.md in the home's agents/ or a folder's
    .hermes/agents/.
    """


@agents.command("list", epilog=example("hermes-jobs agents list"))
@workdir_option("Include the kinds of this folder.  [default: the current one]")
@limit_option("kinds", default=None)
def list_agents(context: CliContext, workdir: str | None, limit: int | None, as_json: Json) -> None:
    """List the kinds of sub-agents."""
    ROLES.print_list(_roles(context, workdir)[:limit], as_json=as_json)


@agents.command("show", epilog=example("hermes-jobs agents show research"))
@click.argument("name")
@workdir_option("Show it as in this folder.  [default: the current one]")
@limit_option("lines of its prompt", default=None)
def show_agent(context: CliContext, name: str, workdir: str | None, limit: int | None, as_json: Json) -> None:
    """Show one kind of sub-agent, with its prompt."""
    from hermes_jobs.tools.tool import did_you_mean

    roles = {role.name: role for role in _roles(context, workdir)}
    if name not in roles:
        nearest = did_you_mean(name, roles).replace("`", "")
        raise click.BadParameter(
            f"there is no kind of sub-agent {name!r}{nearest} `hermes-jobs agents list` shows all.",
            param_hint="NAME",
        )
    role = roles[name]
    ROLES.print_one(role, as_json=as_json, details=lambda: _print_prompt(role.prompt, limit))


def _print_prompt(prompt: str, limit: int | None) -> None:
    lines = prompt.splitlines()[:limit]
    if lines:
        click.echo("\n".join(["", *lines]))


def _roles(context: CliContext, workdir: str | None) -> list[AgentRole]:
    import os

    from hermes_jobs.features.delegation.role_files import agent_roles

    settings = context.settings
    roles = agent_roles(settings.paths.agents, settings.agents, workdir or os.getcwd())  # noqa: PTH109
    return [replace(role, name=name) for name, role in sorted(roles.items())]
