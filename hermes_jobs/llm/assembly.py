"""Assembles one reply from a Chat Completions answer: streamed chunks, or one complete message.

Tolerant: reads the common deviations from the reference, and skips what it cannot read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_jobs.llm.errors import ApiRefusal, parse_refusal
from hermes_jobs.llm.payloads import mapping_of, text_of
from hermes_jobs.llm.reply_builder import ReplyBuilder

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
"""Finish reasons of other APIs, mapped to `stop`, `tool_calls` and `length` of Chat Completions."""

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class ReplyAssembler:
    """Takes the chunks of one answer in order. One instance per answer, for one thread."""

    HOLDS = "choices"  # a whole answer must have this key

    def __init__(self, draft: ReplyBuilder) -> None:
        self.draft = draft

    def refusal(self, chunk: object) -> ApiRefusal | None:
        """The refusal in a chunk, if any; OpenRouter puts it into the choice."""
        choices = chunk.get("choices") if isinstance(chunk, Mapping) else None
        first = choices[0] if isinstance(choices, Sequence) and choices else None
        return parse_refusal(chunk) or parse_refusal({"error": mapping_of(first).get("error")})

    def feed(self, chunk: Mapping[str, object]) -> str:
        """Handle the next chunk, or a complete completion; returns the text to show."""
        self.draft.has_begun = True
        self.draft.model = self.draft.model or text_of(chunk.get("model"))
        self.draft.report(chunk.get("usage") or mapping_of(chunk.get("x_groq")).get("usage"))
        choices = chunk.get("choices")
        if not isinstance(choices, Sequence) or not choices:
            return ""
        choice = mapping_of(choices[0])
        reason = text_of(choice.get("finish_reason")).lower()
        self.draft.finish_reason = FINISH_REASONS.get(reason, reason) or self.draft.finish_reason
        delta = mapping_of(choice.get("delta")) or mapping_of(choice.get("message"))
        self.draft.payload_fields.take(delta)
        self._feed_calls(delta)
        return self._feed_text(delta)

    def _feed_calls(self, delta: Mapping[str, object]) -> None:
        self.draft.calls.feed(delta.get("tool_calls"))
        if isinstance(delta.get("function_call"), Mapping):
            self.draft.calls.feed([{"index": 0, "function": delta["function_call"]}])

    def _feed_text(self, delta: Mapping[str, object]) -> str:
        thought = next((text for field in _REASONING_FIELDS if (text := text_of(delta.get(field)))), "")
        self.draft.payload_fields.take_parts(delta.get("content"))
        answer, thought_parts = _parts(delta.get("content"))
        self.draft.think(thought or thought_parts or _details(delta.get("reasoning_details")))
        answer += text_of(delta.get("refusal"))
        return self.draft.say(answer)


def _details(entries: object) -> str:
    """The readable text of `reasoning_details`."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return ""
    return "".join(
        text_of(entry.get("text")) or text_of(entry.get("summary")) for entry in map(mapping_of, entries)
    )


def _parts(content: object) -> tuple[str, str]:
    """Text and reasoning of a `content`, which is a string or, from Mistral, a list of typed parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, Sequence):
        return "", ""
    text, thought = "", ""
    for part in map(mapping_of, content):
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            thought += inner if isinstance(inner, str) else _parts(inner)[0]
        else:
            text += text_of(part.get("text"))
    return text, thought
