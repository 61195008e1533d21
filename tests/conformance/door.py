"""`/mcp` of `hermes-jobs serve`, before the suite: a proxy that adds the key, which the suite cannot send.

All else passes as it comes, in both directions. The proxy's own address in `Host` and `Origin` becomes that
of `serve`; another one, with which the suite tries what a page elsewhere could do, stays.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests.home import Home
from tests.serve.test_doors import served

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade"}


class Door(ThreadingHTTPServer):
    """The proxy, on a free port of the loopback."""

    daemon_threads = True

    def __init__(self, target: str, key: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.own = f"127.0.0.1:{self.server_address[1]}"
        self.target = target.removeprefix("http://")
        self.key = key


class Handler(BaseHTTPRequestHandler):
    """One exchange, whose answer ends with the connection."""

    server: Door

    def do_POST(self) -> None:
        self._pass("POST")

    def do_GET(self) -> None:
        self._pass("GET")

    def do_DELETE(self) -> None:
        self._pass("DELETE")

    def _pass(self, method: str) -> None:
        door = self.server
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {
            name: value.replace(door.own, door.target).replace(f"localhost:{door.server_port}", door.target)
            for name, value in self.headers.items()
            if name.lower() not in HOP_BY_HOP
        }
        headers["Authorization"] = f"Bearer {door.key}"
        url = f"http://{door.target}{self.path}"
        with httpx.stream(method, url, content=body, headers=headers, timeout=120) as answer:
            self.send_response(answer.status_code)
            self._send(answer.headers)
            with suppress(httpx.HTTPError, OSError):  # a stream ends with either side
                for part in answer.iter_raw():
                    self.wfile.write(part)

    def _send(self, headers: Mapping[str, str]) -> None:
        for name, value in headers.items():
            if name not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
        """Nothing: what matters is in the suite's report."""


@contextmanager
def served_door(folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """The address of the proxy before a `serve` of a new home, with a key that may send turns."""
    home = Home(folder, environ)
    key = home.run("keys", "add", "suite", "--scope", "mcp", "--scope", "chat").out.strip()
    with served(home) as (url, _link), Door(url, key) as door:
        threading.Thread(target=door.serve_forever, daemon=True).start()
        yield f"http://{door.own}/mcp"
        door.shutdown()
