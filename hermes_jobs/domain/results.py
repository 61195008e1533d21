"""Tool results that are too large for a message: what stands there in their place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.turn import Call

UNLIMITED = 2**31
"""A window that every result fits."""
CHARACTERS_A_TOKEN = 4
OPEN, CLOSE = "<persisted-output>", "</persisted-output>"


class Room(msgspec.Struct, frozen=True):
    """How many characters one result, and all results of one message, may have."""

    result_chars: int
    turn_chars: int


def room_for_results(window: int) -> Room:
    """What results may take of a window (in tokens): 15 % and 30 % of it, and in any case a little."""
    characters = window * CHARACTERS_A_TOKEN
    return Room(max(8_000, characters * 15 // 100), max(16_000, characters * 30 // 100))


def result_path(call: str) -> str:
    """Where a kept result is read: a path that `read_file` knows on every host."""
    return f"results/{call}.txt"


def stand_in(content: str, path: str, preview_chars: int) -> str:
    """The text in the place of a large result: how large it is, where it is whole, and how it begins."""
    beginning = content[:preview_chars]
    return (
        f"{OPEN}\n"
        f"This result is large ({len(content):,} characters). It is kept whole as {path}: "
        "read what you need of it in parts, with read_file and its offset and limit.\n"
        f"It begins:\n{beginning}\n{CLOSE}"
    )


def fitted(calls: Sequence[Call], limit: int, preview_chars: int) -> tuple[Call, ...]:
    """The calls of a complete round with the largest results replaced until all fit into `limit` characters.

    A result that came from a file points at that file; what was replaced before stays as it is.
    """
    fitting = {call.id: call for call in calls}
    largest_first = sorted(calls, key=lambda call: -len(call.result or ""))
    for call in largest_first:
        if sum(len(each.result or "") for each in fitting.values()) <= limit:
            break
        if not (call.result or "").startswith(OPEN):
            path = call.source or result_path(call.id)
            fitting[call.id] = replace(call, result=stand_in(call.result or "", path, preview_chars))
    return tuple(fitting[call.id] for call in calls)
