"""Which parts of an event are texts, and the event without them.

A text is every string that is not a name. Names are ids, kinds, models, tools and other words by which events
refer to each other or are folded. A new field is a text unless its name is one of `NAMES`, or it is declared
as something else (`field_kinds`): `tests/domain/test_forgetting.py` lists all texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events import CallPattern, Event, OpaqueEvent
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.messages import Payload

if TYPE_CHECKING:
    from msgspec import inspect

Replace = Callable[[str], str]
E = TypeVar("E", bound=Event)

# fmt: off
NAMES = frozenset({
    "account", "after", "back_to", "because", "blobs", "browser", "by", "call", "category", "cause", "child",
    "confirmed_by", "curation", "day",
    "delivery", "dialect", "digest", "embedding", "endpoint", "ensemble", "experiment", "fallback",
    "feature", "file", "fingerprint",
    "finish_reason", "forgetting", "gateway",
    "hash", "held", "host", "id", "into", "key", "kind", "lineage", "listener", "listeners", "member",
    "members", "mcp", "media_type", "model", "name", "not_kept", "observed", "observed_in", "protocol",
    "server", "parent", "parent_turn", "path", "person", "purpose", "rating", "receipt", "replay", "requires",
    "results", "review", "role", "root", "rule", "rules", "said_at",
    "schedule", "session", "sessions", "setting", "skill", "skills", "source", "spilled_to", "step",
    "stopped_by", "stream", "task",
    "timezone", "timing", "tool_call", "toolsets", "trigger", "turn", "withheld", "worker",
})
# fmt: on
"""Fields that hold names in every type, unless they are declared otherwise: see `field_kinds`."""


def scrubbed(event: E, text: Replace, blobs: Collection[str] = ()) -> E:
    """The event with each of its texts replaced by the result of `text`, and without those of its attachments
    that are in `blobs`; the same object if nothing changes."""
    changed: E = _scrubbed(event, text, blobs=blobs)
    return changed


def texts_of(event: Event) -> Iterator[str]:
    """The texts of the event."""
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    _scrubbed(event, collect)
    yield from texts


def text_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct that hold texts, at whatever depth."""
    return tuple(_fields(kind))


@cache
def _fields(kind: type[msgspec.Struct]) -> Mapping[str, str]:
    """The fields that hold texts, each with its kind: see `field_kinds`."""
    from msgspec import inspect

    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    kinds = {}
    for field in described.fields:
        declared = _declared(field.type) or ("name" if field.name in NAMES else "text")
        if declared != "name" and _holds_text(field.type):
            kinds[field.name] = declared
    return kinds


def _declared(described: inspect.Type) -> str | None:
    """The kind that a field is declared as; None where its name says it."""
    from msgspec import inspect

    extra = described.extra if isinstance(described, inspect.Metadata) else None
    return None if extra is None else extra.get("holds")


def _holds_text(described: inspect.Type) -> bool:
    from msgspec import inspect

    match described:
        case inspect.Metadata(type=inner):
            return _holds_text(inner)
        case inspect.StrType():
            return True
        case inspect.StructType(cls=kind):
            return bool(_fields(kind))
        case inspect.UnionType(types=types):
            return any(map(_holds_text, types))
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return _holds_text(item)
        case inspect.DictType(value_type=value):
            return _holds_text(value)
        case _:
            return False


def _scrubbed(  # noqa: PLR0911, PLR0912 - one case a kind of value
    value: Any, text: Replace, *, kind: str = "text", blobs: Collection[str] = ()
) -> Any:
    match value:
        case str() if kind == "json":
            return in_json(value, text)
        case str():
            return value if kind == "address" and ":" not in value else text(value)
        case msgspec.Struct() if getattr(value, "base64", False):  # a file that is not text
            return value
        case OpaqueEvent():
            return _opaque(value, text)
        case Payload():  # its provider would refuse one that was changed
            return value if in_json(value.data, text) == value.data else None
        case Attachment():
            return _attachment(value, text, blobs)
        case msgspec.Struct():
            changes = {}
            for name, holds in _fields(type(value)).items():
                before = getattr(value, name)
                after = _scrubbed(before, text, kind=holds, blobs=blobs)
                if after != before:
                    changes[name] = after
            if changes and isinstance(value, CallPattern):  # a placeholder would match other calls
                changes["exact"] = True
            return replace(value, **changes) if changes else value
        case tuple():
            after = tuple(_scrubbed(item, text, blobs=blobs) for item in value)
            return value if after == value else after
        case Mapping():
            return {key: _scrubbed(item, text, blobs=blobs) for key, item in value.items()}
        case _:
            return value


def _attachment(value: Attachment, text: Replace, blobs: Collection[str]) -> Attachment:
    """The attachment; without its bytes if anything that is known of it is removed."""
    name, seen = text(value.file_name), text(value.seen) if value.seen else ""
    is_same = (name, seen) == (value.file_name, value.seen)
    if is_same and not any(digest in blobs for digest in value.digests):
        return value
    was = value.known_as
    return replace(value, file_name=name, seen=seen, digest="", sent="", text="", was=was)


def _opaque(event: OpaqueEvent, text: Replace) -> OpaqueEvent:
    import json

    before = json.loads(event.data)
    after = _unnamed(before, text)
    if after == before:
        return event
    return replace(event, data=json.dumps(after, ensure_ascii=False), schema=-abs(event.schema))


def _unnamed(value: Any, text: Replace) -> Any:
    """The JSON of an event without its texts, but for the fields that hold names in every type."""
    match value:
        case str():
            return in_json(value, text) if value[:1] in {"{", "["} else text(value)
        case list():
            return [_unnamed(item, text) for item in value]
        case dict():
            return {name: item if name in NAMES else _unnamed(item, text) for name, item in value.items()}
        case _:
            return value


def in_json(stored: str, text: Replace) -> str:
    """A JSON text with each string replaced by the result of `text`; other text is replaced as a whole."""
    import json  # imported here, because every command imports this module

    try:
        before = json.loads(stored)
        if isinstance(before, dict | list):
            after = _leaves(before, text)
            return stored if after == before else json.dumps(after, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    return text(stored)


def _leaves(value: Any, text: Replace) -> Any:
    match value:
        case str():
            return in_json(value, text) if value[:1] in {"{", "["} else text(value)
        case bool() | None:
            return value
        case int() | float():
            string = str(value)
            return value if text(string) == string else text(string)
        case list():
            return [_leaves(item, text) for item in value]
        case dict():
            return {text(key): _leaves(item, text) for key, item in value.items()}
        case _:
            return value
