"""Events of chat gateways: streams `person-NAME`, one for each who may write, and `gateway-ID`."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event


class ConversationOpened(Event, frozen=True, kw_only=True):
    """From now on what the person writes goes to that session, through whichever gateway."""

    person: str
    session: str
    source: str


class GatewayTaken(Event, frozen=True, kw_only=True):
    """From now on that process alone asks for what was written to the account."""

    gateway: str
    worker: str


GatewayEvent = ConversationOpened | GatewayTaken
