"""Turns as training data: what was said in each, as ShareGPT and as OpenAI's fine-tuning write it.

ShareGPT: `from` and `value`, with the tags of Hermes.

| from   | value                                                                                       |
|--------|---------------------------------------------------------------------------------------------|
| system | the system prompt                                                                           |
| human  | the user's text                                                                             |
| gpt    | `<think>` reasoning `</think>`, the text, and `<tool_call>` JSON `</tool_call>` for each call |
| tool   | `<tool_response>` JSON `</tool_response>` for each result of the calls before               |

OpenAI: supervised examples and preference pairs, as
https://platform.openai.com/docs/guides/supervised-fine-tuning and …/direct-preference-optimization read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, assert_never

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ToolSpec
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage

ANSWERING = "turn"  # the purpose of replies that are part of the conversation


class TrainingTurn(msgspec.Struct, kw_only=True):
    """A turn so far. `reasoning` is that of the replies in `messages`, by index. `rated`: the last rating.

    `calls` are the provider's id and the tool of each call, by our id.
    """

    turn: str
    at: str
    messages: list[Message] = msgspec.field(default_factory=list)
    reasoning: dict[int, str] = msgspec.field(default_factory=dict)
    calls: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    completed: bool = False
    model: str = ""
    rated: e.TurnRated | None = None

    @property
    def rating(self) -> e.Rating:
        """The rating that counts."""
        return self.rated.rating if self.rated is not None else "none"


def training_turns(
    events: Iterable[tuple[e.Event, str]], interrupted: Mapping[e.InterruptReason, str]
) -> list[TrainingTurn]:
    """The turns of a stream, in order of their start; each event with its time.

    `interrupted` is the result of a call that ended without one, by its reason. Recalled context, reviews,
    summaries and failed attempts are left out.
    """
    waiting: dict[str, TrainingTurn] = {}
    turns: dict[str, TrainingTurn] = {}
    for event, moment in events:
        match event:
            case e.TurnSubmitted():
                waiting[event.turn] = TrainingTurn(
                    turn=event.turn, at=moment, messages=[UserMessage(event.text)]
                )
            case e.ContextPrefetched() if event.turn in waiting:
                turns.setdefault(event.turn, waiting[event.turn])
            case e.TurnMerged():
                into = turns.get(event.into) or waiting[event.into]
                into.messages.extend(waiting[event.turn].messages)
            case e.ModelReplied() if event.turn in turns and event.purpose == ANSWERING:
                _add_reply(turns[event.turn], event)
            case e.ToolFinished() if event.turn in turns:
                _add_result(turns[event.turn], event.call, event.content)
            case e.ToolInterrupted() if event.turn in turns:
                _add_result(turns[event.turn], event.call, interrupted[event.reason])
            case e.TurnCompleted() if event.turn in turns:
                turns[event.turn].completed = True
            case e.TurnRated() if event.turn in turns:
                turns[event.turn].rated = event
            case _:
                pass
    return list(turns.values())


def _add_reply(turn: TrainingTurn, reply: e.ModelReplied) -> None:
    if reply.reasoning:
        turn.reasoning[len(turn.messages)] = reply.reasoning
    turn.calls.update(
        (plan.call, (call.id, call.name)) for plan, call in zip(reply.plan, reply.tool_calls, strict=False)
    )
    turn.model = reply.model
    turn.messages.append(AssistantMessage(reply.content, reply.tool_calls))


def _add_result(turn: TrainingTurn, call: str, content: str) -> None:
    id_, name = turn.calls.get(call, (call, ""))
    turn.messages.append(ToolMessage(id_, name, content))


Speaker = Literal["system", "human", "gpt", "tool"]


class ShareGptMessage(msgspec.Struct, frozen=True):
    """One entry of a conversation."""

    speaker: Speaker = msgspec.field(name="from")
    value: str


def share_gpt(turn: TrainingTurn) -> list[ShareGptMessage]:
    """What was said in the turn; consecutive texts of one speaker are one entry."""
    lines: list[ShareGptMessage] = []
    for index, message in enumerate(turn.messages):
        entry = _entry(message, turn.reasoning.get(index, ""))
        if lines and lines[-1].speaker == entry.speaker:
            lines[-1] = ShareGptMessage(entry.speaker, f"{lines[-1].value}\n{entry.value}")
        else:
            lines.append(entry)
    return lines


def _entry(message: Message, reasoning: str) -> ShareGptMessage:
    match message:
        case UserMessage():
            return ShareGptMessage("human", message.content)
        case AssistantMessage():
            return ShareGptMessage("gpt", _reply(message, reasoning))
        case ToolMessage():
            answer = {"name": message.name, "content": message.content}
            return ShareGptMessage("tool", _tagged("tool_response", answer))
        case _:
            assert_never(message)


def _reply(reply: AssistantMessage, reasoning: str) -> str:
    parts = [f"<think>\n{reasoning}\n</think>"] if reasoning else []
    parts += [reply.content] if reply.content else []
    for call in reply.tool_calls:
        parts.append(_tagged("tool_call", {"name": call.name, "arguments": _arguments(call.arguments)}))
    return "\n".join(parts)


def _tagged(tag: str, value: object) -> str:
    return f"<{tag}>\n{msgspec.json.encode(value).decode()}\n</{tag}>"


def _arguments(text: str) -> Any:
    """The arguments as a value; as the original text if they are not JSON."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return text


Chat = dict[str, Any]


def example(system: str, turns: Sequence[TrainingTurn], tools: Sequence[ToolSpec]) -> Chat:
    """A conversation as one example. Replies of turns that were rated down have the weight 0: they are
    context, and are not learned."""
    messages = [
        {**chat, "weight": 0} if turn.rating == "down" and chat["role"] == "assistant" else chat
        for turn in turns
        for chat in map(chat_message, turn.messages)
    ]
    return _with_tools({"messages": [*_system(system), *messages]}, tools)


def pair(
    system: str, history: Sequence[Message], preferred: str, other: str, tools: Sequence[ToolSpec]
) -> Chat:
    """Two answers after the same messages, one of which is preferred."""
    prompt = [*_system(system), *map(chat_message, history)]
    return {
        "input": _with_tools({"messages": prompt}, tools),
        "preferred_output": [{"role": "assistant", "content": preferred}],
        "non_preferred_output": [{"role": "assistant", "content": other}],
    }


def chat_message(message: Message) -> Chat:
    """The message in the form of Chat Completions."""
    match message:
        case UserMessage():
            return {"role": "user", "content": message.content}
        case AssistantMessage():
            calls = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in message.tool_calls
            ]
            return {
                "role": "assistant",
                "content": message.content,
                **({"tool_calls": calls} if calls else {}),
            }
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.tool_call, "content": message.content}
        case _:
            assert_never(message)


def is_calling(messages: Iterable[Message]) -> bool:
    """Whether a tool is called in it."""
    return any(isinstance(message, AssistantMessage) and message.tool_calls for message in messages)


def _system(prompt: str) -> list[Chat]:
    return [{"role": "system", "content": prompt}] if prompt else []


def _with_tools(body: Chat, tools: Sequence[ToolSpec]) -> Chat:
    if not tools:
        return body
    described = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]
    return {**body, "tools": described}
