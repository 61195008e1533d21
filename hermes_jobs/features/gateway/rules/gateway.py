"""State of chat gateways: each person's session, and the leader of each account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.gateway import events as e

PERSON_PREFIX = "person-"
PREFIX = "gateway-"


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of a stream `person-NAME` at `version`. `session` is None before the first message."""

    stream: str
    version: int = 0
    session: str | None = None

    @property
    def name(self) -> str:
        """The person's name: a name of `gateway.users`, or the only platform id, such as `telegram:12`."""
        return self.stream.removeprefix(PERSON_PREFIX)


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of a stream `gateway-ID` at `version`. `worker` is the newest leader."""

    stream: str
    version: int = 0
    worker: str | None = None


def stream_of_person(name: str) -> str:
    """The stream of the person of that name."""
    return f"{PERSON_PREFIX}{name}"


def stream_of(gateway: str) -> str:
    """The stream of the gateway with that name: a platform and an account, such as `telegram:123456`."""
    return f"{PREFIX}{gateway}"


def person_named(user: str, users: Mapping[str, Sequence[str]]) -> str:
    """The person of a platform's user: the one that `users` gives this id to, else the id itself."""
    return next((name for name, ids in users.items() if user in ids), user)


def evolve_person(person: Person, event: e.ConversationOpened) -> Person:
    """The person after one more event."""
    return replace(person, session=event.session, version=person.version + 1)


def evolve(gateway: Gateway, event: e.GatewayTaken) -> Gateway:
    """The gateway after one more event."""
    return replace(gateway, worker=event.worker, version=gateway.version + 1)
