"""Servers on the loopback that are anything but what is looked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.server_thread import ServerThread


@contextmanager
def serving(answers: dict[str, tuple[int, Any]]) -> Iterator[str]:
    """A server on the loopback with an answer (status and body) for each path; else 404 as text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, "404 page not found"))
            is_text = isinstance(body, str)
            content = body.encode() if is_text else json.dumps(body).encode()
            kind = "application/json"
            if is_text:
                kind = "text/html" if body.startswith("<") else "text/plain"
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden method's name
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with ServerThread(server):
        yield f"http://127.0.0.1:{server.server_port}"
