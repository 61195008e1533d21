"""A scripted server of the Messages API on loopback that enforces what Anthropic documents.

    server = AnthropicServer([Answer(text="Hello")]).start()
    … ANTHROPIC_BASE_URL=server.base_url ANTHROPIC_API_KEY=anything …
    assert not server.violations

It answers by the same scripts as `tests.model_server` (`reasoning` is thought before the answer, and signed),
streams the events of https://platform.claude.com/docs/en/build-with-claude/streaming, keeps marked prefixes
and reports what was read and written. What a request violates is refused with 400 and kept in `violations`.
As a process: `python -m tests.providers.anthropic_server` prints its base URL.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from hermes_jobs.llm.anthropic.abilities import abilities
from tests.model_script import (
    CHARACTERS_A_TOKEN,
    Action,
    Answer,
    Chooser,
    Refuse,
    Script,
    Seen,
)
from tests.model_server import Handler, ModelServer
from tests.providers.anthropic_cache import PromptCache
from tests.providers.anthropic_rules import request_adapter, violations
from tests.providers.anthropic_thoughts import Thoughts

Json = dict[str, Any]

VERSIONS = {"2023-06-01", "2026-10-21"}
STATUSES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
"""Source: https://platform.claude.com/docs/en/api/errors"""
ENDS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class AnthropicSeen(Seen, frozen=True, kw_only=True):
    """A request that the server got, read for scripts as if it were in the form of OpenAI's."""

    @property
    def messages(self) -> list[Json]:
        system = self.body.get("system") or ()
        prompt = system if isinstance(system, str) else "".join(block["text"] for block in system)
        said: list[Json] = [{"role": "system", "content": prompt}]
        for message in self.body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            said += [{"role": "tool", **block} for block in blocks if block["type"] == "tool_result"]
            if message["role"] == "assistant" or texts:
                said.append({"role": message["role"], "content": "\n\n".join(texts)})
        return said


class AnthropicServer(ModelServer):
    """The server and what it saw.

    `window`: tokens of input that it takes; `keys`: those that it knows, empty for any; `smallest`: tokens of
    the shortest prefix that is kept; `binds`: see `Thoughts`; `thinks`: what is thought before each answer.
    """

    def __init__(
        self,
        script: Script | Iterable[Action] | Chooser = (),
        *,
        port: int = 0,
        record: Path | None = None,
        window: int = 200_000,
        keys: frozenset[str] = frozenset(),
        smallest: int = 1024,
        binds: bool | None = None,
        thinks: str = "",
    ) -> None:
        super().__init__(script, port=port, record=record)
        request_adapter()  # here, so that no client waits while they are made
        self.thinks = thinks
        self.paused: list[list[Json]] = []
        self.window = window
        self.keys = keys
        self.cache = PromptCache(smallest)
        self.thoughts = Thoughts(binds=binds)
        self.violations: list[str] = []

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return super().base_url.removesuffix("/v1")

    def violate(self, said: str) -> None:
        """Keep what a request violates first."""
        with self._changed:
            self.violations.append(said)

    @property
    def share_read(self) -> float:
        """The share of all input after the first request that was read from the cache."""
        later = self.reported[1:]
        read = sum(each["cache_read_input_tokens"] for each in later)
        whole = read + sum(each["input_tokens"] + each["cache_creation_input_tokens"] for each in later)
        return read / whole if whole else 0.0


