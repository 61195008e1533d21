"""Assembles one reply from the events of a stream, or from one complete message.

Unknown events are skipped. Sources: https://platform.claude.com/docs/en/build-with-claude/streaming,
https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_jobs.kernel.engine.ports import Reply
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import Payload, ToolCall
from hermes_jobs.llm.anthropic.render import DIALECT, THOUGHTS
from hermes_jobs.llm.payloads import WholeCharacters, mapping_of, text_of, well_formed
from hermes_jobs.llm.usage import canonical_usage

Json = dict[str, Any]

REASONS = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
"""The stop reasons that end a reply, in canonical form. Others are pauses or failures."""


class MessageAssembler:
    """Takes the events of one reply in order, over several responses if the model paused. For one thread.

    `has_begun`: data has arrived. `stop_reason` and `details` are the provider's, empty until the end of the
    message.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self.stop_reason = ""
        self.details: Mapping[str, object] = {}
        self.model = ""
        self.blocks: list[Json] = []
        self._first = 0  # of the current response
        self._characters = WholeCharacters()
        self._reported: Json = {}
        self._used = NO_USAGE

    @property
    def usage(self) -> Usage:
        """The usage reported so far."""
        return self._used + canonical_usage(self._reported)

    def feed(self, event: Mapping[str, object]) -> str:
        """Handle the next event, or a complete message; returns the text to show."""
        self.has_begun = True
        match event.get("type"):
            case "message_start":
                self._start(mapping_of(event.get("message")))
            case "content_block_start":
                return self._open(mapping_of(event.get("content_block")))
            case "content_block_delta":
                return self._extend(mapping_of(event.get("delta")))
            case "message_delta":
                self._end(mapping_of(event.get("delta")), event.get("usage"))
            case "message":
                return self._whole(event)
            case _:
                pass
        return ""

    def paused(self) -> list[Json]:
        """The blocks so far, to send so that the model continues; what follows belongs to the same reply."""
        self.stop_reason = ""
        self._used, self._reported = self.usage, {}
        self._first = len(self.blocks)
        return [_whole_block(block) for block in self.blocks]

    def finish(self, model: str, endpoint: str, prefix: str = "") -> tuple[Reply, str]:
        """The reply, and the last of its text to show. `prefix`: see `Prefix.whole`."""
        rest = self._add_text(self._characters.finish())
        calls = tuple(_call(block) for block in self.blocks if block["type"] == "tool_use")
        thoughts = "\n".join(block["thinking"] for block in self.blocks if block["type"] == "thinking")
        reason = REASONS.get(self.stop_reason, self.stop_reason)
        reply = Reply(
            content="".join(block["text"] for block in self.blocks if block["type"] == "text"),
            tool_calls=calls,
            reasoning=well_formed(thoughts).strip(),
            finish_reason="tool_calls" if calls and reason == "stop" else reason,
            usage=self.usage,
            model=self.model,
            payload=self._payload(model, endpoint, prefix),
        )
        return reply, rest

    def _payload(self, model: str, endpoint: str, prefix: str) -> Payload | None:
        """All blocks in order; of texts only the length, of calls only the id: the message has the rest."""
        if all(block["type"] in {"text", "tool_use"} for block in self.blocks):
            return None
        bound = {"prefix": prefix} if prefix else {}
        data = json.dumps(
            {"content": [_reference(block) for block in self.blocks], **bound}, ensure_ascii=False
        )
        return Payload(DIALECT, model, endpoint, well_formed(data))

    def _start(self, message: Mapping[str, object]) -> None:
        self.model = self.model or text_of(message.get("model"))
        self._report(message.get("usage"))

    def _open(self, block: Mapping[str, object]) -> str:
        opened: Json = dict(block)
        text = ""
        match opened.get("type"):
            case "text":
                text = self._characters.feed(text_of(opened.get("text")))
                opened["text"] = text
            case "thinking":
                opened["thinking"] = text_of(opened.get("thinking"))
            case "tool_use":
                opened = {**opened, "id": self._id(opened), "name": text_of(opened.get("name")), "json": ""}
            case str():
                pass
            case _:
                return ""
        self.blocks.append(opened)
        return text

    def _extend(self, delta: Mapping[str, object]) -> str:
        """Pieces belong to the newest block: the API sends one block after the other."""
        block = self.blocks[-1] if len(self.blocks) > self._first else {"type": ""}
        match delta.get("type"), block["type"]:
            case "text_delta", "text":
                return self._add_text(self._characters.feed(text_of(delta.get("text"))))
            case "input_json_delta", _ if "json" in block or "input" in block:
                block["json"] = block.get("json", "") + text_of(delta.get("partial_json"))
            case "thinking_delta", "thinking":
                block["thinking"] += text_of(delta.get("thinking"))
            case "signature_delta", "thinking":
                block["signature"] = text_of(block.get("signature")) + text_of(delta.get("signature"))
            case _:
                pass
        return ""

    def _add_text(self, text: str) -> str:
        if text and self.blocks:
            last = next((block for block in reversed(self.blocks) if block["type"] == "text"), None)
            if last is not None:
                last["text"] += text
        return text

    def _end(self, delta: Mapping[str, object], usage: object) -> None:
        self.stop_reason = text_of(delta.get("stop_reason")) or self.stop_reason
        self.details = mapping_of(delta.get("stop_details"))
        self._report(usage)

    def _whole(self, message: Mapping[str, object]) -> str:
        self._start(message)
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        text = "".join(self._open(mapping_of(block)) for block in blocks)
        self._end(message, None)
        return text

    def _report(self, usage: object) -> None:
        """Record usage; a later event of the same response replaces the earlier one."""
        self._reported |= {name: value for name, value in mapping_of(usage).items() if value is not None}

    def _id(self, block: Json) -> str:
        """An id unique among the reply's calls."""
        call_id = well_formed(text_of(block.get("id")))
        used_ids = {other["id"] for other in self.blocks if other["type"] == "tool_use"}
        return call_id if call_id and call_id not in used_ids else f"toolu_{len(self.blocks)}"


def _call(block: Json) -> ToolCall:
    return ToolCall(block["id"], well_formed(block["name"]), _arguments(block))


def _arguments(block: Json) -> str:
    """As the model wrote them; a whole message has them as an object."""
    block_input = block.get("input")
    return well_formed(block["json"]) if block["json"] or not block_input else _encoded(block_input)


def _encoded(value: object) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False))


def _whole_block(block: Json) -> Json:
    """The block in the form of a message: the pieces of its input as an object."""
    if "json" not in block:
        return block
    fields = {name: value for name, value in block.items() if name != "json"}
    try:
        return {**fields, "input": msgspec.json.decode(block["json"] or "{}")}
    except msgspec.MsgspecError:
        return {**fields, "input": {}}


def _reference(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "chars": len(block["text"])}
        case "tool_use":
            return {"type": "tool_use", "id": block["id"]}
        case kind if kind in THOUGHTS:
            return block
        case _:
            return _whole_block(block)
