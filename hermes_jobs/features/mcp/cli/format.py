"""How MCP servers and their tools are shown."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.catalogue import full_name
from hermes_jobs.features.mcp.logins import Login, needed
from hermes_jobs.features.mcp.prompts import usage
from hermes_jobs.features.mcp.rules import ServerListings as ServerState
from hermes_jobs.features.mcp.rules import stream_of
from hermes_jobs.features.mcp.tools import effect_of, needs_approval
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.output import note, one_line, print_fields
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.settings.sections.mcp_servers import McpServer
from hermes_jobs.text.diff import file_diff
from hermes_jobs.text.figures import pluralize
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.events import McpTool, McpToolsListed
    from hermes_jobs.features.mcp.messages import Failed
    from hermes_jobs.interfaces.cli.context import CliContext


READ_ONLY = ("Read-only file system", "EROFS", "read-only file system")
"""How programs say that they may not write."""


class ServerRow(NamedTuple):
    """A server: its entry, and its data in the log, login, and stderr file, if
    any."""

    name: str
    config: McpServer
    state: ServerState
    login: Login | None
    log: Path | None

    @property
    def where(self) -> str:
        """Its command or address, as it is written."""
        if self.config.url is not None:
            return self.config.url
        return shlex.join([self.config.command or "", *self.config.args])

    @property
    def sandbox(self) -> str:
        """The sandbox that its process runs in; "off" for none, "" for one that runs elsewhere."""
        if self.config.command is None or self.config.sandbox == "off":
            return "" if self.config.command is None else "off"
        from hermes_jobs.tools.sandbox import layer
        from hermes_jobs.tools.sandbox_plan import NONE

        name = layer().name
        return "off: this machine has none" if name == NONE else name

    @property
    def status(self) -> str:
        """Its last known state."""
        if not self.config.enabled:
            return "off"
        if self.login is not None and self.login.ended:
            return f"away: {needed(self.name, self.login.ended)}"
        if self.state.failed is not None:
            return f"away: {self.state.failed.message}"
        if self.state.waiting is not None:
            return "changed: waits for you"
        if self.state.usable is None:
            return "not asked yet"
        usable = self.state.usable
        prompts = pluralize(len(usable.prompts), "prompt") if usable.prompts else ""
        left_out = f"{len(usable.left_out)} left out" if usable.left_out else ""
        return ", ".join(filter(None, [pluralize(len(usable.tools), "tool"), left_out, prompts]))


class ToolRow(NamedTuple):
    """A tool of a server, under the entry of that."""

    server: str
    tool: McpTool
    config: McpServer

    @property
    def name(self) -> str:
        """Its name for the model."""
        return full_name(self.server, self.tool.name)


def row_of(context: CliContext, name: str) -> ServerRow:
    """The server of that name."""
    state = context.application.engine().state(stream_of(name))
    assert isinstance(state, ServerState)
    logs = sorted(
        context.settings.paths.run.glob(f"mcp/{name}-*/stderr.log"), key=lambda path: path.stat().st_mtime
    )
    config = context.settings.mcp_servers[name]
    return ServerRow(name, config, state, _login_at(context, name), logs[-1] if logs else None)


def _login_at(context: CliContext, name: str) -> Login | None:
    try:
        return context.application.mcp.launches.login_at(name).file.read()
    except Rejected:
        return None  # it has none


def known_row(context: CliContext, name: str) -> ServerRow:
    """The server of that name. Raises `Rejected` for an unknown one."""
    if name not in context.settings.mcp_servers:
        raise unknown_server(context, name)
    return row_of(context, name)


def unknown_server(context: CliContext, name: str) -> Rejected:
    """The error for an unknown server."""
    names = ", ".join(sorted(context.settings.mcp_servers))
    hint = f"There are: {names}." if names else "None is configured. Add one: hermes-jobs mcp add"
    return Rejected(f"There is no MCP server {name!r}.", kind="unknown", hint=hint)


def try_server(context: CliContext, name: str, *, as_json: bool) -> None:
    """Ask the server for its tools and print them.

    Raises `Rejected` where its entry cannot be used, `SystemExit` after telling why it does not answer.
    """
    from hermes_jobs.features.mcp.messages import Failed

    config = context.settings.mcp_servers[name]
    if not config.enabled:
        raise Rejected(f"{name} is turned off (enabled: false).", kind="usage")
    started = time.monotonic()
    try:
        listed: McpToolsListed | Failed = context.application.mcp.discover(name, os.getcwd())  # noqa: PTH109
    except Rejected as rejection:
        raise Rejected(
            f"{name}: {rejection.message}.", kind=rejection.kind, hint=rejection.hint
        ) from rejection
    took = time.monotonic() - started
    if isinstance(listed, Failed):
        row = row_of(context, name)
        print_result(
            lambda: {**server_json(row), "ok": False, "message": listed.message, "stderr": listed.stderr},
            lambda: print_failure(name, config, listed),
            as_json=as_json,
        )
        raise SystemExit(FAILED)
    with suppress(Rejected):  # it is of use without
        context.application.mcp_reader.resources(name, os.getcwd())  # noqa: PTH109 - for completion
    row = row_of(context, name)
    print_result(
        lambda: {**server_json(row), "ok": True, "seconds": round(took, 3)},
        lambda: print_listing(row, listed, took),
        as_json=as_json,
    )


def tool_rows(row: ServerRow) -> list[ToolRow]:
    """The tools of a server in new sessions."""
    usable = row.state.usable
    return [ToolRow(row.name, tool, row.config) for tool in usable.tools] if usable is not None else []


def server_json(row: ServerRow) -> dict[str, Any]:
    """The server for scripts. Values of its environment and headers are named, never shown."""
    usable, waiting = row.state.usable, row.state.waiting
    listed = usable or waiting
    return {
        "server": row.name,
        "enabled": row.config.enabled,
        "trusted": row.config.trusted,
        "required": row.config.required,
        "sandbox": row.sandbox or None,
        "kind": "http" if row.config.url is not None else "stdio",
        "where": row.where,
        "env": sorted(row.config.env),
        "headers": sorted(row.config.headers),
        "tools": [tool_row.tool.name for tool_row in tool_rows(row)],
        "prompts": [prompt.name for prompt in usable.prompts] if usable else [],
        "left_out": {omitted.name: omitted.reason for omitted in listed.left_out} if listed else {},
        "digest": usable.digest if usable else None,
        "waiting": waiting.digest if waiting else None,
        "away": row.state.failed.message if row.state.failed else None,
        "protocol": listed.protocol if listed else None,
        "version": listed.version if listed else None,
        "listed_at": iso(listed.at) if listed else None,
        "log": str(row.log) if row.log else None,
        "login": _login_json(row.login) if row.login else None,
    }


def _login_json(login: Login) -> dict[str, Any]:
    return {
        "issuer": login.issuer,
        "scope": login.scope,
        "expires_at": iso(login.expires_at) if login.expires_at else None,
        "renews": bool(login.refresh_token),
        "ended": login.ended or None,
        "wanted": login.wanted or None,
    }


def _login_text(login: Login) -> str:
    if login.ended:
        return f"ended: {login.ended}"
    lacks = f"; calls have lacked {login.wanted}" if login.wanted else ""
    return printable(f"at {login.issuer}{f', for {login.scope}' if login.scope else ''}{lacks}")


def diff_of(state: ServerState) -> Iterator[str]:
    """The pending listing compared with the current one: a diff for each changed tool."""
    waiting = state.waiting
    before = {tool.name: tool for tool in state.usable.tools} if state.usable else {}
    after = {tool.name: tool for tool in waiting.tools} if waiting else {}
    colours = {"+": "green", "-": "red"}
    for name in sorted({*before, *after}):
        for line in file_diff(name, _text(before.get(name)), _text(after.get(name))):
            text = printable(line)
            yield click.style(text, fg=colours[line[0]]) if line[:1] in colours else text


def _text(tool: McpTool | None) -> str | None:
    if tool is None:
        return None
    hints = {
        name: value
        for name in ("read_only", "destructive", "idempotent")
        if (value := getattr(tool, name)) is not None
    }
    schema = msgspec.json.format(msgspec.json.encode(tool.parameters, order="sorted"), indent=2).decode()
    return f"{tool.title}\n{tool.description}\n{hints or ''}\n{schema}\n"


def print_failure(name: str, config: McpServer, failed: Failed) -> None:
    """Print why a server failed, its last stderr lines, and a hint."""
    note(f"{name}: {failed.message}.")
    if failed.stderr:
        note("The last lines of its stderr:")
        for line in failed.stderr.splitlines():
            note(f"  {printable(line)}")
    if config.command is not None and any(mark in failed.stderr for mark in READ_ONLY):
        note(
            "It runs in a sandbox, and tried to write elsewhere. To let it: hermes-jobs config set "
            f"mcp_servers.{name}.writable '[DIR]'"
        )
    if config.command is not None:
        note(f"Try it by hand: {shlex.join([config.command, *config.args])}")


def print_listing(row: ServerRow, listed: McpToolsListed, seconds: float) -> None:
    """Print a server's new listing."""
    by = f" by {printable(listed.version)}" if listed.version else ""
    count = pluralize(len(listed.tools), "tool")
    note(f"{row.name}: {count} in {seconds:.1f} s{by}, specification {listed.protocol}.")
    TOOLS.print_list([ToolRow(row.name, tool, row.config) for tool in listed.tools], as_json=False)
    print_prompts(row.name, listed)
    note_left_out(listed)
    if row.state.waiting is not None:
        note(f"Its tools have changed since you accepted them. Review: hermes-jobs mcp accept {row.name}")
    elif not row.config.trusted and listed.tools:
        note(
            "Each call needs your approval. For servers that you trust: --trust, or `trusted: true` in "
            "config.yaml."
        )


