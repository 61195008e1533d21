"""One reply, put together from a Chat Completions answer: streamed chunks, or one whole message.

Reads what many endpoints send in the place of what the reference says; what it cannot read it passes over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.engine.ports import Reply
from hermes_jobs.llm.draft import ReplyDraft
from hermes_jobs.llm.errors import Refusal, refusal_in
from hermes_jobs.llm.usage import canonical_usage

FINISH_REASONS = {
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
}
"""Words of other APIs for what Chat Completions calls `stop`, `tool_calls` and `length`."""

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class ReplyAssembler:
    """Takes the chunks of one answer in order. For one answer, one thread."""

    HOLDS = "choices"  # a whole answer without it is none

    def __init__(self, draft: ReplyDraft | None = None) -> None:
        self._draft = draft or ReplyDraft()
        self._finish_reason = ""
        self._model = ""
        self._reported: object = None
        self._begun = False

    @property
    def usage(self) -> Usage:
        """What was reported so far."""
        return canonical_usage(self._reported) if self._reported else NO_USAGE

    @property
    def begun(self) -> bool:
        """Whether anything has arrived."""
        return self._begun

    @property
    def complete(self) -> bool:
        """Whether the endpoint said that the answer is at its end."""
        return bool(self._finish_reason)

    def refusal(self, chunk: object) -> Refusal | None:
        """The refusal that a chunk holds."""
        return refusal_in(chunk)

    def feed(self, chunk: Mapping[str, object]) -> str:
        """The next chunk, or a whole completion; returns the text in it that may be shown."""
        self._begun = True
        self._model = self._model or _text(chunk.get("model"))
        groq = chunk.get("x_groq")
        self._reported = chunk.get("usage") or (_mapping(groq).get("usage")) or self._reported
        choices = chunk.get("choices")
        if not isinstance(choices, Sequence) or not choices:
            return ""
        choice = _mapping(choices[0])
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        said = _mapping(choice.get("delta")) or _mapping(choice.get("message"))
        self._feed_calls(said)
        return self._feed_text(said)

    def finish(self) -> tuple[Reply, str]:
        """The reply, and the last of its text that may be shown."""
        reason = FINISH_REASONS.get(self._finish_reason.lower(), self._finish_reason.lower() or "stop")
        return self._draft.finish(reason, self.usage, self._model)

    def _feed_calls(self, said: Mapping[str, object]) -> None:
        self._draft.calls.feed(said.get("tool_calls"))
        if isinstance(said.get("function_call"), Mapping):
            self._draft.calls.feed([{"index": 0, "function": said["function_call"]}])

    def _feed_text(self, said: Mapping[str, object]) -> str:
        thought = next((text for field in _REASONING_FIELDS if (text := _text(said.get(field)))), "")
        spoken, thought_parts = _parts(said.get("content"))
        self._draft.think(thought or thought_parts)
        spoken += _text(said.get("refusal"))
        return self._draft.say(spoken)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parts(content: object) -> tuple[str, str]:
    """Text and thoughts of a `content`, which is a string or, at Mistral, a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, Sequence):
        return "", ""
    spoken, thought = "", ""
    for part in map(_mapping, content):
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            thought += inner if isinstance(inner, str) else _parts(inner)[0]
        else:
            spoken += _text(part.get("text"))
    return spoken, thought
