"""Events of a stream `forgetting-ID`: texts that were removed, and the tombstones in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes_jobs.kernel.events.event import Event

ForgettingCause = Literal["session", "memory", "pattern", "retention"]


class Tombstone(msgspec.Struct, frozen=True, array_like=True):
    """One rewritten event: its version in its stream, and the hash of its row without the texts.

    The hash of the row with the texts stays in the chain: it is that of the event itself.
    """

    version: int
    hash: str


class TextsForgotten(Event, frozen=True, kw_only=True):
    """Texts were removed from these events, by stream, and from the large results of these calls.

    `by`: `user` or `retention`; `why`: a user's reason. Holds none of the texts. `sessions`: the sessions
    that were deleted, by stream. `blobs`: the digests of attachments that these events named.
    """

    forgetting: str
    cause: ForgettingCause
    by: str
    why: str = ""
    tombstones: Mapping[str, tuple[Tombstone, ...]] = {}
    results: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    blobs: tuple[str, ...] = ()


ForgettingEvent = TextsForgotten
