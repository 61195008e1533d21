"""What a scripted model is asked and answers, and both in the form of Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import msgspec

MODEL = "scripted"
CHARACTERS_A_TOKEN = 4

Json = dict[str, Any]


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call that the model asks for. `arguments`: an object, or a string sent as it is."""

    name: str
    arguments: Json | str = {}
    id: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="answer"):
    """A reply. `usage` null is counted; `delay` is seconds before it; `piece` characters a chunk, `pace`
    seconds between two of them."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Json | None = None
    finish_reason: str | None = None
    delay: float = 0.0
    piece: int = 16
    pace: float = 0.0


class Refuse(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="refuse"):
    """An error response with a JSON body; null is OpenAI's form of `message`."""

    status: int
    message: str = "refused by the script"
    body: Any = None
    headers: dict[str, str] = {}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the model got, counted from 0. Header names in lower case."""

    number: int
    body: Json
    headers: dict[str, str]

    @property
    def messages(self) -> list[Json]:
        """The conversation in the request."""
        messages: list[Json] = self.body.get("messages", [])
        return messages

    @property
    def last_user_text(self) -> str:
        """The text of the last user message, also where it is a list of parts."""
        content = next((m.get("content") for m in reversed(self.messages) if m.get("role") == "user"), "")
        if isinstance(content, list):
            return "".join(part.get("text", "") for part in content)
        return content or ""

    @property
    def rounds(self) -> int:
        """How many replies follow the last user message; several items of one reply count once."""
        roles = [message["role"] for message in self.messages if message.get("role")]
        last_user = max((at for at, role in enumerate(roles) if role == "user"), default=-1)
        return [role for role, _ in groupby(roles[last_user + 1 :])].count("assistant")


# --- the form of Chat Completions -----------------------------------------------------------------


def counted_usage(body: Json, answer: Answer) -> Json:
    """Usage by the number of characters: the same request and answer always count the same."""
    sent = body.get("messages") or [body.get("instructions", ""), *body.get("input", [])]
    offered = body.get("tools") or []
    prompt = len(json.dumps([*sent, *offered], ensure_ascii=False)) // CHARACTERS_A_TOKEN
    said = answer.text + answer.reasoning + "".join(_arguments(call) for call in answer.tool_calls)
    completion = max(1, len(said) // CHARACTERS_A_TOKEN)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion_chunks(
    seen: Request, answer: Answer, calls: list[Json] | None = None, before: Iterable[Json] = ()
) -> list[Json]:
    """The answer as the chunks of a stream, without usage; the last one carries the finish reason.

    `calls` are the answer's as they are sent, `before` deltas that come before its text.
    """
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    if answer.reasoning:
        deltas.append({"reasoning_content": answer.reasoning})
    deltas += before
    deltas += [
        {"content": answer.text[at : at + answer.piece]} for at in range(0, len(answer.text), answer.piece)
    ]
    for index, call in enumerate(asked_calls(seen, answer) if calls is None else calls):
        begun = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        rest = {"index": index, "function": {"arguments": call["function"]["arguments"]}}
        deltas += [{"tool_calls": [begun]}, {"tool_calls": [rest]}]
    chunks = [_chunk(seen, {"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": _finish_reason(answer)}
    return [*chunks, _chunk(seen, last)]


def usage_chunk(seen: Request, answer: Answer) -> Json:
    """The chunk after the last one, as OpenAI sends it when asked for usage."""
    return {**_chunk(seen), "usage": answer.usage or counted_usage(seen.body, answer)}


def whole_completion(seen: Request, answer: Answer) -> Json:
    """The answer as one response."""
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = asked_calls(seen, answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    usage = answer.usage or counted_usage(seen.body, answer)
    return {**_chunk(seen, choice), "object": "chat.completion", "usage": usage}


def asked_calls(seen: Request, answer: Answer) -> list[Json]:
    """The answer's calls as Chat Completions has them."""
    return [
        {
            "id": call.id or f"call_{len(seen.messages)}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for index, call in enumerate(answer.tool_calls)
    ]


def _chunk(seen: Request, *choices: Json) -> Json:
    return {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": seen.body.get("model", MODEL),
        "choices": list(choices),
    }


def _arguments(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
