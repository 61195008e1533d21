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
from collections.abc import Callable, Iterable
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any, Protocol, Self, assert_never

import msgspec

from hermes_jobs.testing.server import ModelHandler, ScriptedModel
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
)
from tests.server_thread import ServerThread

PATIENCE = 90.0  # seconds after which a wait for something that never happens fails
GLANCE = 0.02  # seconds between two looks at whether a held request's client is still there


class ServerRules(Protocol):
    """One provider's rules. See `tests.providers`."""

    def refusal(self, seen: Seen) -> Refuse | None:
        """The answer to a request that breaks a rule."""

    def chunks(self, seen: Seen, answer: Answer) -> list[dict[str, Any]]:
        """The answer as the provider streams it."""


class ModelServer(ScriptedModel):
    """The server and what it saw. `script` is a `Script`, a list of actions, or a function of the request.

    `rules` are what a provider enforces of requests and attaches to answers; without them all is forgiven.
    `reported` is the usage that went out with answers, in their order. Requests for a session's title are
    kept in `titles`, apart from `requests`, and answered with `title` instead of by the script. Those for
    vectors are in `embeddings`, and answered by the rules of `tests.embeddings_api` unless `no_embeddings`
    refuses them. `sounds` are those to transcribe, as name, type and content; `transcripts` the next answers.
    `spoken` are the requests for speech; `speeches` the next sounds.
    `listed` are the models that it lists.
    """

    request = Seen

    def __init__(
        self,
        script: Script | Iterable[Action] | Chooser = (),
        *,
        port: int = 0,
        record: Path | None = None,
        rules: ServerRules | None = None,
    ) -> None:
        super().__init__(chooser(script), port=port)
        self.embeddings: list[dict[str, Any]] = []
        self.no_embeddings: Refuse | None = None
        self.sounds: list[tuple[Any, ...]] = []
        self.transcripts: list[str | Refuse] = []
        self.spoken: list[dict[str, Any]] = []
        self.speeches: list[bytes | Refuse] = []
        self.rules = rules
        self.reported: list[dict[str, Any]] = []
        self.disconnects = 0
        self._record = record
        self._released = threading.Event()
        self._thread = ServerThread(self._http, "model-server")

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return self.url

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

    def stop(self) -> None:
        self._released.set()
        self._thread.stop()

    def saw(self, body: dict[str, Any], headers: dict[str, str]) -> Seen:
        """Keep a request, in the record too."""
        with self._changed:
            if self._record is not None:
                with self._record.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(body, ensure_ascii=False) + "\n")
            seen: Seen = super().saw(body, headers)
        return seen

    def asked_for_vectors(self, body: dict[str, Any]) -> Refuse | None:
        """Keep the request; the refusal, if it is to be refused."""
        with self._changed:
            self.embeddings.append(body)
            self._changed.notify_all()
            return self.no_embeddings

    def heard(self, sound: tuple[Any, ...]) -> str | Refuse:
        """Keep the sound; its transcript, or its refusal."""
        with self._changed:
            self.sounds.append(sound)
            return self.transcripts.pop(0) if self.transcripts else f"I say {len(sound[2])} bytes."

    def asked_to_speak(self, body: dict[str, Any]) -> bytes | Refuse:
        """Keep the request; the next of `speeches`, or the text after the head of an MP3 sound."""
        with self._changed:
            self.spoken.append(body)
            return self.speeches.pop(0) if self.speeches else b"\xff\xfb\x50\0" + body["input"].encode()

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

    def client_gone(self) -> None:
        """Count a client that left before it had its answer."""
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()


class Handler(ModelHandler):
    """Answers in the forms of OpenAI's APIs; those of other APIs are made of it."""

    def do_POST(self) -> None:
        if self.path.endswith("/audio/transcriptions"):
            self._hear()
            return
        body = self._body()
        if self.path.endswith("/audio/speech"):
            self._speak(body)
        elif self.path.endswith("/embeddings"):
            self._embed(body)
        elif self.path.endswith(("/chat/completions", "/responses")):
            self._reply(body)
        else:
            self._send_json(404, {"error": {"message": f"Unknown path {self.path}"}})

    def _chosen(self, seen: Seen) -> Action:
        model = self.server.model
        refusal = model.rules.refusal(seen) if model.rules else None
        action: Action = refusal or model.choose(seen)
        return action

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

    def _hear(self) -> None:
        """Answer a sound with the next of the server's `transcripts`, a text or a refusal."""
        length = int(self.headers["content-length"])
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + self.rfile.read(length)).iter_parts()
        form = {part.get_param("name", header="content-disposition"): part for part in parts}
        assert {"model", "file", "response_format"} <= set(form), set(form)
        sound = form["file"]
        heard = (sound.get_filename(), sound.get_content_type(), sound.get_payload(decode=True))
        answer = self.server.model.heard(heard)
        if isinstance(answer, Refuse):
            self._send_json(answer.status, {"error": {"message": answer.message, "type": "scripted"}})
            return
        usage = {"type": "tokens", "input_tokens": 40, "output_tokens": 5, "total_tokens": 45}
        self._send_json(200, {"text": answer, "usage": usage})

    def _speak(self, body: dict[str, Any]) -> None:
        """Answer a text with its sound.

        Source: https://platform.openai.com/docs/api-reference/audio/createSpeech
        """
        assert {"model", "input", "voice"} <= set(body) <= {"model", "input", "voice", "response_format"}, (
            body
        )
        assert 0 < len(body["input"]) <= 4_096
        answer = self.server.model.asked_to_speak(body)
        if isinstance(answer, Refuse):
            self._send_json(answer.status, {"error": {"message": answer.message, "type": "scripted"}})
            return
        self._send(200, answer, "audio/mpeg")

    def _act(self, seen: Seen, action: Action) -> None:
        match action:
            case Answer() | Refuse():
                super()._act(seen, action)
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

    def _whole(self, seen: Seen, answer: Answer) -> dict[str, Any]:
        return whole_response(seen, answer) if self._is_responses else super()._whole(seen, answer)

    def _chunks(self, seen: Seen, answer: Answer) -> list[dict[str, Any]]:
        if self.server.model.rules is not None:
            chunks: list[dict[str, Any]] = self.server.model.rules.chunks(seen, answer)
            return chunks
        return response_events(seen, answer) if self._is_responses else super()._chunks(seen, answer)

    def _end_stream(self, seen: Seen, answer: Answer) -> None:
        if self._is_responses:
            self._report(seen, answer)
            self.wfile.write(b"0\r\n\r\n")
        else:
            super()._end_stream(seen, answer)

    def _tells_usage(self, seen: Seen) -> bool:
        always = bool(getattr(self.server.model.rules, "always_reports", False))
        return always or super()._tells_usage(seen)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


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
