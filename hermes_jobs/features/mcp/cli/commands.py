"""`hermes-jobs mcp`: MCP servers whose tools the agent can use."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.cli.completion import complete_mcp_server
from hermes_jobs.features.mcp.cli.format import (
    SERVERS,
    TOOLS,
    ServerRow,
    diff_of,
    known_row,
    note_left_out,
    print_prompts,
    row_of,
    server_json,
    tool_rows,
    try_server,
    unknown_server,
)
from hermes_jobs.features.mcp.cli.login import log_in, log_out
from hermes_jobs.features.mcp.cli.resources import list_resources, read_resource
from hermes_jobs.features.mcp.cli.serve import serve_mcp
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.options import Json, example, id_argument, limit_option
from hermes_jobs.interfaces.cli.output import note, print_fields
from hermes_jobs.interfaces.cli.param_types import FloatParam, NonEmpty
from hermes_jobs.interfaces.cli.questions.confirmation import confirmed
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

BY = "user"
KEY = "mcp_servers"

ServerName = Annotated[str, id_argument(complete_mcp_server, "NAME")]


@group(
    epilog=example(
        "hermes-jobs mcp add files --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes"
    )
)
def mcp() -> None:
    """MCP servers whose tools the agent can use.

    They are configured in `mcp_servers` of config.yaml. Changes apply to new sessions. `serve` makes this
    agent available to others.
    """


for _each in (log_in, log_out, list_resources, read_resource, serve_mcp):
    mcp.add_command(_each)


@mcp.command(
    "add",
    epilog=example(
        "hermes-jobs mcp add git --trust -- uvx mcp-server-git",
        "hermes-jobs mcp add issues https://mcp.example.com/mcp -H 'Authorization: Bearer ${TOKEN}'",
    ),
)
@click.argument("name", metavar="NAME", type=NonEmpty())
@click.argument("command", metavar="URL | -- COMMAND...", nargs=-1)
@click.option("--url", metavar="URL", type=NonEmpty(), hidden=True)
@click.option("-e", "--env", metavar="NAME=VALUE", multiple=True, help="Set a variable for the command.")
@click.option("-H", "--header", metavar="'NAME: VALUE'", multiple=True, help="Send a header with requests.")
@click.option(
    "--oauth",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set for mcp login: client_id, client_secret, redirect_uri or scope.",
)
@click.option(
    "--cwd",
    metavar="DIR",
    type=NonEmpty(),
    help="Folder to start the command in.  [default: the session's; with secrets your home]",
)
@click.option(
    "--write", metavar="DIR", multiple=True, type=NonEmpty(), help="Folder that it may write. Repeatable."
)
@click.option("--trust", is_flag=True, help="Trust the server's descriptions of its tools.")
@click.option("--required", is_flag=True, help="Sessions wait while the server is unavailable.")
@click.option("--timeout", type=FloatParam(), metavar="SECONDS", help="Time limit of a call.  [default: 300]")
@click.option("--test/--no-test", default=True, help="Start the server and list its tools.")
@click.option("--keep", is_flag=True, help="Keep the entry even if the server does not answer.")
def add_server(  # noqa: PLR0913, PLR0917 - what an entry has
    context: CliContext,
    name: str,
    command: tuple[str, ...],
    url: str | None,
    env: tuple[str, ...],
    header: tuple[str, ...],
    oauth: tuple[str, ...],
    cwd: str | None,
    write: tuple[str, ...],
    trust: bool,
    required: bool,
    timeout: float | None,
    test: bool,
    keep: bool,
    as_json: Json,
) -> None:
    """Add a server: a command to start, or a URL.

    If it does not answer, nothing is left of it, unless it asks for a login, or with --keep.

    Values of --env, --header and --oauth that may be secrets are saved in .env (mode 600); config.yaml refers
    to them as ${NAME}.

    A command runs in a sandbox: it writes to folders of its own, and to those of --write.
    """
    from hermes_jobs.features.mcp.secrets import without_secrets
    from hermes_jobs.settings.sources import read_env_file

    _check_name(context, name)
    command, url = _command_or_url(command, url)
    fields: dict[str, Any] = {
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "env": _pairs(env, "=", "--env"),
        "url": url,
        "headers": _pairs(header, ":", "--header"),
        "oauth": _pairs(oauth, "=", "--oauth"),
        "cwd": cwd,
        "writable": list(write),
        "trusted": trust,
        "required": required,
        "timeout": timeout,
    }
    entry, secrets = without_secrets(name, {key: value for key, value in fields.items() if value})
    new_secrets = secrets.keys() - read_env_file(context.settings.paths.env_file).keys()
    _write(context, {name: entry}, secrets)
    changed = _again(context)
    if not as_json:
        note(f"Added {name} to {changed.settings.paths.config}.")
        for variable in secrets:
            note(f"{variable} is in {changed.settings.paths.env_file}.")
        _note_if_off(changed, name)
    if test and keep:
        try_server(changed, name, as_json=as_json)
    elif test:
        _try_added(changed, name, new_secrets, as_json=as_json)
    elif as_json:
        print_result(lambda: server_json(row_of(changed, name)), "", as_json=True)
    changed.close()


def _check_name(context: CliContext, name: str) -> None:
    """Raise for what is not a name, and for a server's that is there."""
    from hermes_jobs.settings.sections.mcp_servers import SERVER_NAME

    if re.match(SERVER_NAME, name) is None:
        raise click.UsageError(
            f"Invalid value for NAME: {name!r} is not a name for a server. It has up to 32 letters, digits, "
            f"`-` and single `_`, and begins with a letter or digit."
        )
    if name in context.settings.mcp_servers:
        raise Rejected(
            f"There is a server {name!r} already.", kind="usage", hint=f"hermes-jobs mcp remove {name}"
        )


