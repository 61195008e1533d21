"""Attaches resources of MCP servers that a text mentions as `@server:URI`.

They are untrusted: suspected attacks on the agent are removed, and a fence names the server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.turns.text import Inputs, fenced
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.reader import McpContent

MENTION = re.compile(r'(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))')
ENDS = ".,;:!?)]}'"  # what may stand behind a path in a sentence


class ResourceReader(Protocol):
    """Reads what MCP servers offer, as `McpReader`."""

    @property
    def names(self) -> Sequence[str]:
        """The servers that are on."""

    def read(self, server: str, uri: str, workdir: str) -> Sequence[McpContent]:
        """The parts of a resource. Raises `Rejected`."""


def may_name_resources(text: str) -> bool:
    """Whether there is a word such as `@server:URI`, for any server."""
    return any(":" in (match["quoted"] or match["plain"]) for match in MENTION.finditer(text))


def mentioned_resources(
    text: str, inputs: Inputs, reader: ResourceReader, folder: str
) -> tuple[Sequence[str], Sequence[str]]:
    """The mentioned resources, each once, as parts of a turn's text; with a note on each.

    Raises a usage error for a resource that is not text, too large, or refused by its server.
    """
    mentions = (match["quoted"] or match["plain"].rstrip(ENDS) for match in MENTION.finditer(text))
    parts, notes = [], []
    for name in dict.fromkeys(mentions):
        server, uri = resource_named(name, reader.names)
        if not uri:
            continue
        try:
            part, message = resource_part(inputs, reader, server, uri, folder)
        except Rejected as rejection:
            raise Rejected(rejection.message, kind="usage", hint=rejection.hint) from rejection
        parts.append(part)
        notes.append(message)
    return parts, notes


def origin_of(servers: Sequence[str]) -> str:
    """The origin of a text with what these servers say; empty for none."""
    return ", ".join(f"the MCP server {server}" for server in dict.fromkeys(servers))


def resources_in(text: str, servers: Sequence[str]) -> Sequence[str]:
    """The servers whose resources the text mentions."""
    mentions = (match["quoted"] or match["plain"].rstrip(ENDS) for match in MENTION.finditer(text))
    named = (resource_named(name, servers) for name in mentions)
    return [server for server, uri in named if uri]


def resource_named(name: str, servers: Sequence[str]) -> tuple[str, str]:
    """The server and the address of a resource that is named as `server:URI`; else the address is empty."""
    server, _, uri = name.partition(":")
    return server, uri if server in servers else ""


def resource_part(
    inputs: Inputs, reader: ResourceReader, server: str, uri: str, folder: str
) -> tuple[str, str]:
    """The resource as a part of a turn's text, with a note. Raises `Rejected`, usage errors."""
    from hermes_jobs.prompt.project_files import redact_findings_in
    from hermes_jobs.tools.output import clean

    data = b"\n".join(mcp_content.data for mcp_content in reader.read(server, uri, folder))
    try:
        content = redact_findings_in(clean(inputs.read(BytesIO(data), f"{server}:{uri}")))
    except click.UsageError as wrong:
        reason = wrong.message.partition("\n")[0]
        raise click.UsageError(
            f"{reason}\nWrite it to a file: hermes-jobs mcp read {server} {uri} > FILE"
        ) from wrong
    part = fenced(f"What the MCP server {server} says at {uri}", content)
    return part, f"· with {server}:{uri} ({pluralize(len(content.splitlines()), 'line')})"
