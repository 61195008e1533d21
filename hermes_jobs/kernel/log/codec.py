"""Values to stored text and back: events, their authors, names and any other text.

Stored text is UTF-8 without NUL, so that every database takes it. Halves of surrogate pairs, which no UTF-8
can hold, are stored as U+FFFD.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from hermes_jobs.errors import Corrupt, NewerSchema
from hermes_jobs.kernel.events import Event, OpaqueEvent
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES, SINCE
from hermes_jobs.kernel.streams.streams import is_known
from hermes_jobs.system.struct_types import described

Fields = dict[str, Any]
Upcast = Callable[[Fields], Fields]
UpcastTable = Mapping[tuple[str, int], Upcast]


def _results_of_checks(fields: Fields) -> Fields:
    renamed = [{"ok": each["ok"], "message": each.get("told", "")} for each in fields["kept"]]
    return {"step": fields["step"], "results": renamed}


UPCASTS: UpcastTable = {("CellChecked", 1): _results_of_checks}
"""Converters of the stored form of old events: (type, schema) → a function from that schema's fields to the
next schema's, so that each knows two neighbouring forms only. Fields added with a default need no entry."""

Replace = Callable[[Fields], tuple[str, Fields]]


def _titled(fields: Fields) -> tuple[str, Fields]:
    return "HelperCallFailed" if fields.get("kind") else "HelperCallEnded", fields


def _embedded(fields: Fields) -> tuple[str, Fields]:
    made_no_call = fields.get("dimensions") == 0
    return "HelperCallEnded", {**fields, "model": ""} if made_no_call else fields


def _consolidation_failed(fields: Fields) -> tuple[str, Fields]:
    lost = fields.get("lost")
    if lost is None:
        return "HelperCallFailed", fields
    used = {name: lost[name] for name in ("input_tokens", "output_tokens")}
    estimate = {"model": lost["model"], "estimated": used, "estimated_cost_usd": lost.get("cost_usd")}
    return "HelperCallFailed", {**fields, **estimate}


_STARTS = ("ReplayCallStarted", "TitleStarted", "ConsolidationStarted", "EmbeddingStarted")
REPLACED: Mapping[str, Replace] = {
    **dict.fromkeys(_STARTS, lambda fields: ("HelperCallStarted", fields)),
    **dict.fromkeys(("ReplayCallFailed", "EmbeddingFailed"), lambda fields: ("HelperCallFailed", fields)),
    "ConsolidationFailed": _consolidation_failed,
    "EmbeddingEnded": _embedded,
    "TitleEnded": _titled,
}
"""Types that are not written any more: a function from the stored fields to the type that took its place, and
its fields. A removal of texts stores the new fields under the old type: they are taken as they are."""

_json = msgspec.json.Encoder()
_string = msgspec.json.Decoder(str)
_meta = msgspec.json.Decoder(described(EventMeta))


def current_schema(kind: str, table: UpcastTable = UPCASTS) -> int:
    """The schema number that the type is stored with: 1, and one more for each upcast."""
    return 1 + max((schema for name, schema in table if name == kind), default=0)


def upcast(kind: str, schema: int, fields: Fields, table: UpcastTable = UPCASTS) -> Fields:
    """The fields in the type's current form, from the form that `schema` names.

    Raises `KeyError` where the table leaves out a schema between that one and the current.
    """
    for number in range(schema, current_schema(kind, table)):
        fields = table[kind, number](fields)
    return fields


class EncodedEvent(msgspec.Struct, frozen=True):
    """An event as it will be stored, and as it will be read back."""

    event: Event
    type: str
    data: str
    schema: int
    min_build_level: int


class Decoders(dict[str, msgspec.json.Decoder[Event]]):
    """A decoder for each event type, made when the type is first met: a short command meets few of them."""

    def __init__(self, types: Mapping[str, type[Event]]) -> None:
        self._types = types

    def __missing__(self, name: str) -> msgspec.json.Decoder[Event]:
        self[name] = decoder = msgspec.json.Decoder(described(self._types[name]))
        return decoder


