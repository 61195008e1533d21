"""The subscribed browsers, folded from the stream `push`, and the commands on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.push import events as e
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader
from hermes_jobs.kernel.streams.stream_kind import StreamKind


class Browsers(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of the stream: the subscribed browsers by id, in the order in which they subscribed."""

    stream: str = e.STREAM
    version: int = 0
    browsers: Mapping[str, e.BrowserSubscribed] = {}


def evolve(state: Browsers, event: e.PushEvent) -> Browsers:
    """The state after one more event."""
    others = {name: each for name, each in state.browsers.items() if name != event.browser}
    match event:
        case e.BrowserSubscribed():
            return replace(state, version=state.version + 1, browsers={**others, event.browser: event})
        case e.BrowserUnsubscribed():
            return replace(state, version=state.version + 1, browsers=others)
        case _:
            assert_never(event)


class Subscribe(msgspec.Struct, frozen=True, kw_only=True):
    """Notify a browser."""

    subscribed: e.BrowserSubscribed

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event; none where it is subscribed already."""
        state: Browsers = load(e.STREAM)
        if self.subscribed.browser in state.browsers:
            return DecisionResult()
        return DecisionResult.of(e.STREAM, self.subscribed)


class Unsubscribe(msgspec.Struct, frozen=True, kw_only=True):
    """Notify the browser no more."""

    browser: str
    by: str

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The event. Raises `Rejected`, kind `unknown_browser`."""
        state: Browsers = load(e.STREAM)
        if self.browser not in state.browsers:
            hint = "See `hermes-jobs push list`."
            raise Rejected(f"No browser {self.browser!r} is notified.", kind="unknown_browser", hint=hint)
        return DecisionResult.of(e.STREAM, e.BrowserUnsubscribed(browser=self.browser, by=self.by))


def remove_all(state: Browsers, by: str) -> tuple[e.BrowserUnsubscribed, ...]:
    """What removes all browsers: those of an imported log have no file here."""
    return tuple(e.BrowserUnsubscribed(browser=name, by=by) for name in state.browsers)


STREAMS = (StreamKind(e.STREAM, Browsers, evolve, withheld=remove_all),)
