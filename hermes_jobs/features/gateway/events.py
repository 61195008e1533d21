"""Events of chat gateways: streams `person-NAME`, one per allowed user, and `gateway-ID`."""

from __future__ import annotations

from hermes_jobs.kernel.events.event import Event


class ConversationOpened(Event, frozen=True, kw_only=True):
    """The user's messages, through any gateway, go to that session from now on."""

    person: str
    session: str
    source: str


class GatewayTaken(Event, frozen=True, kw_only=True):
    """That process is the leader from now on: it alone polls the account's messages."""

    gateway: str
    worker: str


GatewayEvent = ConversationOpened | GatewayTaken