class Codec:
    """Knows the event types of one build: their names, stored forms and the build level that reads them."""

    def __init__(
        self,
        types: Mapping[str, type[Event]] = EVENT_TYPES,
        upcasts: UpcastTable = UPCASTS,
        since: Mapping[str, int] = SINCE,
    ) -> None:
        self._types = types
        self._upcasts = upcasts
        self._since = since
        self._schemas = {name: current_schema(name, upcasts) for name in types}
        self._decoders = Decoders(types)
        self.reads_up_to = max(since.values(), default=1)

    def encode(self, event: Event) -> EncodedEvent:
        """The event as text. Raises `Corrupt` where its type is not declared."""
        if isinstance(event, OpaqueEvent):
            return EncodedEvent(event, event.type, event.data, event.schema, self._since.get(event.type, 1))
        name = type(event).__name__
        if self._types.get(name) is not type(event):
            raise Corrupt(f"{name} is not a declared event type; declare it in hermes_jobs.kernel.events.")
        try:
            data = _json.encode(event).decode()
        except UnicodeEncodeError:
            data = to_json(event)
            event = self._decoders[name].decode(data)
        return EncodedEvent(event, name, data, self._schemas[name], self._since.get(name, 1))

    def decode(self, kind: str, data: str, schema: int, stream: str | None = None) -> Event:
        """The event that was stored; fields that this build does not know are ignored.

        In a `stream` of no known kind it is opaque, whatever its type. So it is where its texts were removed
        while it was opaque (then its `schema` is negative), and what is left is not what its type needs.
        Raises `NewerSchema` where the type, or its form, is newer than this build; `Corrupt` where the text
        does not hold what the type needs.
        """
        if stream is not None and not is_known(stream):
            return OpaqueEvent(type=kind, schema=schema, data=data)
        if schema < 0:
            try:
                return self.decode(kind, data, -schema)
            except Corrupt:
                return OpaqueEvent(type=kind, schema=schema, data=data)
        if (replaced := REPLACED.get(kind)) is not None:
            return self._replaced(kind, data, replaced)
        schema_known = self._schemas.get(kind)
        if schema_known is None or schema > schema_known:
            form = kind if schema_known is None else f"{kind} in form {schema}"
            raise NewerSchema(f"An event {form} was written by a newer hermes-jobs: upgrade this one.")
        try:
            if schema == schema_known:
                return self._decoders[kind].decode(data)
            fields = upcast(kind, schema, msgspec.json.decode(data), self._upcasts)
            return msgspec.convert(fields, described(self._types[kind]))
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise Corrupt(f"A stored {kind} (form {schema}) cannot be read: {error}.") from error

    def _replaced(self, kind: str, data: str, replaced: Replace) -> Event:
        try:
            name, fields = replaced(msgspec.json.decode(data))
            return msgspec.convert(fields, described(self._types[name]))
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise Corrupt(f"A stored {kind} cannot be read: {error}.") from error


def to_json(value: object) -> str:
    """Any value as JSON text without NUL; invalid Unicode becomes U+FFFD."""
    try:
        return _json.encode(value).decode()
    except UnicodeEncodeError:
        return _json.encode(_valid_unicode(msgspec.to_builtins(value))).decode()


def to_meta(text: str) -> EventMeta:
    """An event's author, from stored text."""
    return _meta.decode(text)


def escaped(name: str) -> str:
    """A name as stored: quotes, backslashes and control characters are escaped as in JSON."""
    return to_json(name)[1:-1]


def unescaped(stored: str) -> str:
    """The name that was stored so."""
    return _string.decode(f'"{stored}"') if "\\" in stored else stored


def chain_hash(previous: str, *texts: str) -> str:
    """The hash of an event: SHA-256, in hex, over its predecessor's hash and its own stored texts.

    Each text is preceded by its length in bytes, so that no two lists of texts give the same bytes.
    """
    encoded = [text.encode() for text in (previous, *texts)]
    return sha256(b"".join([b"%d:%b" % (len(raw), raw) for raw in encoded])).hexdigest()


def _valid_unicode(value: Any) -> Any:
    match value:
        case str():
            # Over UTF-16 two halves that stand side by side become the character that they mean.
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list() | tuple():
            return [_valid_unicode(item) for item in value]
        case dict():
            return {_valid_unicode(key): _valid_unicode(item) for key, item in value.items()}
        case _:
            return value
