"""The result of reading a sentence: a timing with its zone and task, or a refusal with a suggestion."""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec

from schedules.timing import Timing

Reason = Literal[
    "absent",
    "incomplete",
    "ambiguous",
    "impossible",
    "too_frequent",
    "past",
    "contradictory",
    "not_a_schedule",
    "unknown",
]
"""Why a sentence is refused.

`absent`: it names no time. `incomplete`: the time of day or the day is missing. `ambiguous`: people mean
several things by it. `impossible`: no clock or calendar shows that. `contradictory`: its parts exclude
each other. `not_a_schedule`: it speaks of a schedule without asking for one. `unknown`: it says something
about when that the rules do not know.
"""


class Understood(msgspec.Struct, frozen=True):
    """When (`timing`, read in `zone`, an IANA name) and what; `task` is None where there is only a timing."""

    timing: Timing
    zone: str
    task: str | None = None


class Refused(msgspec.Struct, frozen=True):
    """The kind of the refusal, the reason in a sentence, and a sentence that would be understood."""

    kind: Reason
    reason: str
    proposal: str = ""


class Refusal(Exception):
    """Carries a refusal from the rule that found it to the parser."""

    def __init__(self, kind: Reason, reason: str, proposal: str = "") -> None:
        super().__init__(reason)
        self.refused = Refused(kind, reason, proposal)


absent = partial(Refusal, "absent")
ambiguous = partial(Refusal, "ambiguous")
contradictory = partial(Refusal, "contradictory")
impossible = partial(Refusal, "impossible")
incomplete = partial(Refusal, "incomplete")
not_a_schedule = partial(Refusal, "not_a_schedule")
past = partial(Refusal, "past")
unknown = partial(Refusal, "unknown")


def given_twice(what: str) -> Refusal:
    """The refusal of a sentence that gives two values for one thing, such as `how often`."""
    return contradictory(f"The sentence says twice {what}.", "Leave one of both out.")


def exclusive(one: str, other: str, proposal: str = "Leave one of both out.") -> Refusal:
    """The refusal of two parts of which a timing can have only one."""
    return contradictory(f"{one} and {other} exclude each other.", proposal)


def not_understood(words: str) -> Refusal:
    """The refusal of words about time that no rule recognises."""
    return unknown(
        f"{words!r} says something about when that is not understood.",
        "Say it as 'every weekday at 9', 'every 2 hours', 'tomorrow at 14:00' or '0 9 * * 1-5', "
        "and the task beside it.",
    )
