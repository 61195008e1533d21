"""Keeps the process ready from which connectors of MCP servers are forked, while servers are configured.

The process imports the SDK, which takes longer than the start of most servers. So the first call of a home
waits for its server only. It starts no server, and a home without servers has no such process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from hermes_jobs.settings.sections.mcp_servers import McpServer

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

POLL_SECONDS = 2.0  # seconds between checks of the settings, which are two `stat`


class ConnectorHost(Protocol):
    """The process of this host and home, as `Servers` holds it."""

    def prepare(self) -> None:
        """Start the process without waiting, if there is none, and hold it."""

    def let_host_go(self) -> None:
        """Release the process; it ends without a holder."""


class ConnectorPreparation:
    """A thread of a worker process that holds the other process while a server is enabled. `configured`
    returns the servers of the current settings.

    It does not restart a process that has ended by itself: the next session with servers, or the next start
    of a server, does that.
    """

    def __init__(self, configured: Callable[[], Mapping[str, McpServer]], host: ConnectorHost) -> None:
        self._configured = configured
        self._host = host
        self._is_needed = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="connector-preparation", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopping.set()

    def poll(self) -> None:
        """Hold or release the process after a change of the settings."""
        is_needed = any(server.enabled for server in self._configured().values())
        if is_needed == self._is_needed:
            return
        self._is_needed = is_needed
        if is_needed:
            self._host.prepare()
        else:
            self._host.let_host_go()

    def _run(self) -> None:
        self.poll()
        while not self._stopping.wait(POLL_SECONDS):
            self.poll()


def connector_preparation(application: Application) -> ConnectorPreparation:
    """That of a process which works for this application's home."""
    return ConnectorPreparation(
        lambda: application.live.current().mcp_servers, application.shared.mcp_connections
    )
