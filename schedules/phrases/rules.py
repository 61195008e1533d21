"""A rule of the grammar: a pattern, and what the words that match it say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from schedules.phrases.draft import Found
from schedules.phrases.tokens import Phrase


class Rule(NamedTuple):
    """`read` gives None where the words mean something else, and raises `Refusal` where they are no good.

    `after_timing`: the rule is only tried right after other timing.
    """

    pattern: str
    read: Callable[[Phrase], Found | None]
    after_timing: bool = False
