"""Events of a stream `held-ID`: a call that waits for its person; and of `holding`: how many were held.

The id is a digest of the call: the same one waits once, whichever turn makes it.
"""

from __future__ import annotations

from typing import Annotated

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.origins import Author
from hermes_jobs.kernel.streams.field_kinds import JSON, NAME

PREFIX = "held-"
COUNTER = "holding"


class CallHeld(Event, frozen=True, kw_only=True):
    """A call of a tool was not done: it waits for a person until `expires_at`, in seconds since the epoch.

    `outside`: the origins of what others wrote in its conversation. The others are what the call is made with
    once it is kept: `session`, `lineage`, `turn` and `call` made it; `author`, `provisional`, `source`,
    `deliver` and `workdir`: see `ToolContext`.
    """

    held: str
    tool: Annotated[str, NAME]
    arguments: Annotated[str, JSON]
    outside: tuple[str, ...]
    expires_at: float
    session: str
    lineage: str
    turn: str
    call: str
    author: Author = "turn"
    provisional: bool = False
    source: str = ""
    deliver: tuple[str, ...] = ()
    workdir: str = ""


class HeldCallKept(Event, frozen=True, kw_only=True):
    """A person wanted it; what the call does is in the same append."""

    held: str
    by: str


class HeldCallDropped(Event, frozen=True, kw_only=True):
    """A person did not want it; the same call is not held again."""

    held: str
    by: str


class HoldCounted(Event, frozen=True, kw_only=True):
    """One more call was to be held in that turn, on that day (ISO 8601): those past a limit are refused."""

    day: str
    turn: str


HoldingEvent = CallHeld | HeldCallKept | HeldCallDropped | HoldCounted
