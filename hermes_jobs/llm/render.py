"""Renders the canonical history as Chat Completions messages.

Pure; for models with native tools one message for one message. The rendering of a shorter history is a prefix
of that of a longer one, so that providers' prompt caches apply. Sources:
https://platform.openai.com/docs/api-reference/chat/create, and restrictions of other endpoints.

Cache marks select the prefixes of a prompt to cache, for Anthropic and for endpoints in front of it:
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching (at most four marks per request, none on
an empty text; a lifetime of five minutes unless `ttl` says an hour).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, assert_never

import msgspec

from hermes_jobs.kernel.engine.ports import ModelRequest, ToolSpec
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.synthetic_messages import CONTINUING
from hermes_jobs.llm.answer_format import response_format
from hermes_jobs.llm.attachments import SHOWN, Contents, chat_content, pieces, shown
from hermes_jobs.llm.call_ids import with_valid_ids
from hermes_jobs.llm.dialect import PLAIN, Dialect
from hermes_jobs.llm.payloads import with_payload
from hermes_jobs.llm.text_calls import merged, text_messages

Json = dict[str, Any]
NO_CONTENTS: Contents = {}

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def request_body(request: ModelRequest, dialect: Dialect) -> Json:
    """The whole request in the endpoint's dialect."""
    messages = render(request, dialect)
    if dialect.cache is not None:
        messages = mark_for_caching(
            messages, ttl=request.cache_ttl or dialect.cache, tools=dialect.marks_tools
        )
    body: Json = {"model": request.model, "messages": messages}
    if request.offered and dialect.tool_calls == "structured":
        body["tools"] = [_tool(spec) for spec in request.offered]
    if request.max_tokens is not None:
        body[dialect.limit_field] = request.max_tokens
    if request.temperature is not None and dialect.takes_temperature:
        body["temperature"] = request.temperature
    if dialect.takes_cache_key and request.session:
        body["prompt_cache_key"] = request.session
    body.update(effort_fields(request, dialect))
    body.update(response_format(request, dialect))
    body["stream"] = dialect.streams
    if dialect.streams and dialect.streams_usage:
        body["stream_options"] = {"include_usage": True}
    return body


def render(request: ModelRequest, dialect: Dialect) -> list[Json]:
    """The request's messages, with native or textual tool calls."""
    if dialect.tool_calls == "text":
        content = partial(content_of, dialect=dialect, contents=request.contents)
        messages = text_messages(request.system_prompt, request.messages, request.offered, content)
    else:
        messages = chat_messages(
            request.system_prompt, request.messages, dialect, request.model, request.contents
        )
    return messages if dialect.system_role else _without_system(messages)


def _without_system(messages: list[Json]) -> list[Json]:
    """The system prompt moved into the first user message, for templates without a system role."""
    match messages:
        case [{"role": "system", "content": prompt}, {"role": "user", "content": text}, *rest]:
            return [{"role": "user", "content": merged(prompt, text, "\n")}, *rest]
        case [{"role": "system", "content": prompt}, *rest]:
            return [{"role": "user", "content": prompt}, *rest]
        case _:
            return messages


def effort_fields(request: ModelRequest, dialect: Dialect) -> Json:
    """The parameters for reasoning effort, and those of every request to the endpoint."""
    if not dialect.takes_effort:
        return {}
    effort = dialect.effort
    return {**dialect.family.always, **(dialect.family.effort(effort, request.model) if effort else {})}


def chat_messages(
    system_prompt: str,
    messages: Sequence[Message],
    dialect: Dialect = PLAIN,
    model: str = "",
    contents: Contents = NO_CONTENTS,
) -> list[Json]:
    """The system prompt, if there is one, and the history with the payloads to send back."""
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    history = with_valid_ids(messages, dialect.family.call_ids)
    rendered: Iterable[Json] = (_with_payload(message, dialect, model, contents) for message in history)
    if dialect.api == "chat":
        rendered = _shown_after_results(rendered)
    return [*system, *(_rounds_closed(rendered) if dialect.family.closes_rounds else rendered)]


