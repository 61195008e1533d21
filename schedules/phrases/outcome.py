"""What reading a sentence gives: a timing with its zone and task, or a refusal that helps."""

from __future__ import annotations

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

`absent`: it names no time. `incomplete`: it leaves open at what time, or on which day. `ambiguous`: people
mean several things by it. `impossible`: no clock or calendar shows that. `contradictory`: its parts exclude
each other. `not_a_schedule`: it speaks of a schedule without asking for one. `unknown`: it says something
about when that the rules do not know.
"""


class Understood(msgspec.Struct, frozen=True):
    """When (`timing`, read in `zone`, an IANA name) and what; `task` is null where there is only a timing."""

    timing: Timing
    zone: str
    task: str | None = None


class Refused(msgspec.Struct, frozen=True):
    """Why not, in a sentence, and what would be understood instead."""

    kind: Reason
    reason: str
    proposal: str = ""


class Refusal(Exception):
    """Carries a refusal out of whatever rule found it."""

    def __init__(self, kind: Reason, reason: str, proposal: str = "") -> None:
        super().__init__(reason)
        self.refused = Refused(kind, reason, proposal)
