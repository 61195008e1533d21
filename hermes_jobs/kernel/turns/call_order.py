"""Which calls of one reply wait for which earlier ones. Pure: it knows what each call declares, no tool.

| the earlier call | the later call        | order            |
|------------------|-----------------------|------------------|
| reads            | reads                 | side by side     |
| reads            | writes the same       | the later waits  |
| writes           | reads or writes it    | the later waits  |

A call of which it is not known what it touches writes `EVERYTHING`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

EVERYTHING = "/"
"""All files: what a call reads or writes that does not say which."""


class CallEffects(msgspec.Struct, frozen=True):
    """What a call reads and writes: real paths, and names of other things, which do not begin with `/`. A
    folder, or a name, stands for all below it too."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


def waits_for(calls: Sequence[CallEffects]) -> tuple[tuple[int, ...], ...]:
    """For each call the earlier ones that must have ended before it starts, by their places.

    All of them are named, also those for which another one of them waits: a call may end without its turn,
    when it is denied.
    """
    return tuple(
        tuple(at for at, earlier in enumerate(calls[:place]) if _must_keep_order(earlier, call))
        for place, call in enumerate(calls)
    )


def _must_keep_order(earlier: CallEffects, later: CallEffects) -> bool:
    return _overlap(earlier.writes, later.reads | later.writes) or _overlap(earlier.reads, later.writes)


def _overlap(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_contains(a, b) or _contains(b, a) for a in some for b in others)


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
