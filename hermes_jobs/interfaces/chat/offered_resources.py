"""What Tab offers behind an `@` of MCP servers: their names, and behind `@server:` what the server has."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from hermes_jobs.engine.ports import Clock
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.slash import Found

if TYPE_CHECKING:
    from hermes_jobs.agent.mcp.reader import McpResource

KNOWN_SECONDS = 60.0  # after which a server is asked again
OFFERED = 50


class ResourceLister(Protocol):
    """Lists what MCP servers offer, as `McpReader`."""

    @property
    def names(self) -> Sequence[str]:
        """The servers that are on."""

    def resources(self, server: str, workdir: str) -> Sequence[McpResource]:
        """What the server has. Raises `Rejected`."""


class OfferedResources:
    """Asks each server once in a while, when it is named. For several threads."""

    def __init__(self, reader: Callable[[], ResourceLister], clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Sequence[McpResource]]] = {}

    def that_begin(self, begun: str, folder: str) -> Found:
        """Mentions that go on from what was typed behind the `@`, each with what it is."""
        reader = self._reader()
        server, colon, rest = begun.removeprefix('"').partition(":")
        if not colon:
            return [
                (f"@{name}:", "MCP server")
                for name in reader.names
                if name.casefold().startswith(begun.casefold())
            ]
        if server not in reader.names:
            return []
        return list(self._fitting(reader, server, rest.casefold(), folder))[:OFFERED]

    def _fitting(
        self, reader: ResourceLister, server: str, begun: str, folder: str
    ) -> Iterator[tuple[str, str]]:
        for each in self._resources(reader, server, folder):
            fits = each.uri.casefold().startswith(begun) or (len(begun) > 1 and begun in each.name.casefold())
            about = each.description or each.name
            if fits:
                yield each.mention, f"{each.uri}: {about}" if each.is_template else about

    def _resources(self, reader: ResourceLister, server: str, folder: str) -> Sequence[McpResource]:
        with self._lock:
            at, found = self._known.get(server, (float("-inf"), ()))
            if self._clock.monotonic() - at > KNOWN_SECONDS:
                try:
                    found = reader.resources(server, folder)
                except HermesJobsError:
                    found = ()  # what cannot be read is not offered
                self._known[server] = (self._clock.monotonic(), found)
            return found
