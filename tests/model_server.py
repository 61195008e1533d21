"""A scripted OpenAI-compatible server over real HTTP on the loopback, in a thread or as a process.

    python -m tests.model_server --script FILE --port 0 --record FILE

prints its base URL, and answers `POST …/chat/completions` and `POST …/responses` (streamed or not) by the
script (see `tests.model_script`) until it is stopped or its standard input ends. With `--record` each request
body is a line of that file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol, Self, assert_never

import msgspec

from hermes_jobs.features.titles.titles import TITLE_PROMPT
from tests.embeddings_api import BadInput, embedded
from tests.model_responses import response_events, whole_response
from tests.model_script import (
    Action,
    Answer,
    Chooser,
    Drop,
    Hold,
    Raw,
    Refuse,
    Script,
    Seen,
    chooser,
    completion_chunks,
    counted_usage,
    usage_chunk,
    whole_completion,
)
from tests.server_thread import ServerThread

TITLE_LINE = TITLE_PROMPT.partition("\n")[0]
PATIENCE = 90.0  # seconds after which a wait for something that never happens fails
GLANCE = 0.02  # seconds between two looks at whether a held request's client is still there


class ServerRules(Protocol):
    """One provider's rules. See `tests.providers`."""

    def refusal(self, seen: Seen) -> Refuse | None:
        """The answer to a request that breaks a rule."""

    def chunks(self, seen: Seen, answer: Answer) -> list[dict[str, Any]]:
        """The answer as the provider streams it."""