class AnthropicHandler(Handler):
    """Answers in the form of the Messages API."""

    def do_GET(self) -> None:
        """The list of models (https://platform.claude.com/docs/en/api/models/list)."""
        if self._unauthorized():
            return
        names = ("claude-sonnet-4-5", "claude-opus-5-5", "claude-haiku-5-5")
        models = [_model(name, self._server.window) for name in names]
        self._send_json(200, {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        content = self.rfile.read(length)
        if len(content) < length:
            raise ConnectionError("the client has gone")
        path = self.path.partition("?")[0]
        if path not in {"/v1/messages", "/v1/messages/count_tokens"}:
            self._error(404, f"Not found: {path}")
        elif not self._unauthorized():
            body = json.loads(content)
            if path.endswith("count_tokens"):
                self._send_json(200, {"input_tokens": PromptCache().count(body).total})
            else:
                self._message(body)

    @property
    def _server(self) -> AnthropicServer:
        assert isinstance(self.server.model, AnthropicServer)
        return self.server.model

    def _message(self, body: Json) -> None:
        said = violations(self._without_pause(body)) or [*self._server.thoughts.violations(body)]
        if said:
            self._server.violate(said[0])
            self._error(400, said[0])
            return
        total = PromptCache().count(body).total
        if total > self._server.window:
            self._error(400, f"prompt is too long: {total} tokens > {self._server.window} maximum")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        titled = self._server.asked_for_title(body, headers)
        seen = titled or self._server.saw(body, headers)
        read = AnthropicSeen(number=seen.number, body=body, headers=headers)
        try:
            self._act(read, self._server.choose(read) if titled is None else self._server.title)
        except ConnectionError:
            self._server.client_gone()
            self.close_connection = True

    def _without_pause(self, body: Json) -> Json:
        """A request may end with an answer that paused, for the model to continue.

        Source: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
        """
        last = body["messages"][-1:] if isinstance(body.get("messages"), list) else []
        said = last[0].get("content") if last and last[0].get("role") == "assistant" else None
        return {**body, "messages": body["messages"][:-1]} if said in self._server.paused else body

    def _act(self, seen: Seen, action: Action) -> None:
        if isinstance(action, Refuse) and action.body is None:
            error = _error(action.status, action.message)
            self._send_json(action.status, error, {"request-id": "req_1", **action.headers})
        else:
            super()._act(seen, action)

    def _answer(self, seen: Seen, answer: Answer) -> None:
        if seen.body.get("stream"):
            super()._answer(seen, answer)
            return
        message, usage = _composed(self._server, seen, answer)
        self._server.reports(usage)
        self._send_json(200, {**message, "usage": usage})

    def _chunks(self, seen: Seen, answer: Answer) -> list[Json]:
        return message_events(self._server, seen, answer)

    def _end_stream(self, seen: Seen, answer: Answer) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, data: str) -> None:
        kind = json.loads(data)["type"]
        event = f"event: {kind}\ndata: {data}\n\n".encode()
        self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    def _send_chunks(self, chunks: Iterable[Json], pace: float = 0.0) -> None:
        for chunk in chunks:
            self._send_event(json.dumps(chunk))
            if chunk["type"] == "message_delta":
                self._server.reports(chunk["usage"])
            if pace:
                self._server.pause(pace)

    def _unauthorized(self) -> bool:
        """The key comes in a header, and so does the version.

        Sources: https://platform.claude.com/docs/en/manage-claude/authentication,
        https://platform.claude.com/docs/en/api/versioning
        """
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        keys = {key for key in (bearer, self.headers.get("x-api-key", "")) if key}
        if not keys:
            self._error(401, "x-api-key header is required")
        elif len(keys) > 1 or (self._server.keys and not keys <= self._server.keys):
            self._error(401, "invalid x-api-key")
        elif self.headers.get("anthropic-version") not in VERSIONS:
            self._error(400, "anthropic-version: header is required")
        elif self.command == "POST" and self.headers.get("content-type") != "application/json":
            self._error(400, "content-type: expected application/json")
        else:
            return False
        return True

    def _error(self, status: int, message: str) -> None:
        self._send_json(status, _error(status, message), {"request-id": "req_1"})


AnthropicServer.handler = AnthropicHandler


def message_events(server: AnthropicServer, seen: Seen, answer: Answer) -> list[Json]:
    """The answer as the events of a stream."""
    message, usage = _composed(server, seen, answer)
    begun = {**usage, "output_tokens": 1}
    begun.pop("output_tokens_details")
    events: list[Json] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": begun}},
        {"type": "ping"},
    ]
    for index, block in enumerate(message["content"]):
        events.append({"type": "content_block_start", "index": index, "content_block": _emptied(block)})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in _deltas(block, answer.piece)
        ]
        events.append({"type": "content_block_stop", "index": index})
    delta = {
        "stop_reason": message["stop_reason"],
        "stop_sequence": None,
        "stop_details": message["stop_details"],
    }
    return [*events, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def _composed(server: AnthropicServer, seen: Seen, answer: Answer) -> tuple[Json, Json]:
    """The whole message but for its usage, and the usage."""
    calls: list[Json] = [
        {
            "type": "tool_use",
            "id": call.id or f"toolu_{seen.number}_{index}",
            "name": call.name,
            "input": call.arguments,
        }
        for index, call in enumerate(answer.tool_calls)
    ]
    reasoning = answer.reasoning or server.thinks
    thoughts = server.thoughts.think(seen.body, reasoning, [call["id"] for call in calls])
    texts = [{"type": "text", "text": answer.text}] if answer.text else []
    why = answer.finish_reason or ("tool_use" if calls else "end_turn")
    declined = {"type": "refusal", "category": "cyber", "explanation": None} if why == "refusal" else None
    message = {
        "id": f"msg_{seen.number}",
        "type": "message",
        "role": "assistant",
        "model": seen.body["model"],
        "content": [*thoughts, *texts, *calls],
        "stop_reason": ENDS.get(why, why),
        "stop_sequence": None,
        "stop_details": declined,
    }
    if why == "pause_turn":
        server.paused.append(message["content"])
    thought = len(reasoning) // CHARACTERS_A_TOKEN if thoughts else 0
    said = len(answer.text) + sum(len(json.dumps(call["input"])) for call in calls)
    usage = answer.usage or {
        **server.cache.count(seen.body).usage,
        "output_tokens": max(1, said // CHARACTERS_A_TOKEN) + thought,
        "output_tokens_details": {"thinking_tokens": thought},
    }
    return message, usage


def _emptied(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "tool_use":
            return {**block, "input": {}}
        case _:
            return block


def _deltas(block: Json, piece: int) -> list[Json]:
    match block["type"]:
        case "text":
            return [{"type": "text_delta", "text": each} for each in _pieces(block["text"], piece)]
        case "thinking":
            thought = [
                {"type": "thinking_delta", "thinking": each} for each in _pieces(block["thinking"], piece)
            ]
            return [*thought, {"type": "signature_delta", "signature": block["signature"]}]
        case "tool_use":
            given: Any = block["input"]
            written = given if isinstance(given, str) else json.dumps(given)
            pieces = ["", *_pieces(written, piece)]
            return [{"type": "input_json_delta", "partial_json": each} for each in pieces]
        case _:
            return []


def _pieces(text: str, piece: int) -> list[str]:
    return [text[at : at + piece] for at in range(0, len(text), piece)]


def _model(name: str, window: int) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": window,
        "max_tokens": abilities(name).longest,
    }


def _error(status: int, message: str) -> Json:
    kind = STATUSES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def main() -> None:
    """Serve until interrupted, or until standard input is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", type=Path, help="JSON file with a script; without one it echoes")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="file to which request bodies are appended")
    options = parser.parse_args()
    script = msgspec.json.decode(options.script.read_bytes(), type=Script) if options.script else Script()
    server = AnthropicServer(script, port=options.port, record=options.record).start()
    sys.stdout.write(server.base_url + "\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()
    server.close()
    sys.stdout.write("".join(f"{each}\n" for each in server.violations))


if __name__ == "__main__":
    main()
