"""Loop guard: a call with the same result is warned about the third time, and blocked the fifth time.

Another call with a new result that may have changed something resets the counts: editing a file and repeating
the same test is not a loop. A blocked call is refused and the turn continues; `MAX_REFUSALS` of them end
it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_jobs.kernel.turns.messages import ToolCall

WARN_FROM = 3
REFUSE_FROM = 5
MAX_REFUSALS = 3

WARNING = (
    "[You have made this very call before in this request, and its result is still the same. Do not repeat "
    "it: change something, try another way, or answer from what you have.]\n\n"
)
"""Precedes a result, so that it stays in the preview of a long one."""

REFUSAL = (
    "Error: this call was not run. It has been made with the same arguments four times in this request, and "
    "its result was the same each time, with nothing changed in between. Change something first, try another "
    "way, or answer from what you have."
)


class RepeatedCall(msgspec.Struct, frozen=True):
    """A call of the turn, its last result, and how often in a row it had that result since the last
    change."""

    name: str
    arguments: str
    result: str
    count: int = 1


def count_call(
    repeats: Sequence[RepeatedCall], call: str, request: ToolCall, result: str, *, changes: bool = False
) -> tuple[RepeatedCall, ...]:
    """The counts after one more call; a different result resets its count, a refusal changes nothing.

    `call` is the call's id, which occurs in the path of a stored result. `changes`: it may have changed
    something, so that the counts of others are reset unless its own result is an old one.
    """
    if is_blocked(repeats, request):
        return tuple(repeats)
    last = _last(repeats, request)
    plain = _plain(result, call)
    is_new = last is None or last.result != plain
    count = 1 if last is None or is_new else last.count + 1
    others = (repeat for repeat in repeats if repeat is not last)
    if changes and is_new:
        others = (msgspec.structs.replace(other, count=0) for other in others)
    return (*others, RepeatedCall(request.name, _canonical(request.arguments), plain, count))


def is_blocked(repeats: Sequence[RepeatedCall], request: ToolCall) -> bool:
    """Whether the call must not run again."""
    last = _last(repeats, request)
    return last is not None and last.count >= REFUSE_FROM - 1


def with_warning(repeats: Sequence[RepeatedCall], call: str, request: ToolCall, result: str) -> str:
    """The result as stored in the log, with a warning before it where it repeated too often."""
    last = _last(repeats, request)
    same = last is not None and last.result == _plain(result, call) and last.count >= WARN_FROM - 1
    return WARNING + result if same else result


def _plain(result: str, call: str) -> str:
    return result.removeprefix(WARNING).replace(call, "(call)")


def _last(repeats: Sequence[RepeatedCall], request: ToolCall) -> RepeatedCall | None:
    arguments = _canonical(request.arguments)
    return next(
        (repeat for repeat in repeats if (repeat.name, repeat.arguments) == (request.name, arguments)), None
    )


def _canonical(arguments: str) -> str:
    """The same text for equal arguments, regardless of spaces and order."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (msgspec.DecodeError, RecursionError):
        return arguments
