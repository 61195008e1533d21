"""Completions for MCP servers after an `@`: their names, and after `@server:` the server's resources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from hermes_jobs.engine.ports import Clock
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.interfaces.chat.slash import Found

if TYPE_CHECKING:
    from hermes_jobs.agent.mcp.resources import McpResource

KNOWN_SECONDS = 60.0  # seconds after which a running server is listed again
OFFERED = 50


class ResourceLister(Protocol):
    """Lists what MCP servers offer, as `McpReader`."""

    @property
    def names(self) -> Sequence[str]:
        """The names of enabled servers."""

    def known(self, server: str) -> Sequence[McpResource]:
        """The server's last known resources, without a request."""

    def is_running(self, server: str, workdir: str) -> bool:
        """Whether the server is running."""

    def resources(self, server: str, workdir: str) -> Sequence[McpResource]:
        """The server's resources; stored for `known`. Raises `Rejected`."""


class OfferedResources:
    """Offers what servers have listed last. One that runs is asked again, once in a while; none is started.

    For several threads.
    """

    def __init__(self, reader: Callable[[], ResourceLister], clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: dict[str, float] = {}

    def that_begin(self, begun: str, folder: str) -> Found:
        """Mentions that begin with the text typed after the `@`, each with a description."""
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
        self._ask_again(reader, server, folder)
        known = reader.known(server)
        if not known:
            return [(f"@{server}:", f"not known yet: hermes-jobs mcp resources {server}")] if not rest else []
        return list(_fitting(known, rest.casefold()))[:OFFERED]

    def _ask_again(self, reader: ResourceLister, server: str, folder: str) -> None:
        with self._lock:
            now = self._clock.monotonic()
            is_due = now - self._asked_at.get(server, float("-inf")) > KNOWN_SECONDS
            if is_due and reader.is_running(server, folder):
                self._asked_at[server] = now
                with suppress(HermesJobsError):  # the known ones stay
                    reader.resources(server, folder)


def _fitting(known: Sequence[McpResource], begun: str) -> Iterator[tuple[str, str]]:
    for each in known:
        fits = each.uri.casefold().startswith(begun) or (len(begun) > 1 and begun in each.name.casefold())
        about = each.description or each.name
        if fits:
            yield each.mention, f"{each.uri}: {about}" if each.is_template else about
