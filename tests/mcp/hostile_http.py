"""An MCP server over HTTP that misbehaves as a test says: what it does at a method is one of the functions
below, and all else it answers as the specification demands, in either era.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.server_thread import ServerThread

MB = 1 << 20
NONE = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "note", "description": "Write it down.", "inputSchema": NONE},
    {"name": "other", "description": "Anything else.", "inputSchema": NONE},
]


@dataclass
class HostileServer:
    """What a test sets and sees. `at`: what is done at a method; `calls`: the tools that were called, `gone`:
    released when a client has left a request that was not answered."""

    url: str = ""
    modern: bool = False
    at: dict[str, Behaviour] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    session: int = 1
    ended: threading.Event = field(default_factory=threading.Event)
    gone: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


Behaviour = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    home: HostileServer

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = str(message.get("method", ""))
        self.home.asked.append(method)
        if method == "tools/call":
            self.home.calls.append(message["params"]["name"])
        behaviour = self.home.at.get(method, proper)
        with suppress(OSError):
            behaviour(self, message)

    def do_GET(self) -> None:
        self.home.asked.append("GET")
        with suppress(OSError):
            self.home.at.get("GET", status(405))(self, {})

    def do_DELETE(self) -> None:
        self.home.asked.append("DELETE")
        with suppress(OSError):
            self.home.at.get("DELETE", status(200))(self, {})

    def answer(self, code: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self, kind: str) -> None:
        """Begin an answer whose end is the end of the connection."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def until_gone(self, piece: bytes = b"", every: float = 0.02) -> None:
        """Send the piece again and again, until the client has left or the test has ended."""
        try:
            while not self.home.ended.wait(every):
                self.wfile.write(piece)
                if not piece:
                    self.connection.settimeout(every)
                    with suppress(TimeoutError):
                        if self.connection.recv(1) == b"":
                            break
        except OSError:
            pass
        self.home.gone.release()
        self.close_connection = True

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


# --- what it may do at a method ---------------------------------------------------------------------


def proper(handler: Handler, message: dict[str, Any]) -> None:
    """What the specification demands."""
    if "id" not in message:
        handler.answer(202, b"")
        return
    headers = {} if handler.home.modern else {"Mcp_Session_Id": str(handler.home.session)}
    known = handler.headers.get("Mcp-Session-Id")
    if known is not None and known != str(handler.home.session):
        handler.answer(404, error(message, -32001, "Session not found"))
        return
    result = _result(handler.home, message)
    body = error(message, -32601, "no such method") if result is None else _encoded(message, result=result)
    handler.answer(200, body, **headers)


def _result(home: HostileServer, message: dict[str, Any]) -> dict[str, Any] | None:
    about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "hostile", "version": "1"}}
    modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if home.modern else {}
    match message["method"]:
        case "server/discover" if home.modern:
            return {"supportedVersions": ["2026-07-28"], **about, **modern}
        case "initialize" if not home.modern:
            return {"protocolVersion": "2025-11-25", **about}
        case "tools/list":
            return {"tools": TOOLS, **modern}
        case "tools/call":
            complete = {"resultType": "complete"} if home.modern else {}
            return {"content": [{"type": "text", "text": "done"}], **complete}
    return None


def _encoded(message: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **more}).encode()


def error(message: dict[str, Any], code: int, text: str) -> bytes:
    return _encoded(message, error={"code": code, "message": text})


def hang(handler: Handler, _message: dict[str, Any]) -> None:
    """Answer nothing at all."""
    handler.until_gone()


def drop(handler: Handler, _message: dict[str, Any]) -> None:
    """End the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def drop_in_json(handler: Handler, _message: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"jsonrpc": "2.0", ')
    handler.close_connection = True


def drop_in_sse(handler: Handler, _message: dict[str, Any]) -> None:
    handler.begin("text/event-stream")
    handler.wfile.write(b': hello\n\ndata: {"jsonrpc": ')


def flood_json(handler: Handler, _message: dict[str, Any]) -> None:
    handler.begin("application/json")
    handler.wfile.write(b'{"jsonrpc": "2.0", "x": "')
    for _ in range(50):
        handler.wfile.write(b"x" * MB)


def flood_sse(handler: Handler, _message: dict[str, Any]) -> None:
    handler.begin("text/event-stream")
    handler.wfile.write(b"data: ")
    for _ in range(50):
        handler.wfile.write(b"x" * MB)


def bomb(handler: Handler, _message: dict[str, Any]) -> None:
    """A body of 50 MB in 50 KB, which nobody has asked for."""
    handler.answer(200, gzip.compress(b" " * (50 * MB)), Content_Encoding="gzip")


def redirect(location: str) -> Behaviour:
    def behaviour(handler: Handler, _message: dict[str, Any]) -> None:
        handler.answer(307, b"", Location=location)

    return behaviour


def status(code: int, **headers: str) -> Behaviour:
    def behaviour(handler: Handler, _message: dict[str, Any]) -> None:
        handler.answer(code, b"<h1>No</h1>", "text/html", **headers)

    return behaviour


def refuse(code: int, text: str) -> Behaviour:
    """A status with an error of JSON-RPC."""

    def behaviour(handler: Handler, message: dict[str, Any]) -> None:
        handler.answer(code, error(message, -32600, text))

    return behaviour


def page(handler: Handler, _message: dict[str, Any]) -> None:
    handler.answer(200, b"<h1>Welcome</h1>", "text/html")


def rubbish(handler: Handler, _message: dict[str, Any]) -> None:
    handler.answer(200, b'{"jsonrpc": 2, ')


def rubbish_in_sse(handler: Handler, _message: dict[str, Any]) -> None:
    handler.begin("text/event-stream")
    handler.wfile.write(b"data: {rubbish}\n\n")


def endless_sse(handler: Handler, _message: dict[str, Any]) -> None:
    handler.begin("text/event-stream")
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}})
    handler.until_gone(f"data: {note}\n\n".encode())


def drip(handler: Handler, _message: dict[str, Any]) -> None:
    """A byte of the body now and then."""
    handler.begin("application/json")
    handler.until_gone(b" ")


@contextmanager
def hostile_server(*, modern: bool = False) -> Iterator[HostileServer]:
    """One that answers on loopback."""
    home = HostileServer(modern=modern)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"home": home}))
    server.daemon_threads = True
    server.handle_error = lambda *_arguments: None  # type: ignore[method-assign]  # clients leave
    home.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    with ServerThread(server):
        yield home
        home.ended.set()
