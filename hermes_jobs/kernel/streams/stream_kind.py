"""What the log has to know of a kind of stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.streams.accounts import Charge
from hermes_jobs.kernel.turns.steps import Step


class StreamState(Protocol):
    """The attributes that the states of all streams have in common."""

    @property
    def stream(self) -> str:
        """The stream's name."""

    @property
    def version(self) -> int:
        """The number of folded events."""


def _no_steps(_state: Any) -> tuple[Step, ...]:
    return ()


def _free(_state: Any, _events: Iterable[Event], _today: Callable[[], str]) -> tuple[Charge, ...]:
    return ()


def _no_secret(_state: Any) -> str | None:
    return None


def _no_purpose(_stream: str) -> str:
    return ""


def _no_rest(_state: Any, _by: str) -> tuple[Event, ...]:
    return ()


def _no_labels(_state: Any) -> Mapping[str, str]:
    return {}


class About(NamedTuple):
    """Which sessions a stream is about: their ids, from its name and an event of that type in it.

    `nouns`, the singular and the plural, name those that are deleted with a session; empty for none.
    """

    event: type[Event]
    sessions: Callable[[str, Any], Iterable[str]]
    nouns: tuple[str, str] = ("", "")


class StreamKind(msgspec.Struct, frozen=True):
    """One kind of stream. `prefix` begins its streams' names; `state(stream=…)`
    is the state without events. `charges` are the account changes of events, as `budgets.charges` says.
    `fold` does what `evolve` does event by event, where one pass over many is cheaper.

    `secret` is the one that a process must have for the due steps; None: any process can run them. `labels`
    are what Flower shows of them: ids and names, never texts. `purpose` is what `usage` calls the helper
    calls of a stream with that name. `rest` are the events after which nothing of it is due, by that author;
    `rests_as` is the plural under which those that were put to rest are reported, empty for none;
    `withheld` are the events that take back what it allows, after it was imported. A stream that is `about`
    sessions is deleted with the first of them.
    """

    prefix: str
    state: Callable[..., StreamState]
    evolve: Callable[[Any, Any], StreamState]
    next_steps: Callable[[Any], tuple[Step, ...]] = _no_steps
    charges: Callable[[Any, Iterable[Event], Callable[[], str]], tuple[Charge, ...]] = _free
    fold: Callable[[Any, Iterable[Any]], StreamState] | None = None
    secret: Callable[[Any], str | None] = _no_secret
    labels: Callable[[Any], Mapping[str, str]] = _no_labels
    purpose: Callable[[str], str] = _no_purpose
    rest: Callable[[Any, str], tuple[Event, ...]] = _no_rest
    rests_as: str = ""
    withheld: Callable[[Any, str], tuple[Event, ...]] | None = None
    about: About | None = None