class ModelServer:
    """The server and what it saw. `script` is a `Script`, a list of actions, or a function of the request.

    `rules` are what a provider enforces of requests and attaches to answers; without them all is forgiven.
    `reported` is the usage that went out with answers, in their order. Requests for a session's title are
    kept in `titles`, apart from `requests`, and answered with `title` instead of by the script. Those for
    vectors are in `embeddings`, and answered by the rules of `tests.embeddings_api` unless `no_embeddings`
    refuses them. `listed` are the models that it lists.
    """

    handler: type[BaseHTTPRequestHandler]

    def __init__(
        self,
        script: Script | Iterable[Action] | Chooser = (),
        *,
        port: int = 0,
        record: Path | None = None,
        rules: ServerRules | None = None,
    ) -> None:
        self.choose = chooser(script)
        self.title: Action = Answer(text="A scripted conversation")
        self.titles: list[Seen] = []
        self.embeddings: list[dict[str, Any]] = []
        self.no_embeddings: Refuse | None = None
        self.rules = rules
        self.requests: list[Seen] = []
        self.reported: list[dict[str, Any]] = []
        self.listed: list[dict[str, Any]] = [{"id": "scripted", "object": "model"}]
        self.disconnects = 0
        self._record = record
        self._changed = threading.Condition()
        self._released = threading.Event()
        self._stopping = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._http = _Http(self, port)
        self._thread = ServerThread(self._http, "model-server")

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def follow(self, script: Script | Iterable[Action] | Chooser) -> None:
        """Answer by this script from now on."""
        self.choose = chooser(script)

    def release(self) -> None:
        """Let all held requests continue, and those that come to be held later too."""
        self._released.set()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the server sees has made this true. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(condition, PATIENCE):
                raise TimeoutError(f"{len(self.requests)} requests, {self.disconnects} disconnects so far")

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End every connection and thread."""
        self._stopping.set()
        self._released.set()
        self._thread.stop()
        with self._changed:
            open_sockets = list(self._sockets)
        for connection in open_sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def saw(self, body: dict[str, Any], headers: dict[str, str]) -> Seen:
        """Keep a request."""
        with self._changed:
            seen = Seen(number=len(self.requests), body=body, headers=headers)
            self.requests.append(seen)
            if self._record is not None:
                with self._record.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(body, ensure_ascii=False) + "\n")
            self._changed.notify_all()
        return seen

    def asked_for_vectors(self, body: dict[str, Any]) -> Refuse | None:
        """Keep the request; the refusal, if it is to be refused."""
        with self._changed:
            self.embeddings.append(body)
            self._changed.notify_all()
            return self.no_embeddings

    def asked_for_title(self, body: dict[str, Any], headers: dict[str, str]) -> Seen | None:
        """The request, kept, if it is for a title."""
        seen = Seen(number=len(self.titles), body=body, headers=headers)
        prompts = [each.get("content") or "" for each in seen.messages if each.get("role") == "system"]
        if not any(
            TITLE_LINE in str(each) for each in (*prompts, body.get("instructions"), body.get("system"))
        ):
            return None
        with self._changed:
            self.titles.append(seen)
            self._changed.notify_all()
        return seen

    def reports(self, usage: dict[str, Any]) -> None:
        """Keep the usage that an answer says."""
        with self._changed:
            self.reported.append(usage)

    def hold(self, connection: socket.socket) -> None:
        """Wait for the release; raises ConnectionError when the client has gone first."""
        while not self._released.wait(GLANCE):
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                raise ConnectionError("the client has gone")

    def pause(self, seconds: float) -> None:
        """Wait as a slow model does, but not when the server is closing."""
        self._stopping.wait(seconds)

    def client_gone(self) -> None:
        """Count a client that left before it had its answer."""
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

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

    def __init__(self, model: ModelServer, port: int) -> None:
        self.model = model
        super().__init__(("127.0.0.1", port), model.handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self.model.connected(request):
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(
            sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1], ConnectionError
        ):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers in the forms of OpenAI's APIs; those of other APIs are made of it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_GET(self) -> None:
        self._send_json(200, {"object": "list", "data": self.server.model.listed})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        content = self.rfile.read(length)
        if len(content) < length:
            raise ConnectionError("the client has gone")
        body = json.loads(content)
        if self.path.endswith("/embeddings"):
            self._embed(body)
            return
        if not self.path.endswith(("/chat/completions", "/responses")):
            self._send_json(404, {"error": {"message": f"Unknown path {self.path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        titled = self.server.model.asked_for_title(body, headers)
        seen = titled or self.server.model.saw(body, headers)
        try:
            if titled is not None:
                self._act(seen, self.server.model.title)
                return
            refusal = self.server.model.rules.refusal(seen) if self.server.model.rules else None
            self._act(seen, refusal or self.server.model.choose(seen))
        except ConnectionError:
            self.server.model.client_gone()
            self.close_connection = True

    def _embed(self, body: dict[str, Any]) -> None:
        refused = self.server.model.asked_for_vectors(body)
        try:
            if refused is not None:
                error = {"error": {"message": refused.message, "type": "scripted"}}
                self._send_json(refused.status, error, refused.headers)
            else:
                self._send_json(200, embedded(body))
        except BadInput as broken:
            error = {"error": {"message": str(broken), "type": "invalid_request_error"}}
            self._send_json(400, error)

    def _act(self, seen: Seen, action: Action) -> None:
        match action:
            case Answer():
                self.server.model.pause(action.delay)
                self._answer(seen, action)
            case Refuse(status=status, message=message, body=body, headers=headers):
                error = {"error": {"message": message, "type": "scripted", "code": None, "param": None}}
                self._send_json(status, error if body is None else body, headers)
            case Raw(body=text, status=status, content_type=content_type):
                self._send(status, text.encode("utf-8", "surrogatepass"), content_type)
            case Drop(text=text):
                if text:
                    self._begin_stream()
                    self._send_chunks(self._chunks(seen, Answer(text=text))[:-1])
                self._cut()
            case Hold(first=first, answer=answer):
                self._hold(seen, first, answer)
            case _:
                assert_never(action)

    def _answer(self, seen: Seen, answer: Answer) -> None:
        if not seen.body.get("stream"):
            whole = whole_response if self._is_responses else whole_completion
            self._report(seen, answer)
            self._send_json(200, whole(seen, answer))
            return
        self._begin_stream()
        self._send_chunks(self._chunks(seen, answer), answer.pace)
        self._end_stream(seen, answer)

    def _hold(self, seen: Seen, first: str, answer: Answer | Drop) -> None:
        if first:
            self._begin_stream()
            self._send_chunks(self._chunks(seen, Answer(text=first))[:-1])
        self.server.model.hold(self.connection)
        if isinstance(answer, Drop):
            self._cut()
        elif first:
            self._send_chunks(self._chunks(seen, answer)[1:], answer.pace)
            self._end_stream(seen, answer)
        else:
            self._answer(seen, answer)

    @property
    def _is_responses(self) -> bool:
        return self.path.endswith("/responses")

    def _chunks(self, seen: Seen, answer: Answer) -> list[dict[str, Any]]:
        if self.server.model.rules is not None:
            return self.server.model.rules.chunks(seen, answer)
        return (response_events if self._is_responses else completion_chunks)(seen, answer)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_chunks(self, chunks: Iterable[dict[str, Any]], pace: float = 0.0) -> None:
        for chunk in chunks:
            self._send_event(json.dumps(chunk))
            if pace:
                self.server.model.pause(pace)

    def _end_stream(self, seen: Seen, answer: Answer) -> None:
        if self._is_responses:
            self._report(seen, answer)
            self.wfile.write(b"0\r\n\r\n")
            return
        asked = (seen.body.get("stream_options") or {}).get("include_usage")
        if asked or getattr(self.server.model.rules, "always_reports", False):
            self._report(seen, answer)
            self._send_event(json.dumps(usage_chunk(seen, answer)))
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _report(self, seen: Seen, answer: Answer) -> None:
        self.server.model.reports(answer.usage or counted_usage(seen.body, answer))

    def _send_event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

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


ModelServer.handler = Handler


def main() -> None:
    """Serve until interrupted, or until standard input is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, help="JSON file with a script; without one it echoes")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="file to which request bodies are appended")
    options = parser.parse_args()
    script = msgspec.json.decode(options.script.read_bytes(), type=Script) if options.script else Script()
    server = ModelServer(script, port=options.port, record=options.record).start()
    sys.stdout.write(server.base_url + "\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()
    server.close()


if __name__ == "__main__":
    main()
