"""Resources and prompts of servers, read for a person who names them.

A server wrote them: what is shown of them is cleaned, and anything may be missing or wrong.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_jobs.agent.mcp.catalogue import clean
from hermes_jobs.agent.mcp.launches import Launches
from hermes_jobs.agent.mcp.messages import Failed, Inquiry, decoded
from hermes_jobs.agent.mcp.prompts import LONGEST_LINE, line, text_of
from hermes_jobs.agent.mcp.servers import Servers
from hermes_jobs.agent.mcp.sessions import Never
from hermes_jobs.errors import Rejected


class McpResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a server, or a template: its `uri` has places such as `{name}` that a person fills in."""

    server: str
    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    is_template: bool = False

    @property
    def mention(self) -> str:
        """How it is named in a chat, up to the first place to be filled in."""
        word = f"{self.server}:{self.uri.partition('{')[0] if self.is_template else self.uri}"
        return f'@"{word}"' if " " in word else f"@{word}"


class McpContent(msgspec.Struct, frozen=True, kw_only=True):
    """One part of what a resource holds, by its own address."""

    uri: str
    mime_type: str
    data: bytes


class McpReader:
    """Asks the servers of one configuration. For several threads."""

    def __init__(self, launches: Launches, servers: Servers) -> None:
        self._launches = launches
        self._servers = servers

    @property
    def names(self) -> tuple[str, ...]:
        """The servers that are on, sorted."""
        return tuple(sorted(self._launches.config))

    def resources(self, server: str, workdir: str) -> tuple[McpResource, ...]:
        """What the server has, then its templates, each by address. Raises `Rejected`."""
        found = self._ask(server, workdir, "resources", {})
        entries = [
            *(_resource(server, each, "uri") for each in _dicts(found.get("resources"))),
            *(_resource(server, each, "uriTemplate") for each in _dicts(found.get("templates"))),
        ]
        return tuple(
            sorted((each for each in entries if each.uri), key=lambda each: (each.is_template, each.uri))
        )

    def read(self, server: str, uri: str, workdir: str) -> tuple[McpContent, ...]:
        """The parts of a resource. Raises `Rejected`."""
        found = self._ask(server, workdir, "read", {"uri": uri})
        parts = tuple(_content(each) for each in _dicts(found.get("contents")))
        if not parts:
            raise Rejected(f"{server} has nothing at {uri}.", kind="mcp")
        return parts

    def prompt(self, server: str, name: str, arguments: Mapping[str, str], workdir: str) -> str:
        """The text of a prompt with those arguments. Raises `Rejected`."""
        return text_of(self._ask(server, workdir, "prompt", {"name": name, "arguments": arguments}))

    def _ask(self, server: str, workdir: str, what: Inquiry, arguments: Mapping[str, Any]) -> dict[str, Any]:
        config = self._launches.config.get(server)
        if config is None:
            known = ", ".join(self.names) or "none"
            raise Rejected(
                f"There is no MCP server {server!r} that is on. There are: {known}.", kind="unknown"
            )
        try:
            launch = self._launches.launch(server, workdir)
        except Rejected as refused:
            raise Rejected(f"{server}: {refused.message}.", kind=refused.kind, hint=refused.hint) from refused
        reply = self._servers.inquire(launch, what, msgspec.json.encode(arguments), config.timeout, Never())
        if isinstance(reply, Failed):
            hint = "" if reply.kind in {"login", "scope", "refused"} else f"hermes-jobs mcp test {server}"
            raise Rejected(f"{server}: {clean(reply.message)[:LONGEST_LINE]}.", kind="mcp", hint=hint)
        found = decoded(reply.content)
        return found if isinstance(found, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _resource(server: str, given: Mapping[str, Any], address: str) -> McpResource:
    uri = given.get(address)
    return McpResource(
        server=server,
        uri=uri if isinstance(uri, str) and uri == clean(uri) and "\n" not in uri else "",
        name=line(given.get("title")) or line(given.get("name")),
        description=line(given.get("description")),
        mime_type=line(given.get("mimeType")),
        is_template=address != "uri",
    )


def _content(given: Mapping[str, Any]) -> McpContent:
    text, blob = given.get("text"), given.get("blob")
    try:
        data = text.encode() if isinstance(text, str) else base64.b64decode(str(blob or ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Rejected(f"What is at {line(given.get('uri'))} could not be read.", kind="mcp") from error
    return McpContent(uri=line(given.get("uri")), mime_type=line(given.get("mimeType")), data=data)
