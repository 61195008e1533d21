"""A small HTTP server on loopback that answers each path as a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.server_thread import ServerThread


@dataclass(frozen=True)
class Page:
    """An answer. With `hold` it is begun and never finished; `chunks` times the body is sent."""

    body: bytes = b""
    content_type: str | None = "text/plain; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hold: bool = False
    chunks: int = 0


class WebServer:
    """`pages` by path; what was asked for is in `asked`."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.begun = threading.Event()
        self.stopping = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"


@contextmanager
def serving() -> Iterator[WebServer]:
    """The server in a thread."""
    server = WebServer()
    with ServerThread(server.http):
        try:
            yield server
        finally:
            server.stopping.set()


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            page = server.pages.get(self.path.partition("?")[0], Page(b"not here", status=404))
            self.send_response(page.status)
            if page.content_type is not None:
                self.send_header("Content-Type", page.content_type)
            if not page.chunks and not page.hold and "Content-Length" not in page.headers:
                self.send_header("Content-Length", str(len(page.body)))
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                for _ in range(max(1, page.chunks)):
                    self.wfile.write(page.body)
            server.begun.set()
            if page.hold:
                server.stopping.wait()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name for it
            pass

    return Handler
