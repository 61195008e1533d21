"""Checking the chain of hashes where texts were forgotten.

An event keeps the hash that it was written with, also when its texts are gone: so the chain holds. What is
there since has another hash, which a later event, `TextsForgotten`, names.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from hermes_jobs.domain.events import TextsForgotten
from hermes_jobs.domain.forgetting import KEY_SCOPE, PREFIX
from hermes_jobs.eventlog import statements as sql
from hermes_jobs.eventlog.codec import escaped
from hermes_jobs.eventlog.database import Connection

_BEYOND = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)


class Tombstones:
    """What stands in the place of forgotten texts: a hash by stream and version, the newest one counts."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, int], str] = {}
        self._by_stream: dict[str, set[str]] = {}

    @classmethod
    def stored(cls, connection: Connection, known: Tombstones | None = None) -> Tombstones:
        """Those of a log, with those that are known; one that cannot be read covers nothing."""
        found = known or cls()
        values = {"first": PREFIX, "beyond": _BEYOND, "type": TextsForgotten.__name__}
        for (data,) in connection.execute(sql.SELECT_OF_TYPE, values).fetchall():
            with suppress(msgspec.MsgspecError):
                found.add(msgspec.json.decode(data, type=TextsForgotten))
        return found

    def __len__(self) -> int:
        """How many events have lost texts."""
        return len(self._hashes)

    def add(self, fact: TextsForgotten) -> None:
        """Take in one more forgetting."""
        for stream, tombstones in fact.tombstones.items():
            self._by_stream.setdefault(stream, set()).add(fact.forgetting)
            for each in tombstones:
                self._hashes[stream, each.version] = each.hash

    def covers(self, stream: str, version: int, digest: str) -> bool:
        """Whether an event with texts that have gone stands there now with that hash."""
        return self._hashes.get((stream, version)) == digest

    def streams_about(self, streams: frozenset[str]) -> frozenset[str]:
        """The streams whose events say what was forgotten in those."""
        about = (self._by_stream.get(stream, set()) for stream in streams)
        return frozenset(f"{PREFIX}{name}" for names in about for name in names)


def moved(key: str, stream: str, position: int) -> Mapping[str, object]:
    """The row of the key that says how far the log's forgetting has come."""
    at = {"stream": escaped(stream), "position": position}
    return {"scope": KEY_SCOPE, "key": key, "digest": "", **at}
