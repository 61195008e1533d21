"""Which content an editor began from, when a person has saved a file that this program writes as well.

| the file                                            | then the person began from                          |
|-----------------------------------------------------|-----------------------------------------------------|
| was saved before its newest content was written     | what it held when it was saved                      |
| has a newest content that demonstrably nobody read  | the nearest of what it held before that             |
| else                                                | its newest content                                  |

What is saved is an edit, also when it equals an older content: an entry that was taken out stays out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

SECOND = 1_000_000_000


class Content(msgspec.Struct, Generic[T], frozen=True):
    """What a file held from the modification time `at` (ns) on. `unread`: nobody can have read it since.

    `by_hand`: a person saved it, and this program has written something else since.
    """

    value: T
    at: int
    unread: bool = False
    by_hand: bool = False


def begun_from(
    held: Sequence[Content[T]],
    saved: Content[T],
    *,
    nearest: Callable[[Sequence[T], T], T],
    shares: Callable[[T, T, T], bool],
) -> T | None:
    """The content, which is the saved one where nothing was edited; None: the save is older than all held.

    `held` is in order, newest last. `nearest` finds the value from which the saved one most likely was made;
    `shares(newest, older, saved)`: whether the saved value has what the newest has and the older has not.
    """
    before = [each for each in held if not _is_earlier(saved.at, each.at)]
    if not before:
        return None
    newest = before[-1]
    if not newest.unread or newest.value == saved.value:
        return newest.value
    by_hand = [each.value for each in before if each.by_hand]
    if by_hand and by_hand[-1] == saved.value:
        return saved.value  # the same text was saved again
    older = [each.value for each in before[:-1] if each.value != saved.value]
    found = nearest(older, saved.value) if older else newest.value
    return newest.value if shares(newest.value, found, saved.value) else found


def _is_earlier(saved_at: int, at: int) -> bool:
    """Whether a file was saved before another; file systems may know seconds only, or every second one."""
    return saved_at < (at - at % (2 * SECOND) if saved_at % SECOND == 0 else at)
