"""Events of the stream `push`: the browsers that are notified."""

from __future__ import annotations

from typing import Annotated

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import NAME

STREAM = "push"


class BrowserSubscribed(Event, frozen=True, kw_only=True):
    """A browser is notified from now on. `browser`: its id, from a hash of its address at the push service.

    `by`: who asked for it there. `service`: the host of the push service. `at`: seconds since the epoch. The
    address and its keys are in a file of the home: who has them can send to that browser.
    """

    browser: str
    by: str
    service: Annotated[str, NAME]
    at: float


class BrowserUnsubscribed(Event, frozen=True, kw_only=True):
    """The browser is not notified any more. `by`: who said so; `service` where its push service did."""

    browser: str
    by: str


PushEvent = BrowserSubscribed | BrowserUnsubscribed
