"""Finds the base of a hand edit: the content from which a user edited a file that this program writes too.

| the file                                            | base                                                |
|-----------------------------------------------------|-----------------------------------------------------|
| was saved before its newest content was written     | the content at the time of the save                 |
| has a newest content that no one can have read       | the most similar of the earlier contents            |
| else                                                | the newest content                                  |

A save is an edit, also when it equals an older content: an entry that was removed stays removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

SECOND = 1_000_000_000


class Content(msgspec.Struct, Generic[T], frozen=True):
    """A file's content since the modification time `at` (ns). `unread`: no one can have read it since.

    `by_hand`: a user saved it, and this program has written another content since.
    """

    value: T
    at: int
    unread: bool = False
    by_hand: bool = False


def base_of(
    contents: Sequence[Content[T]],
    saved: Content[T],
    *,
    nearest: Callable[[Sequence[T], T], T],
    shares: Callable[[T, T, T], bool],
) -> T | None:
    """The base of a save; the saved content itself if nothing was edited; None: the save predates all
    contents.

    `held` is in order, newest last. `nearest` returns the content most similar to the saved one;
    `shares(newest, older, saved)`: whether the saved content has what the newest has and the older one lacks.
    """
    before = [content for content in contents if not _is_earlier(saved.at, content.at)]
    if not before:
        return None
    newest = before[-1]
    if not newest.unread or newest.value == saved.value:
        return newest.value
    by_hand = [content.value for content in before if content.by_hand]
    if by_hand and by_hand[-1] == saved.value:
        return saved.value  # the same text was saved again
    older = [content.value for content in before[:-1] if content.value != saved.value]
    base = nearest(older, saved.value) if older else newest.value
    return newest.value if shares(newest.value, base, saved.value) else base


def _is_earlier(saved_at: int, at: int) -> bool:
    """Whether a file was saved before another; file systems may store seconds only, or every second one."""
    return saved_at < (at - at % (2 * SECOND) if saved_at % SECOND == 0 else at)
