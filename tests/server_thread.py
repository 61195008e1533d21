"""A server on loopback, answering in a thread of the test's own process."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from typing import Self


class ServerThread:
    """Answers until it is closed, which ends the wait for the next request.

    `serve_forever` looks twice a second whether it should end: with hundreds of servers, these waits add up.
    """

    def __init__(self, server: socketserver.TCPServer, name: str = "server") -> None:
        self._server = server
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name=name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests; those that are being answered continue."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def close(self) -> None:
        """Stop, and let go of the port; a server without daemon threads waits for its answers."""
        self.stop()
        self._server.server_close()

    def _serve(self) -> None:
        while not self._closing:
            self._server.handle_request()
