"""The portable form of a log: JSON lines that hermes-jobs of this format or a later one can import.

| line   | how many | holds                                                                        |
|--------|----------|------------------------------------------------------------------------------|
| header | first    | the format's number, and where and when the file was made                    |
| event  | any      | an event as stored, byte by byte, so that its hash can be checked anywhere   |
| key    | any      | a name that was used once, and the event that it points at                   |
| result | any      | a tool's output that is too large for a message                              |
| blob   | any      | bytes that events before it name, in base64                                  |
| step   | any      | due steps in the order of their creation, with their owners                  |
| end    | last     | how many events there were, and the SHA-256 of all lines before              |

Events are in the order of their positions. Heads, steps' times and accounts are derived from events.

An event whose texts were forgotten keeps its original hash, so that the chain of hashes holds. Its new
content has another hash, which a later event, `TextsForgotten`, names.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import TextsForgotten
from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.codec import escaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, PREFIX
from hermes_jobs.system.struct_types import described

FORMAT = 2
"""Format 2 has blobs; an export without any is written in format 1, which older versions read."""

Scope = Literal["home", "sessions"]


class ExportLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Root of all lines."""


class ExportHeader(ExportLine, frozen=True, kw_only=True, tag="header"):
    """`log` is the id of the log that was written out, `version` that of the hermes-jobs that did so.

    `opaque`: streams whose due steps are not in the file, because the log does not have them (`log.OPAQUE`).
    """

    format: int
    version: str
    log: str
    made_at: str
    scope: Scope
    opaque: tuple[str, ...] = ()


class EventLine(ExportLine, frozen=True, kw_only=True, tag="event"):
    """An event; `meta` and `data` are its stored texts as they are."""

    position: int
    stream: str
    version: int
    type: str
    schema: int
    recorded_at: str
    meta: msgspec.Raw
    data: msgspec.Raw
    hash: str


class KeyLine(ExportLine, frozen=True, kw_only=True, tag="key"):
    """A key that points at that version of that stream."""

    scope: str
    key: str
    stream: str
    version: int
    digest: str


class ResultLine(ExportLine, frozen=True, kw_only=True, tag="result"):
    """A large result, whole."""

    call: str
    content: str


class BlobLine(ExportLine, frozen=True, kw_only=True, tag="blob"):
    """A picture or document."""

    content: bytes


class StepLine(ExportLine, frozen=True, kw_only=True, tag="step"):
    """A due step, and its owner when the file was made."""

    step: str
    stream: str
    owner: str | None = None
    fence: int = 0


class ExportEnd(ExportLine, frozen=True, kw_only=True, tag="end"):
    """What must have come before."""

    events: int
    sha256: str


AnyLine = ExportHeader | EventLine | KeyLine | ResultLine | BlobLine | StepLine | ExportEnd

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyLine)


def to_bytes(line: AnyLine) -> bytes:
    """The line with its line break."""
    return _encoder.encode(line) + b"\n"


def to_line(raw: bytes, number: int) -> AnyLine:
    """The record of the line; `number` counts from 1. Raises `Rejected` for an unknown record."""
    try:
        line: AnyLine = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid_line(number, f"it cannot be read: {error}") from error
    except RecursionError as error:
        raise invalid_line(number, "it is nested too deep") from error
    return line


def invalid_line(number: int, why: str) -> Rejected:
    """The refusal of a whole file for one of its lines."""
    return Rejected(
        f"Line {number} of the export: {why}.",
        kind="unreadable_export",
        hint="Nothing was imported. Make the export again, or take another copy of it.",
    )


_BEYOND = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)


class Tombstones:
    """The replacements of forgotten texts: a hash by stream and version; the newest one counts."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, int], str] = {}
        self._by_stream: dict[str, set[str]] = {}

    @classmethod
    def stored(cls, connection: Connection, previous: Tombstones | None = None) -> Tombstones:
        """Those of a log, with those that are known; one that cannot be read covers nothing."""
        tombstones = previous or cls()
        values = {"first": PREFIX, "beyond": _BEYOND, "type": TextsForgotten.__name__}
        for (data,) in connection.execute(sql.SELECT_OF_TYPE, values).fetchall():
            with suppress(msgspec.MsgspecError):
                tombstones.add(msgspec.json.decode(data, type=described(TextsForgotten)))
        return tombstones

    def __len__(self) -> int:
        """How many events have lost texts."""
        return len(self._hashes)

    def add(self, event: TextsForgotten) -> None:
        """Add another `TextsForgotten`."""
        for stream, tombstones in event.tombstones.items():
            self._by_stream.setdefault(stream, set()).add(event.forgetting)
            for tombstone in tombstones:
                self._hashes[stream, tombstone.version] = tombstone.hash

    def covers(self, stream: str, version: int, digest: str) -> bool:
        """Whether that version is an event with removed texts and this hash."""
        return self._hashes.get((stream, version)) == digest

    def streams_about(self, streams: frozenset[str]) -> frozenset[str]:
        """The streams whose events record what was forgotten in those."""
        about = (self._by_stream.get(stream, set()) for stream in streams)
        return frozenset(f"{PREFIX}{name}" for names in about for name in names)


def moved(key: str, stream: str, position: int) -> Mapping[str, object]:
    """The row of the key that says how far the log's forgetting has come."""
    at = {"stream": escaped(stream), "position": position}
    return {"scope": KEY_SCOPE, "key": key, "digest": "", **at}
