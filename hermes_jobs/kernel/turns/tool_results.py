"""Large tool results: the previews that replace them in messages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import WARNING
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN

UNLIMITED = 2**31
"""A window large enough for every result."""
OPEN, CLOSE = "<persisted-output>", "</persisted-output>"
_SAYS = f"{OPEN}\nThis result is large"
_BEGINS = "It begins:\n"


class ResultBudget(msgspec.Struct, frozen=True):
    """The most characters of one result, and of all results of one message."""

    result_chars: int
    turn_chars: int


def result_budget(window: int) -> ResultBudget:
    """The budget for a window (in tokens): 15 % and 30 % of it, with a minimum."""
    characters = window * CHARACTERS_A_TOKEN
    return ResultBudget(max(8_000, characters * 15 // 100), max(16_000, characters * 30 // 100))


def result_path(call: str) -> str:
    """The path of a stored result, which `read_file` resolves on every host."""
    return f"results/{call}.txt"


def preview_of(content: str, path: str, preview_chars: int) -> str:
    """The text in place of a large result: its size, its path, and its beginning."""
    beginning = content[:preview_chars]
    return (
        f"{_SAYS} ({len(content):,} characters). It is kept whole as {path}: "
        "read what you need of it in parts, with read_file and its offset and limit.\n"
        f"{_BEGINS}{beginning}\n{CLOSE}"
    )


def truncate_round(calls: Sequence[Call], limit: int, preview_chars: int) -> tuple[Call, ...]:
    """The calls of a complete round, the largest results replaced until all fit into `limit` characters.

    A result read from a file refers to that file; earlier previews stay unchanged. If the previews of many
    calls do not fit, they are shortened.
    """
    while True:
        fitting = _replaced(calls, limit, preview_chars)
        if preview_chars == 0 or sum(map(_size, fitting)) <= limit:
            return fitting
        preview_chars //= 2


def _replaced(calls: Sequence[Call], limit: int, preview_chars: int) -> tuple[Call, ...]:
    """The calls with previews of that length, whether or not all fit."""
    size = sum(map(_size, calls))
    fitting: dict[str, Call] = {}
    for call in sorted(calls, key=_size, reverse=True):
        if size <= limit:
            break
        small = replace(call, result=_in_place_of(call, preview_chars))
        if _size(small) < _size(call):
            fitting[call.id] = small
            size -= _size(call) - _size(small)
    return tuple(fitting.get(call.id, call) for call in calls)


def _in_place_of(call: Call, preview_chars: int) -> str:
    result = call.result or ""
    if not result.removeprefix(WARNING).startswith(_SAYS):
        return preview_of(result, call.source or result_path(call.id), preview_chars)
    says, begins, beginning = result.removesuffix(f"\n{CLOSE}").partition(_BEGINS)
    return f"{says}{begins}{beginning[:preview_chars]}\n{CLOSE}"


def _size(call: Call) -> int:
    return len(call.result or "")
