"""Payloads of Chat Completions: collected from an answer, and put back into later requests.

And their texts well formed: JSON can hold halves of surrogate pairs, which no encoder accepts.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hermes_jobs.kernel.turns.messages import AssistantMessage, Payload
from hermes_jobs.llm.dialect import Dialect
from hermes_jobs.llm.families import CONTENT_PARTS

Json = dict[str, Any]

_GROWING = ("text", "summary", "data")
"""Fields of an entry of `reasoning_details` that arrive in pieces."""


class PayloadFields:
    """Collects an endpoint's payload of one message, piece by piece. One
    instance per answer, for one thread.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        """`fields` are the fields to send back."""
        self._fields = tuple(fields)
        self._values: Json = {}

    def take(self, delta: Mapping[str, object]) -> None:
        """Add the fields of the next delta, or of a complete message."""
        for name in self._fields:
            value = delta.get(name)
            if isinstance(value, str):
                self._values[name] = str(self._values.get(name, "")) + value
            elif isinstance(value, Sequence):
                _merge(self._values.setdefault(name, []), value)
            elif value is not None:
                self._values[name] = value

    def take_parts(self, parts: object) -> None:
        """Add a content of typed parts, as Mistral sends it; pieces of one part become one."""
        if CONTENT_PARTS not in self._fields or not isinstance(parts, Sequence) or isinstance(parts, str):
            return
        kept: list[Json] = self._values.setdefault(CONTENT_PARTS, [])
        for part in map(mapping_of, parts):
            if kept and kept[-1].get("type") == part.get("type") in {"text", "thinking"}:
                _extend(kept[-1], part)
            elif part:
                kept.append(msgspec.to_builtins(part))

    def values(self) -> Json:
        """The non-empty fields; readable reasoning is left out if its entries are present."""
        values = {name: value for name, value in self._values.items() if value}
        if not any(part.get("type") == "thinking" for part in values.get(CONTENT_PARTS, ())):
            values.pop(CONTENT_PARTS, None)
        if "reasoning_details" in values:
            values.pop("reasoning", None)
        return values


def _extend(part: Json, piece: Mapping[str, object]) -> None:
    """Append a piece to a part: its text, its thinking, which is a list of texts, and its last fields."""
    for name, value in piece.items():
        before = part.get(name)
        if name == "text" and isinstance(value, str) and isinstance(before, str):
            part[name] = before + value
        elif name == "thinking" and isinstance(value, list) and isinstance(before, list):
            part[name] = _joined([*before, *value])
        elif value is not None:
            part[name] = value


def _joined(texts: Sequence[Any]) -> list[Any]:
    """The texts with neighbours of a plain form joined."""
    joined: list[Any] = []
    for text in texts:
        last = joined[-1] if joined else None
        if (
            isinstance(last, dict)
            and isinstance(text, dict)
            and last.keys() == text.keys() == {"type", "text"}
        ):
            joined[-1] = {**last, "text": f"{last['text']}{text['text']}"}
        else:
            joined.append(text)
    return joined


def _merge(entries: list[Any], pieces: Sequence[object]) -> None:
    """Pieces of one entry share an index; its signature may come last, in its own piece."""
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        index = piece.get("index")
        matching = [entry for entry in entries if index is not None and entry.get("index") == index]
        if not matching or not _continues(matching[0], piece):
            entries.append(dict(piece))
            continue
        for name, value in piece.items():
            if name in _GROWING and isinstance(value, str) and isinstance(matching[0].get(name), str):
                matching[0][name] += value
            elif value is not None or name not in matching[0]:
                matching[0][name] = value


def _continues(entry: Mapping[str, object], piece: Mapping[str, object]) -> bool:
    same_type = piece.get("type") in {None, entry.get("type")}
    return same_type and (piece.get("id") is None or entry.get("id") in {None, piece.get("id")})


def payload_of(value: Json, dialect: Dialect, model: str) -> Payload | None:
    """The collected fields as a payload; None if there are none."""
    if not value:
        return None
    data = well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return Payload(dialect.payload_name, model, dialect.endpoint, data)


def payload_content(message: AssistantMessage, dialect: Dialect, model: str) -> Json:
    """The payload's content, if this model at this endpoint understands it; else nothing."""
    payload = message.payload
    if (
        payload is None
        or payload.dialect != dialect.payload_name
        or dialect.payloads not in {"send", "again"}
    ):
        return {}
    is_bound = dialect.api == "responses" or dialect.family.binding == "model"
    if is_bound and (payload.model, payload.endpoint) != (model, dialect.endpoint):
        return {}
    content = msgspec.json.decode(payload.data)
    return content if isinstance(content, dict) else {}


def with_payload(rendered: Json, message: AssistantMessage, dialect: Dialect, model: str) -> Json:
    """The rendered message with its payload, or with the family's replacement."""
    family, calls = dialect.family, rendered.get("tool_calls", [])
    if not (calls or family.everywhere):
        return rendered
    content = payload_content(message, dialect, model)
    if dialect.api == "responses":
        return {**rendered, "items": content.get("items", ())}
    fields = {name: value for name, value in content.items() if name in family.fields}
    of_calls = {
        int(key): {name: value for name, value in extras.items() if name in family.call_fields}
        for key, extras in content.get("tool_calls", {}).items()
    }
    lacks = calls and not fields and not any(of_calls.values())
    if lacks and dialect.payloads != "omit" and family.wants_filler(model):
        fields = dict(family.filler)
        of_calls = {index: dict(family.call_filler) for index in range(len(calls))}
    parts = fields.pop(CONTENT_PARTS, None)
    whole = {**rendered, **fields}
    if parts:
        whole["content"] = _with_thinking(parts, rendered.get("content") or "")
    if calls:
        whole["tool_calls"] = [{**call, **of_calls.get(index, {})} for index, call in enumerate(calls)]
    return whole


def _with_thinking(parts: Sequence[Json], text: str) -> list[Json]:
    """The content as it came; where the text has changed since, its thinking before the text."""
    if "".join(text_of(part.get("text")) for part in parts if part.get("type") == "text") == text:
        return list(parts)
    thinking = [part for part in parts if part.get("type") == "thinking"]
    return [*thinking, *([{"type": "text", "text": text}] if text else [])]


class WholeCharacters:
    """Joins surrogate pairs that arrive in two pieces; a lone half becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def feed(self, text: str) -> str:
        """The next piece, without a half at its end, which is held back."""
        return self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))

    def finish(self) -> str:
        """The held-back half, as U+FFFD."""
        return self._decoder.decode(b"", final=True)


def well_formed(text: str) -> str:
    """The text with pairs joined and lone halves replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mapping_of(value: object) -> Mapping[str, object]:
    """The value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def text_of(value: object) -> str:
    """The value if it is a text, else an empty text."""
    return value if isinstance(value, str) else ""