def _command_or_url(command: tuple[str, ...], url: str | None) -> tuple[tuple[str, ...], str | None]:
    """The command, or the URL, which may have been given in place of a command."""
    from hermes_jobs.settings.sections.mcp_servers import SERVER_URL

    if url is None and len(command) == 1 and command[0].lower().startswith(("http://", "https://")):
        url, command = command[0], command[:0]
    if bool(command) == bool(url):
        raise click.UsageError("Give a URL, or a command after --.")
    if url and re.match(SERVER_URL, url) is None:
        raise click.UsageError(f"Invalid value for URL: {url!r} is not an address such as https://host/mcp.")
    return command, url


@mcp.command("list", epilog=example("hermes-jobs mcp list"))
@limit_option("servers", default=None)
def list_servers(context: CliContext, limit: int | None, as_json: Json) -> None:
    """List the servers and their last known state.

    The state is as of the last contact; no server is started.
    """
    rows = [row_of(context, name) for name in sorted(context.settings.mcp_servers)]
    SERVERS.print_list(rows[:limit], as_json=as_json)


@mcp.command("show", epilog=example("hermes-jobs mcp show git"))
@limit_option("tools", default=None)
def show_server(context: CliContext, name: ServerName, limit: int | None, as_json: Json) -> None:
    """Show a server, its tools, and changes that wait for approval."""
    row = known_row(context, name)
    SERVERS.print_one(row, as_json=as_json, details=lambda: _details(row, limit))


@mcp.command("tools", epilog=example("hermes-jobs mcp tools", "hermes-jobs mcp tools git --json"))
@click.argument("name", metavar="[NAME]", type=NonEmpty(), required=False, shell_complete=complete_mcp_server)
@limit_option("tools", default=None)
def list_tools(context: CliContext, name: str | None, limit: int | None, as_json: Json) -> None:
    """List the tools that new sessions get."""
    names = [known_row(context, name).name] if name else sorted(context.settings.mcp_servers)
    rows = [row_of(context, server) for server in names]
    rows_found = [tool for row in rows for tool in tool_rows(row)]
    TOOLS.print_list(rows_found[:limit], as_json=as_json)
    for row in rows:
        if row.state.usable is not None and not as_json:
            note_left_out(row.state.usable, row.name)


@mcp.command("test", epilog=example("hermes-jobs mcp test git"))
def test_server(context: CliContext, name: ServerName, as_json: Json) -> None:
    """Start or reach a server, and list its tools."""
    known_row(context, name)
    try_server(context, name, as_json=as_json)


