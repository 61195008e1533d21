"""`hermes-jobs mcp serve` over HTTP, since the suite tests no server over stdio: one process a session.

Requests are answered as JSON, without a stream: between them the server cannot ask or tell a client anything.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.home import PATIENCE
from tests.processes import ROOT, fork

COMMAND = ("hermes_jobs", "mcp", "serve", "--allow", "send")
IMPORTED = ("hermes_jobs.features.mcp.serve.server",)  # most of the time of a session's start
SESSION = "mcp-session-id"
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Session:
    """A server's process; requests wait for the answers with their ids."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        stdin, requests = os.pipe()
        answers, stdout = os.pipe()
        streams = (stdin, stdout, 2)
        self._process = fork(COMMAND, streams, environ=environ, folder=ROOT, imported=IMPORTED)
        os.close(stdin)
        os.close(stdout)
        self._requests = os.fdopen(requests, "w")
        self._lines = os.fdopen(answers)
        self._answers: dict[Any, Any] = {}
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def send(self, message: Any) -> Any:
        """The answer to a request; None for a notification."""
        with self._changed:
            self._requests.write(json.dumps(message) + "\n")
            self._requests.flush()
            if "id" not in message or "method" not in message:
                return None
            self._changed.wait_for(lambda: message["id"] in self._answers, PATIENCE)
            return self._answers.pop(message["id"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._reading.join()
        self._requests.close()
        self._lines.close()

    def _read(self) -> None:
        for line in self._lines:
            message = json.loads(line)
            with self._changed:
                if "method" not in message:
                    self._answers[message["id"]] = message
                    self._changed.notify_all()


class Bridge(ThreadingHTTPServer):
    """Streamable HTTP with JSON answers, on a free port of the loopback."""

    daemon_threads = True

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.environ = environ
        self.sessions: dict[str, Session] = {}

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def server_close(self) -> None:
        """Stop listening, and end the servers."""
        super().server_close()
        for session in self.sessions.values():
            session.close()


class Handler(BaseHTTPRequestHandler):
    """One exchange."""

    protocol_version = "HTTP/1.1"
    server: Bridge

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self._is_local():
            self._answer(403, b"")
            return
        message = json.loads(body)
        name = self.headers.get(SESSION) or uuid.uuid4().hex
        if name not in self.server.sessions:
            self.server.sessions[name] = Session(self.server.environ)
        answer = self.server.sessions[name].send(message)
        if answer is None:
            self._answer(202, b"")
        else:
            self._answer(200, json.dumps(answer).encode(), {SESSION: name})

    def do_GET(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        session = self.server.sessions.pop(self.headers.get(SESSION, ""), None)
        if session is not None:
            session.close()
        self._answer(200, b"")

    def _is_local(self) -> bool:
        """Whether both headers that a page elsewhere could not set name this machine."""
        origin = self.headers.get("origin", "").partition("://")[2]
        names = [name.rpartition(":")[0] or name for name in (self.headers.get("host", ""), origin) if name]
        return all(name in LOCAL for name in names)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
        """Nothing: what matters is in the suite's report."""


def serving(environ: Mapping[str, str]) -> Bridge:
    """A bridge to the server of the home that these variables name, which listens."""
    bridge = Bridge(environ)
    threading.Thread(target=bridge.serve_forever, daemon=True).start()
    return bridge
