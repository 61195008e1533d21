"""The server of a scripted model: Chat Completions over HTTP on loopback, streamed or not."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from hermes_jobs.features.titles.titles import TITLE_PROMPT
from hermes_jobs.testing.script import (
    MODEL,
    Answer,
    Json,
    Refuse,
    Request,
    completion_chunks,
    counted_usage,
    usage_chunk,
    whole_completion,
)

KEY = "sk-of-nobody"  # other than any word of a test: known secrets are taken out of texts
TITLE_LINE = TITLE_PROMPT.partition("\n")[0]

Chooser = Callable[[Any], Any]
"""The answer to a `Request`: a text, an `Answer` or a `Refuse`; subclasses have others."""


class ScriptedModel:
    """A server of OpenAI's Chat Completions, and the requests that it got. Safe for threads."""

    handler: ClassVar[type[ModelHandler]]
    request: ClassVar[type[Request]] = Request

    def __init__(self, choose: Chooser, *, port: int = 0) -> None:
        self.choose = choose
        self.title: Any = Answer(text="A scripted conversation")
        self.requests: list[Any] = []
        self.titles: list[Any] = []
        self.listed: list[Json] = [{"id": MODEL, "object": "model"}]
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._http = _Http(self, port)

    @property
    def url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def environ(self) -> Mapping[str, str]:
        """This process's environment, with this model instead of any other one."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("HERMES_JOBS_")}
        return {**others, "OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": KEY, "HERMES_JOBS_MODEL": MODEL}

    def serve(self) -> None:
        """Answer requests until `close`."""
        self._http.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        """End every connection; waits for the threads that answer."""
        self._stopping.set()
        self.stop()
        with self._changed:
            open_sockets = list(self._sockets)
        for connection in open_sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def stop(self) -> None:
        """Take no more connections."""
        self._http.shutdown()

    def saw(self, body: Json, headers: dict[str, str]) -> Any:
        """Keep a request."""
        with self._changed:
            seen = self.request(number=len(self.requests), body=body, headers=headers)
            self.requests.append(seen)
            self._changed.notify_all()
        return seen

    def asked_for_title(self, body: Json, headers: dict[str, str]) -> Any:
        """The request, kept apart, if it is for a title; else None."""
        seen = self.request(number=len(self.titles), body=body, headers=headers)
        prompts = [each.get("content") or "" for each in seen.messages if each.get("role") == "system"]
        if not any(
            TITLE_LINE in str(each) for each in (*prompts, body.get("instructions"), body.get("system"))
        ):
            return None
        with self._changed:
            self.titles.append(seen)
            self._changed.notify_all()
        return seen

    def reports(self, usage: Json) -> None:
        """Hear of the usage that an answer says."""

    def pause(self, seconds: float) -> None:
        """Wait as a slow model does, but not when the server is closing."""
        self._stopping.wait(seconds)

    def client_gone(self) -> None:
        """Hear of a client that left before it had its answer."""

    @contextlib.contextmanager
    def connected(self, connection: socket.socket) -> Iterator[None]:
        """Know the connection while it is open."""
        with self._changed:
            self._sockets.add(connection)
        try:
            yield
        finally:
            with self._changed:
                self._sockets.discard(connection)


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 512

    def __init__(self, model: ScriptedModel, port: int) -> None:
        self.model: Any = model
        super().__init__(("127.0.0.1", port), model.handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self.model.connected(request):
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class ModelHandler(BaseHTTPRequestHandler):
    """Answers in the form of Chat Completions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        """List the models."""
        self._send_json(200, {"object": "list", "data": self.server.model.listed})

    def do_POST(self) -> None:
        """Answer a request by the script."""
        body = self._body()
        if not self.path.endswith("/chat/completions"):
            self._send_json(404, {"error": {"message": f"Unknown path {self.path}"}})
            return
        self._reply(body)

    def _body(self) -> Json:
        length = int(self.headers.get("content-length", 0))
        content = self.rfile.read(length)
        if len(content) < length:
            raise ConnectionError("the client has gone")
        body: Json = json.loads(content)
        return body

    def _reply(self, body: Json) -> None:
        model = self.server.model
        headers = {name.lower(): value for name, value in self.headers.items()}
        titled = model.asked_for_title(body, headers)
        seen = titled or model.saw(body, headers)
        try:
            self._act(seen, model.title if titled is not None else self._chosen(seen))
        except ConnectionError:
            model.client_gone()
            self.close_connection = True

    def _chosen(self, seen: Any) -> Any:
        return self.server.model.choose(seen)

    def _act(self, seen: Any, action: Any) -> None:
        if isinstance(action, Refuse):
            error = {"error": {"message": action.message, "type": "scripted", "code": None, "param": None}}
            self._send_json(action.status, error if action.body is None else action.body, action.headers)
            return
        answer = Answer(text=action) if isinstance(action, str) else action
        self.server.model.pause(answer.delay)
        self._answer(seen, answer)

    def _answer(self, seen: Any, answer: Answer) -> None:
        if not seen.body.get("stream"):
            self._report(seen, answer)
            self._send_json(200, self._whole(seen, answer))
            return
        self._begin_stream()
        self._send_chunks(self._chunks(seen, answer), answer.pace)
        self._end_stream(seen, answer)

    def _whole(self, seen: Any, answer: Answer) -> Json:
        return whole_completion(seen, answer)

    def _chunks(self, seen: Any, answer: Answer) -> list[Json]:
        return completion_chunks(seen, answer)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_chunks(self, chunks: Iterable[Json], pace: float = 0.0) -> None:
        for chunk in chunks:
            self._send_event(json.dumps(chunk))
            if pace:
                self.server.model.pause(pace)

    def _end_stream(self, seen: Any, answer: Answer) -> None:
        if self._tells_usage(seen):
            self._report(seen, answer)
            self._send_event(json.dumps(usage_chunk(seen, answer)))
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _tells_usage(self, seen: Any) -> bool:
        return bool((seen.body.get("stream_options") or {}).get("include_usage"))

    def _report(self, seen: Any, answer: Answer) -> None:
        self.server.model.reports(answer.usage or counted_usage(seen.body, answer))

    def _send_event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    def _send_json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(
        self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": content_type, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden method's name
        """Say nothing."""


ScriptedModel.handler = ModelHandler