@mcp.command("accept", epilog=example("hermes-jobs mcp accept git"))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def accept_listing(context: CliContext, name: ServerName, yes: bool, as_json: Json) -> int:
    """Accept a server's changed tools for new sessions.

    The difference is shown first.
    """
    from hermes_jobs.features.mcp.rules import accept

    row = known_row(context, name)
    if row.state.waiting is not None and not as_json:
        for line in diff_of(row.state):
            click.echo(line)
        if not confirmed("Let new sessions use these tools?", "Nothing was accepted", yes=yes, default=False):
            note("Nothing was accepted.")
            return FAILED
    context.application.engine().change(accept(name, BY), "mcp accept")
    print_result(
        lambda: server_json(row_of(context, name)),
        f"New sessions use what {name} offers now.",
        as_json=as_json,
    )
    return 0


@mcp.command("remove", epilog=example("hermes-jobs mcp remove git"))
def remove_server(context: CliContext, name: ServerName, as_json: Json) -> None:
    """Remove a server from config.yaml, and delete its login. Its secrets stay in .env."""
    if name not in context.settings.mcp_servers:
        raise unknown_server(context, name)
    _take_out(context, name, "mcp remove")
    print_result(lambda: {"server": name, "removed": True}, f"Removed {name}.", as_json=as_json)


# --- what the commands share ----------------------------------------------------------------------


def _take_out(context: CliContext, name: str, why: str) -> None:
    """Remove all of a server but its secrets."""
    from hermes_jobs.features.mcp.resources import KnownResources
    from hermes_jobs.features.mcp.rules import remove
    from hermes_jobs.settings import unset_value

    unset_value(context.settings.paths.home, f"{KEY}.{name}")
    context.application.mcp.launches.logins.remove(name)
    KnownResources(context.settings.paths.mcp_resources).remove(name)
    context.application.engine().change(remove(name, BY), why)


def _try_added(context: CliContext, name: str, new_secrets: Collection[str], *, as_json: bool) -> None:
    """Try a server that was just added; it is taken out again if it does not answer and needs no login."""
    from hermes_jobs.settings import unset_secret

    try:
        try_server(context, name, as_json=as_json)
    except (Rejected, SystemExit):
        failed = row_of(context, name).state.failed
        if failed is None or not failed.login:
            _take_out(context, name, "mcp add")
            for variable in new_secrets:
                unset_secret(context.settings.paths.home, variable)
            note(f"{name} is taken out again. To keep it as it is, add --keep.")
        raise


def _pairs(texts: tuple[str, ...], separator: str, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, middle, value = text.partition(separator)
        if not middle or not name.strip():
            raise click.BadParameter(f"expected NAME{separator}VALUE, found {text!r}.", param_hint=option)
        pairs[name.strip()] = value.strip()
    return pairs


def _write(context: CliContext, entries: Mapping[str, Mapping[str, Any]], secrets: Mapping[str, str]) -> None:
    """Write entries to config.yaml and secrets to `.env`, unless one of these has another value there."""
    from hermes_jobs.settings import set_up
    from hermes_jobs.settings.sources import read_env_file
    from hermes_jobs.settings.yaml_text import write

    variables = read_env_file(context.settings.paths.env_file)
    for name, value in secrets.items():
        if variables.get(name, value) != value:
            raise Rejected(
                f"{name} has another value in {context.settings.paths.env_file} already.",
                kind="usage",
                hint="Put the value there under another name, and write ${THAT_NAME} here.",
            )
    values = {f"{KEY}.{name}": write(dict(entry)) for name, entry in entries.items()}
    set_up(context.settings.paths.home, values, secrets)


def _again(context: CliContext) -> CliContext:
    """The context under the configuration as it is now."""
    return CliContext(context.environ)


def _note_if_off(context: CliContext, name: str) -> None:
    if not context.application.toolbox.is_on(f"mcp:{name}", None):
        note("Its tools are off: `mcp` is not among hermes-jobs config get toolsets.enabled")


def _details(row: ServerRow, limit: int | None) -> None:
    usable = row.state.usable
    if usable is not None:
        TOOLS.print_list(tool_rows(row)[:limit], as_json=False)
        print_prompts(row.name, usable)
        if usable.left_out:
            note(f"{pluralize(len(usable.left_out), 'tool is', 'tools are')} left out:")
            print_fields([(omitted.name, omitted.reason) for omitted in usable.left_out])
    if row.state.waiting is not None:
        note(f"Its tools have changed. hermes-jobs mcp accept {row.name} lets new sessions use this:")
        for line in diff_of(row.state):
            click.echo(line)