def note_left_out(listed: McpToolsListed, server: str = "") -> None:
    """Print the omitted tools, and why; with the name of their server if given."""
    suffix = f" of {server}" if server else ""
    for omitted in listed.left_out:
        note(f"Left out{suffix}: {omitted.name!r}: {omitted.reason}.")


def print_prompts(server: str, listed: McpToolsListed) -> None:
    """The prompts of a server, as they are typed in a chat."""
    if listed.prompts:
        note("Prompts, as slash commands in chat:")
        print_fields(
            [
                (f"/{server}:{prompt.name} {usage(prompt)}".rstrip(), prompt.description)
                for prompt in listed.prompts
            ]
        )


def _fields(row: ServerRow) -> Sequence[tuple[str, str]]:
    listed = row.state.usable
    return [
        ("server", row.name),
        ("status", row.status),
        ("url" if row.config.url else "command", row.where),
        ("env", ", ".join(row.config.env)),
        ("headers", ", ".join(row.config.headers)),
        ("login", _login_text(row.login) if row.login else ""),
        ("sandbox", row.sandbox),
        ("writable", ", ".join(row.config.writable)),
        ("readable", ", ".join(row.config.readable)),
        ("trusted", "yes" if row.config.trusted else "no: its descriptions of effects are ignored"),
        ("required", "yes" if row.config.required else ""),
        ("specification", listed.protocol if listed else ""),
        ("version", printable(listed.version) if listed else ""),
        ("digest", listed.digest if listed else ""),
        ("stderr", str(row.log) if row.log else ""),
    ]


SERVERS: Resource[ServerRow] = Resource(
    (
        Column("SERVER", lambda row: row.name),
        Column("STATUS", lambda row: row.status, is_main=True),
        Column("TRUST", lambda row: "yes" if row.config.trusted else "no", rank=2),
        Column("SANDBOX", lambda row: row.sandbox, rank=3),
        Column("COMMAND OR URL", lambda row: row.where, rank=1),
    ),
    "No MCP servers. To add one, see: hermes-jobs mcp add --help",
    server_json,
    _fields,
)

TOOLS: Resource[ToolRow] = Resource(
    (
        Column("TOOL", lambda row: row.name),
        Column("EFFECT", lambda row: effect_of(row.tool, row.config), rank=2),
        Column("ASKS", lambda row: "yes" if needs_approval(row.tool, row.config) else "no", rank=1),
        Column("WHAT IT DOES", lambda row: one_line(row.tool.description or row.tool.title), is_main=True),
    ),
    "No tools.",
    lambda row: {
        "name": row.name,
        "server": row.server,
        "tool": row.tool.name,
        "description": row.tool.description,
        "effect": effect_of(row.tool, row.config),
        "asks": needs_approval(row.tool, row.config),
        "parameters": row.tool.parameters,
    },
)
