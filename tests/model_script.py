"""What the scripted model server answers: actions, and the script that chooses one for each request.

A script stands in JSON as well:

    {"sequence": [{"do": "refuse", "status": 429, "headers": {"retry-after": "1"}}],
     "rules": [{"contains": "weather", "actions": [
         {"do": "answer", "tool_calls": [{"name": "terminal", "arguments": {"command": "date"}}]},
         {"do": "answer", "text": "Sunny."}]}],
     "default": {"do": "answer", "text": "Yes."}}

The sequence is used up first, in the order in which requests arrive. A rule fits when the last user message
contains its text, and its action is chosen by how many assistant messages follow that message: so the same
request always gets the same answer, also among many sessions at once and after retries.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import msgspec

CHARACTERS_A_TOKEN = 4


class AskedCall(msgspec.Struct, frozen=True):
    """A tool call that the scripted model asks for. `arguments` an object, or a string sent as it is."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="answer"):
    """A reply. `usage` null is counted; `delay` is seconds, for benchmarks; `piece` characters a chunk,
    `pace` seconds between two of them."""

    text: str = ""
    tool_calls: tuple[AskedCall, ...] = ()
    reasoning: str = ""
    usage: dict[str, Any] | None = None
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


class Raw(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="raw"):
    """A body sent as it is: garbage, HTML, hand-made chunks."""

    body: str
    status: int = 200
    content_type: str = "text/event-stream"


class Drop(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="drop"):
    """Streams this text and then cuts the connection; empty text: cut before any response."""

    text: str = ""


class Hold(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="hold"):
    """Streams `first`, then keeps the request until the server's `release()`, then answers, or drops it."""

    first: str = ""
    answer: Answer | Drop = Answer(text="Released.")


Action = Answer | Refuse | Raw | Drop | Hold


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the server got. Header names in lower case."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation in the request, items of the Responses API as messages."""
        if "input" in self.body:
            return [_as_message(item) for item in self.body["input"]]
        messages: list[dict[str, Any]] = self.body.get("messages", [])
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


class Rule(msgspec.Struct, frozen=True):
    """Answers to requests whose last user message contains this, one for each round; the last one stays."""

    contains: str
    actions: tuple[Action, ...]

    def action(self, seen: Seen) -> Action:
        """The round's action."""
        return self.actions[min(seen.rounds, len(self.actions) - 1)]


class Script(msgspec.Struct, kw_only=True):
    """Chooses an action for each request: the sequence, then the rules, then `default`; null echoes."""

    sequence: tuple[Action, ...] = ()
    rules: tuple[Rule, ...] = ()
    default: Action | None = None


Chooser = Callable[[Seen], Action]


def chooser(script: Script | Iterable[Action] | Chooser) -> Chooser:
    """A script, a list of actions, or a function, as the function that the server asks. Thread safe."""
    if callable(script):
        return script
    if not isinstance(script, Script):
        script = Script(sequence=tuple(script))
    waiting, lock, told = iter(script.sequence), threading.Lock(), script

    def choose(seen: Seen) -> Action:
        with lock:
            following = next(waiting, None)
        if following is not None:
            return following
        fitting = next((rule for rule in told.rules if rule.contains in seen.last_user_text), None)
        if fitting is not None:
            return fitting.action(seen)
        return told.default or Answer(text=f"You said: {seen.last_user_text}")

    return choose


def counted_usage(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """Usage by the number of characters: the same request and answer always count the same."""
    sent = body.get("messages") or [body.get("instructions", ""), *body.get("input", [])]
    prompt = len(json.dumps(sent, ensure_ascii=False)) // CHARACTERS_A_TOKEN
    said = answer.text + answer.reasoning + "".join(_arguments(call) for call in answer.tool_calls)
    completion = max(1, len(said) // CHARACTERS_A_TOKEN)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion_chunks(
    seen: Seen,
    answer: Answer,
    calls: list[dict[str, Any]] | None = None,
    before: Iterable[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """The answer as the chunks of a stream, without usage; the last one carries the finish reason.

    `calls` are the answer's as they are sent, `before` deltas that come before its text.
    """
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
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


def usage_chunk(seen: Seen, answer: Answer) -> dict[str, Any]:
    """The chunk after the last one, as OpenAI sends it when asked for usage."""
    return {**_chunk(seen), "usage": answer.usage or counted_usage(seen.body, answer)}


def whole_completion(seen: Seen, answer: Answer) -> dict[str, Any]:
    """The answer as one response."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = asked_calls(seen, answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    usage = answer.usage or counted_usage(seen.body, answer)
    return {**_chunk(seen, choice), "object": "chat.completion", "usage": usage}


def _as_message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        return {"role": "assistant", "content": None, "tool_calls": [item]}
    if item.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
    return item


def _chunk(seen: Seen, *choices: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": seen.body.get("model", "scripted"),
        "choices": list(choices),
    }


def asked_calls(seen: Seen, answer: Answer) -> list[dict[str, Any]]:
    """The answer's calls as Chat Completions has them."""
    return [
        {
            "id": call.id or f"call_{len(seen.messages)}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for index, call in enumerate(answer.tool_calls)
    ]


def _arguments(call: AskedCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.tool_calls else "stop")
