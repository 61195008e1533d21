"""Rehearsal model: a scripted model in this process, for use without a key.

It holds a small conversation and shows tools, memory, a review and a compression. The same request always
gets the same reply. Its texts are in `hermes_jobs.llm.rehearsal_script`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import takewhile

from hermes_jobs.kernel.engine.ports import Cancel, ModelRequest, Reply
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm import rehearsal_script as lines
from hermes_jobs.llm.client import cancelled
from hermes_jobs.llm.windows import estimated_tokens
from hermes_jobs.text.tokens import tokens

REHEARSAL = "rehearsal"

_FENCE = re.compile(r"<memory-context>.*?</memory-context>", re.DOTALL)
_WORDS = re.compile(r"\S+\s*|\s+")
_WORDS_A_PIECE = 6


class RehearsalModel:
    """A `Model` without network access. Safe for many threads."""

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        reply = rehearse(request)
        words: list[str] = _WORDS.findall(reply.content)
        for start in range(0, len(words), _WORDS_A_PIECE):
            if cancel.reason is not None:
                break
            on_text("".join(words[start : start + _WORDS_A_PIECE]))
        if cancel.reason is not None:
            raise cancelled(cancel)
        return reply


def rehearse(request: ModelRequest) -> Reply:
    """The reply to a request: calls of its tools, or an answer."""
    results = _open_results(request)
    if results:
        return _reply(request, lines.with_results([(message.name, message.content) for message in results]))
    text = _last_user_text(request.messages)
    tools = frozenset(spec.name for spec in request.offered)
    response = lines.response(text, tools, _earlier_user_texts(request.messages))
    if not response.calls:
        return _reply(request, response.text)
    turn = len(request.messages)
    calls = tuple(
        ToolCall(f"call_{turn}_{index}", name, json.dumps(arguments, ensure_ascii=False))
        for index, (name, arguments) in enumerate(response.calls)
    )
    return Reply(
        content=response.text,
        tool_calls=calls,
        finish_reason="tool_calls",
        usage=_estimated(request, response.text + "".join(call.arguments for call in calls)),
        model=REHEARSAL,
    )


def _reply(request: ModelRequest, text: str) -> Reply:
    return Reply(content=text, usage=_estimated(request, text), model=REHEARSAL)


def _estimated(request: ModelRequest, text: str) -> Usage:
    """The estimated usage of such a request to a real model."""
    return Usage(estimated_tokens(request), max(1, tokens(text)))


def _open_results(request: ModelRequest) -> list[ToolMessage]:
    """The results without an answer: at the end, or before the last message of a request without tools."""
    backwards = list(reversed(request.messages))
    if backwards and isinstance(backwards[0], UserMessage) and not request.offered:
        backwards = backwards[1:]
    results = takewhile(lambda message: isinstance(message, ToolMessage), backwards)
    return [message for message in results if isinstance(message, ToolMessage)][::-1]


def _last_user_text(messages: tuple[Message, ...]) -> str:
    texts = (message.content for message in reversed(messages) if isinstance(message, UserMessage))
    return _FENCE.sub("", next(texts, "")).strip()


def _earlier_user_texts(messages: tuple[Message, ...]) -> list[str]:
    """The user's texts before the last message, since the last save."""
    texts: list[str] = []
    for message in messages:
        if isinstance(message, UserMessage):
            texts.append(_FENCE.sub("", message.content).strip())
        elif isinstance(message, AssistantMessage) and any(c.name == "memory" for c in message.tool_calls):
            texts.clear()
    return texts[:-1]
