"""Keeps the process ready from which connectors of MCP servers are forked, while servers are configured.

It imports the SDK, which takes longer than most servers take to start: so the first call of a home waits for
its server only. No server is started by it, and a home without servers has no such process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from hermes_jobs.agent.mcp.config import McpServer

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

LOOK_EVERY = 2.0  # seconds between looks at the settings, which are two `stat`


class ConnectorHost(Protocol):
    """The process of this host and home, as `Servers` holds it."""

    def prepare(self) -> None:
        """Start it without waiting, where there is none, and hold it."""

    def let_host_go(self) -> None:
        """Hold it no more; it ends when nobody does."""


class ConnectorPreparation:
    """A thread of a process that works. It holds the other one from the first look at which a server is on
    until the first at which none is. `configured` gives the servers as the settings say now.

    One that has ended by itself is not started again: the next session with servers, or the next server
    that is started, does that.
    """

    def __init__(self, configured: Callable[[], Mapping[str, McpServer]], host: ConnectorHost) -> None:
        self._configured = configured
        self._host = host
        self._is_wanted = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="connector-preparation", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()

    def look(self) -> None:
        """Hold the process or let it go, where the settings have changed so."""
        is_wanted = any(each.enabled for each in self._configured().values())
        if is_wanted == self._is_wanted:
            return
        self._is_wanted = is_wanted
        if is_wanted:
            self._host.prepare()
        else:
            self._host.let_host_go()

    def _run(self) -> None:
        self.look()
        while not self._stopping.wait(LOOK_EVERY):
            self.look()


def connector_preparation(application: Application) -> ConnectorPreparation:
    """That of a process which works for this application's home."""
    return ConnectorPreparation(lambda: application.live.current().mcp_servers, application.mcp_connections)
