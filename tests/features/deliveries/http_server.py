"""A receiver of webhooks on the loopback: it keeps what arrives and answers as the test says."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from tests.server_thread import ServerThread


class Received(msgspec.Struct, frozen=True):
    """A request. Header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


class Reply(msgspec.Struct, frozen=True):
    """What is answered; `held`: nothing, until the receiver closes."""

    status: int = 200
    headers: dict[str, str] = {}
    held: bool = False


class Receiver:
    """Answers with the replies in `replies`, then with 200."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.replies: deque[Reply] = deque()
        self.closing = threading.Event()
        self.arrived = threading.Event()
        self._http = _Http(self)
        self._thread = ServerThread(self._http, "receiver")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/hook?room=1"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.closing.set()
        self._thread.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        receiver = self.server.receiver
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.received.append(Received(self.path, headers, body))
        receiver.arrived.set()
        reply = receiver.replies.popleft() if receiver.replies else Reply()
        if reply.held:
            receiver.closing.wait()
            return
        with contextlib.suppress(ConnectionError):
            self.send_response(reply.status)
            for name, value in {"content-length": "0", **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden method's name
        """Say nothing."""


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
