"""The HTTP APIs of Mem0 and Honcho on loopback, as far as their clients ask for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.server_thread import ServerThread

NOW = "2026-11-01T12:00:00Z"


class Asked:
    """A request that the service got."""

    def __init__(self, method: str, path: str, query: dict[str, str], body: Any, key: str) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.key = key


Answer = Callable[[Asked], tuple[int, Any]]


class Service:
    """Notes what it is asked and answers as told. Used as a context manager."""

    def __init__(self, answer: Answer) -> None:
        self.prompt: list[Asked] = []
        self._answer = answer
        handler = type("Handler", (_Handler,), {"service": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = ServerThread(self._server)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Service:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._thread.close()

    def reply(self, asked: Asked) -> tuple[int, Any]:
        self.prompt.append(asked)
        return self._answer(asked)

    def of(self, path: str) -> list[Asked]:
        """The requests to a path, a pattern."""
        return [each for each in self.prompt if re.fullmatch(path, each.path)]


class _Handler(BaseHTTPRequestHandler):
    service: Service

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        key = self.headers.get("Authorization", "")
        asked = Asked(self.command, parts.path, query, json.loads(text) if text else None, key)
        status, body = self.service.reply(asked)
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_PUT = _serve

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        """Nothing."""


@contextmanager
def mem0(facts: list[str], status: int = 200) -> Iterator[Service]:
    """Mem0, which knows these facts."""

    def answer(asked: Asked) -> tuple[int, Any]:
        if asked.path == "/v1/ping/":
            return 200, {"status": "ok", "user_email": None, "org_id": "o", "project_id": "p"}
        if asked.path == "/v3/memories/search/":
            results = [{"id": str(at), "memory": fact, "score": 0.5} for at, fact in enumerate(facts)]
            return status, {"results": results} if status == 200 else {"detail": "out of order"}
        if asked.path == "/v3/memories/add/":
            return status, {"message": "ok", "status": "PENDING", "event_id": "e1"}
        return 404, {"detail": f"unknown: {asked.path}"}

    with Service(answer) as service:
        yield service


@contextmanager
def honcho(card: list[str], picture: str) -> Iterator[Service]:
    """Honcho, with this picture of the user."""

    def answer(asked: Asked) -> tuple[int, Any]:
        made = {"workspace_id": "hermes-jobs", "created_at": NOW, "metadata": {}, "configuration": {}}
        match asked.path.removeprefix("/v3/").split("/"):
            case ["workspaces"]:
                return 200, {**made, "id": asked.body["id"]}
            case ["workspaces", _, "peers"]:
                return 200, {**made, "id": asked.body["id"]}
            case ["workspaces", _, "sessions"]:
                return 200, {**made, "id": asked.body["id"], "is_active": True}
            case ["workspaces", _, "peers", peer, "context"]:
                return 200, {
                    "peer_id": peer,
                    "target_id": peer,
                    "representation": picture,
                    "peer_card": card,
                }
            case ["workspaces", _, "peers", _, "chat"]:
                return 200, {"content": "They like tea."}
            case ["workspaces", workspace, "sessions", session, "messages"]:
                return 201, [
                    {
                        **made,
                        "workspace_id": workspace,
                        "id": str(at),
                        "session_id": session,
                        "token_count": 1,
                        **message,
                    }
                    for at, message in enumerate(asked.body["messages"])
                ]
            case _:
                return 404, {"message": f"unknown: {asked.path}"}

    with Service(answer) as service:
        yield service