def _shown_after_results(messages: Iterable[Json]) -> Iterator[Json]:
    """The messages, with what tools show in a user message after all results of the round, or before the text
    of the one that follows: the results are texts alone.

    https://platform.openai.com/docs/api-reference/chat/create (a tool message has only parts of text)
    """
    waiting: list[Json] = []
    for message in messages:
        content = message["content"]
        if message["role"] == "tool" and isinstance(content, list):
            yield {**message, "content": content[0]["text"]}
            waiting += [*([] if waiting else [{"type": "text", "text": SHOWN}]), *content[1:]]
            continue
        if waiting and message["role"] == "user":
            yield {**message, "content": merged(waiting, content)}
            waiting = []
            continue
        if waiting and message["role"] != "tool":
            yield {"role": "user", "content": waiting}
            waiting = []
        yield message
    if waiting:
        yield {"role": "user", "content": waiting}


def _rounds_closed(messages: Iterable[Json]) -> Iterator[Json]:
    """The messages, with an assistant message between tool results and a user message."""
    before = ""
    for message in messages:
        if (before, message["role"]) == ("tool", "user"):
            yield {"role": "assistant", "content": CONTINUING}
        before = message["role"]
        yield message


def _with_payload(message: Message, dialect: Dialect, model: str, contents: Contents) -> Json:
    rendered = _message(message, dialect, contents)
    if isinstance(message, AssistantMessage):
        return with_payload(rendered, message, dialect, model)
    return rendered


def content_of(message: UserMessage | ToolMessage, dialect: Dialect, contents: Contents) -> str | list[Json]:
    """The content of a user's message, or of a result: a text, or parts where something is attached.

    Of a result the text is the first part.
    """
    if not message.attachments:
        return message.content
    if isinstance(message, UserMessage):
        return chat_content(pieces(message, dialect.takes, contents))
    return chat_content(shown(message, dialect.takes, contents))


def _message(message: Message, dialect: Dialect, contents: Contents) -> Json:
    match message:
        case UserMessage():
            return {"role": "user", "content": content_of(message, dialect, contents)}
        case AssistantMessage(content, ()):
            return {"role": "assistant", "content": content}
        case AssistantMessage(content, calls):
            # None for an empty text: Anthropic and Bedrock, behind compatible endpoints, refuse "".
            return {
                "role": "assistant",
                "content": content or None,
                "tool_calls": [_call(call) for call in calls],
            }
        case ToolMessage(tool_call):
            answer = content_of(message, dialect, contents)
            return {"role": "tool", "tool_call_id": tool_call, "content": answer}
        case _:
            assert_never(message)


def _call(call: ToolCall) -> Json:
    function = {"name": _name(call.name), "arguments": _arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _name(name: str) -> str:
    """A tool name that every endpoint accepts: an invented name must not make the history invalid."""
    return _NOT_IN_NAMES.sub("_", name)[:64] or "unnamed"


def _arguments(text: str) -> str:
    """Arguments that every endpoint accepts: many parse them and require an object."""
    if not text.strip():
        return "{}"
    try:
        is_object = isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        is_object = False
    return text if is_object else json.dumps({"unreadable_arguments": text}, ensure_ascii=False)


def _tool(spec: ToolSpec) -> Json:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


MARKED_MESSAGES = 3
"""Marks on messages: with the one on the system prompt, the four that a request may have."""


def mark_for_caching(messages: Sequence[Json], *, ttl: Literal["5m", "1h"], tools: bool) -> list[Json]:
    """The rendered messages, with marks on the system prompt and on the last three that can have one.

    `tools`: tool results get one too, on a part of their content, as OpenRouter expects. The given messages
    are not changed.
    """
    mark = {"type": "ephemeral", **({"ttl": "1h"} if ttl == "1h" else {})}
    positions = [index for index, message in enumerate(messages) if message["role"] == "system"][:1]
    others = [index for index, message in enumerate(messages) if message["role"] != "system"]
    positions += [index for index in others if _takes_mark(messages[index], tools=tools)][-MARKED_MESSAGES:]
    return [
        _with_mark(message, mark) if index in positions else message for index, message in enumerate(messages)
    ]


def _takes_mark(message: Json, *, tools: bool) -> bool:
    content = message.get("content")
    if (message["role"] == "tool" and not tools) or not content:
        return False
    return isinstance(content, str) or (isinstance(content, list) and isinstance(content[-1], dict))


def _with_mark(message: Json, mark: Json) -> Json:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content[:-1], {**content[-1], "cache_control": mark}]}
    return {**message, "content": [{"type": "text", "text": content, "cache_control": mark}]}
