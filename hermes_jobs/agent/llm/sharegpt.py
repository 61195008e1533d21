"""Exports conversations as training data: ShareGPT's `from` and `value`, with the tags of Hermes.

| from   | value                                                                                       |
|--------|---------------------------------------------------------------------------------------------|
| system | the system prompt                                                                           |
| human  | the user's text                                                                             |
| gpt    | `<think>` reasoning `</think>`, the text, and `<tool_call>` JSON `</tool_call>` for each call |
| tool   | `<tool_response>` JSON `</tool_response>` for each result of the calls before               |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from hermes_jobs.domain import events as e

Speaker = Literal["system", "human", "gpt", "tool"]
ANSWERING = "turn"  # the purpose of replies that are part of the conversation


class ShareGptMessage(msgspec.Struct, frozen=True):
    """One entry of a conversation."""

    speaker: Speaker = msgspec.field(name="from")
    value: str


class ShareGptConversation(msgspec.Struct, kw_only=True):
    """A turn so far. `names` are the tools of its calls, by our ids."""

    turn: str
    at: str
    said: list[ShareGptMessage] = msgspec.field(default_factory=list)
    names: dict[str, str] = msgspec.field(default_factory=dict)
    completed: bool = False


def told_turns(
    events: Iterable[tuple[e.Event, str]], interrupted: Mapping[e.InterruptReason, str]
) -> list[ShareGptConversation]:
    """The turns of a stream, in order of their start; each event with its time.

    `interrupted` is the result of a call that ended without one, by its reason. Recalled context, reviews,
    summaries and failed attempts are left out.
    """
    waiting: dict[str, ShareGptConversation] = {}
    begun: dict[str, ShareGptConversation] = {}
    for event, at in events:
        match event:
            case e.TurnSubmitted():
                waiting[event.turn] = ShareGptConversation(
                    turn=event.turn, at=at, said=[ShareGptMessage("human", event.text)]
                )
            case e.ContextPrefetched() if event.turn in waiting:
                begun.setdefault(event.turn, waiting[event.turn])
            case e.TurnMerged():
                into = begun.get(event.into) or waiting[event.into]
                _add(into, "human", waiting[event.turn].said[0].value)
            case e.ModelReplied() if event.turn in begun and event.purpose == ANSWERING:
                told = begun[event.turn]
                told.names.update(
                    (plan.call, call.name) for plan, call in zip(event.plan, event.tool_calls, strict=False)
                )
                _add(told, "gpt", _reply(event))
            case e.ToolFinished() if event.turn in begun:
                _answer(begun[event.turn], event.call, event.content)
            case e.ToolInterrupted() if event.turn in begun:
                _answer(begun[event.turn], event.call, interrupted[event.reason])
            case e.TurnCompleted() if event.turn in begun:
                begun[event.turn].completed = True
            case _:
                pass
    return list(begun.values())


def _reply(reply: e.ModelReplied) -> str:
    parts = [f"<think>\n{reply.reasoning}\n</think>"] if reply.reasoning else []
    parts += [reply.content] if reply.content else []
    for call in reply.tool_calls:
        asked = {"name": call.name, "arguments": _arguments(call.arguments)}
        parts.append(f"<tool_call>\n{msgspec.json.encode(asked).decode()}\n</tool_call>")
    return "\n".join(parts)


def _arguments(written: str) -> Any:
    """The arguments as a value; as the original text if they are not JSON."""
    try:
        return msgspec.json.decode(written or "{}")
    except msgspec.DecodeError:
        return written


def _answer(told: ShareGptConversation, call: str, content: str) -> None:
    answer = {"name": told.names.get(call, ""), "content": content}
    _add(told, "tool", f"<tool_response>\n{msgspec.json.encode(answer).decode()}\n</tool_response>")


def _add(told: ShareGptConversation, speaker: Speaker, value: str) -> None:
    """Add an entry; consecutive texts of one speaker are one entry."""
    last = told.said[-1]
    if last.speaker == speaker:
        told.said[-1] = ShareGptMessage(speaker, f"{last.value}\n{value}")
    else:
        told.said.append(ShareGptMessage(speaker, value))
