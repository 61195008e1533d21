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

import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from hermes_jobs.testing.script import (
    CHARACTERS_A_TOKEN,
    Answer,
    Refuse,
    Request,
    asked_calls,
    completion_chunks,
    counted_usage,
)
from hermes_jobs.testing.script import ToolCall as AskedCall


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


class Seen(Request, frozen=True, kw_only=True):
    """A request, also one of the Responses API, whose items are messages."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        if "input" in self.body:
            return [_as_message(item) for item in self.body["input"]]
        return super().messages


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


def _as_message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        return {"role": "assistant", "content": None, "tool_calls": [item]}
    if item.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
    return item


__all__ = [
    "CHARACTERS_A_TOKEN",
    "Action",
    "Answer",
    "AskedCall",
    "Chooser",
    "Drop",
    "Hold",
    "Raw",
    "Refuse",
    "Rule",
    "Script",
    "Seen",
    "asked_calls",
    "chooser",
    "completion_chunks",
    "counted_usage",
]
