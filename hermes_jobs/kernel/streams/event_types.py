"""All event types of this installation: the kernel's, and those of the features."""

from __future__ import annotations

from typing import get_args

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.feature import parts

_UNIONS = (
    *(e.SessionEvent, e.WindowEvent, e.PauseEvent, e.ListenerEvent),
    *(e.ApprovalRuleEvent, e.ForgettingEvent, e.ChildSlotEvent),
    *parts("events"),
)
EVENT_TYPES: dict[str, type[e.Event]] = {
    kind.__name__: kind for union in _UNIONS for kind in get_args(union) or (union,)
}

# The lowest build level that can read each type; 1 where a type is not listed.
# A stream's head records the highest level in it, so that older workers do not touch the stream.
SINCE: dict[str, int] = {}
READS_UP_TO = max(SINCE.values(), default=1)
