"""Live deltas over the broker: Redis pub/sub, one channel per turn.

Two threads per process, started on first use: a publisher and a subscriber. Other threads only queue work for
them. If the broker is unreachable, or has no pub/sub, only live deltas are missing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.live import LocalChannel, OnDelta, TextDelta
from hermes_jobs.runtime.broker_address import LIVE_SCHEMES, broker_url
from hermes_jobs.system.struct_types import described

if TYPE_CHECKING:
    from redis import Redis

logger = logging.getLogger(__name__)

PACE = 0.05  # shortest interval in seconds between two messages of a turn
PROBE_EVERY = 0.25  # seconds between checks for subscribers
ANSWER_SECONDS = 2.0  # seconds until a broker without an answer counts as unreachable
AWAY = 2.0  # seconds before an unreachable broker is tried again
GLANCE = 0.1  # seconds that the subscriber waits for messages before it checks its list of turns
LINGER = 2.0  # seconds that a turn stays subscribed after its last listener: one may come back at once


def channel_of(application: Application) -> RedisLiveChannel:
    """The channel of this home's broker, which is looked up on first use, and
    again after a lost connection.
    """
    return RedisLiveChannel(lambda: broker_url(application.settings), prefix=f"{application.log.log_id}.")


class RedisLiveChannel:
    """The `LiveChannel` between processes. `url` returns the broker's URL, None if there is none; `prefix`
    separates applications that share a broker.
    """

    def __init__(self, url: Callable[[], str | None], *, prefix: str) -> None:
        self._publisher = _Publisher(url, prefix)
        self._subscriber = _Subscriber(url, prefix)

    def publish(self, delta: TextDelta) -> None:
        """See `LiveChannel.publish`."""
        self._publisher.publish_delta(delta)

    def subscribe(self, turn: str, on_delta: OnDelta) -> Callable[[], None]:
        """See `LiveChannel.subscribe`."""
        return self._subscriber.subscribe(turn, on_delta)

    def close(self) -> None:
        """See `LiveChannel.close`."""
        self._publisher.close()
        self._subscriber.close()


class _PendingText(msgspec.Struct):
    """A running attempt: its text, the length already sent, and the number of subscribers."""

    delta: TextDelta
    text: list[str] = []
    length: int = 0
    sent: int = 0
    subscribers: int = -1  # not checked yet
    over: bool = False

    def take(self, delta: TextDelta) -> None:
        self.text.append(delta.text)
        self.length += len(delta.text)
        self.over = self.over or delta.over

    def unsent(self) -> TextDelta:
        """The unsent text, as one delta."""
        text = "".join(self.text)
        self.text[:] = [text]
        at, self.sent = self.sent, len(text)
        return msgspec.structs.replace(self.delta, at=at, text=text[at:], over=self.over)


class _Loop:
    """A thread that starts on first use, with a connection to the broker where there is one."""

    def __init__(self, url: Callable[[], str | None], prefix: str, name: str) -> None:
        self._url = url
        self._prefix = prefix
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._client: Redis | None = None

    def close(self) -> None:
        """End the thread, which sends its remaining text."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(ANSWER_SECONDS)

    def _want(self) -> None:
        """Start or wake the thread; the caller holds the lock."""
        if not self._thread.is_alive() and not self._stopping.is_set():
            self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except Exception as error:  # noqa: BLE001 - no exception here may affect a turn
                logger.info("the live channel is interrupted: %s", type(error).__name__)
                self._disconnect()
                self._stopping.wait(AWAY)
        self._disconnect()

    def _round(self) -> None:
        raise NotImplementedError

    def _connected(self) -> Redis | None:
        """The broker's client; None where there is no broker, or one without pub/sub."""
        if self._client is None:
            url = _redis_url(self._url() or "")
            if url is None:
                return None
            from redis import Redis

            over_tcp = {} if url.startswith("unix:") else {"socket_keepalive": True}
            self._client = Redis.from_url(
                url, socket_connect_timeout=ANSWER_SECONDS, socket_timeout=ANSWER_SECONDS, **over_tcp
            )
        return self._client

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _channel(self, turn: str) -> str:
        return f"{self._prefix}live.{turn}"


def _redis_url(url: str) -> str | None:
    """A Celery broker's URL in redis-py's form; None for another kind of broker."""
    scheme, _, rest = url.partition("://")
    if scheme not in LIVE_SCHEMES:
        return None
    address, mark, options = rest.partition("?")
    named = options.replace("virtual_host=", "db=") if LIVE_SCHEMES[scheme] == "unix" else options
    return f"{LIVE_SCHEMES[scheme]}://{address}{mark}{named}"


class _Publisher(_Loop):
    """Sends new text to channels with subscribers; a new subscriber gets the whole text."""

    def __init__(self, url: Callable[[], str | None], prefix: str) -> None:
        super().__init__(url, prefix, "live-publisher")
        self._running: dict[str, _PendingText] = {}
        self._probed_at = float("-inf")

    def publish_delta(self, delta: TextDelta) -> None:
        with self._lock:
            running = self._running.get(delta.call)
            if running is None:
                if delta.over:
                    return
                running = self._running[delta.call] = _PendingText(delta)
            running.take(delta)
            if not self._wake.is_set():
                self._want()

    def _round(self) -> None:
        self._wake.wait(PROBE_EVERY if self._running else None)
        self._wake.clear()
        with self._lock:
            under_way = list(self._running.values())
            self._running = {
                call: transcript for call, transcript in self._running.items() if not transcript.over
            }
        client = self._connected()
        if client is None:
            self._stopping.wait(AWAY)
            return
        self._probe(client, under_way)
        with client.pipeline(transaction=False) as pipeline:
            for transcript in under_way:
                if transcript.subscribers > 0 and (transcript.sent < transcript.length or transcript.over):
                    with self._lock:
                        delta = transcript.unsent()
                    pipeline.publish(self._channel(delta.turn), msgspec.json.encode(delta))
            pipeline.execute()
        self._stopping.wait(PACE)

    def _probe(self, client: Redis, under_way: list[_PendingText]) -> None:
        """Count the subscribers: periodically, and at once for a new attempt."""
        now = time.monotonic()
        if now - self._probed_at < PROBE_EVERY and all(
            transcript.subscribers >= 0 for transcript in under_way
        ):
            return
        self._probed_at = now
        channels = {transcript.delta.turn: self._channel(transcript.delta.turn) for transcript in under_way}
        counted: Any = client.pubsub_numsub(*channels.values()) if channels else []
        subscribers = {name.decode(): count for name, count in counted}
        for transcript in under_way:
            count = subscribers.get(channels[transcript.delta.turn], 0)
            if count > transcript.subscribers:
                transcript.sent = 0
            transcript.subscribers = count

    def _disconnect(self) -> None:
        super()._disconnect()
        with self._lock:
            for transcript in self._running.values():
                transcript.subscribers = -1


class _Subscriber(_Loop):
    """Subscribes to the channels of the requested turns, once for all their listeners in this process.

    Redis counts processes, so a publisher does not see a further listener: that one gets what has come so far
    from here.
    """

    def __init__(self, url: Callable[[], str | None], prefix: str) -> None:
        super().__init__(url, prefix, "live-subscriber")
        self._local = LocalChannel()
        self._listeners: Counter[str] = Counter()
        self._left_at: dict[str, float] = {}  # when the last listener of a turn went
        self._subscribed: set[str] = set()
        self._subscription: Any = None

    def subscribe(self, turn: str, on_delta: OnDelta) -> Callable[[], None]:
        with self._lock:
            leave = self._local.subscribe(turn, on_delta)
            self._listeners[turn] += 1
            self._left_at.pop(turn, None)
            self._want()
        return lambda: self._leave(turn, leave)

    def _leave(self, turn: str, leave: Callable[[], None]) -> None:
        leave()
        with self._lock:
            self._listeners[turn] -= 1
            if not self._listeners[turn]:
                del self._listeners[turn]
                self._left_at[turn] = time.monotonic()

    def _turns(self) -> set[str]:
        """The turns with a listener, or that had one just now; the caller holds the lock."""
        since = time.monotonic() - LINGER
        for turn in [turn for turn, left_at in self._left_at.items() if left_at < since]:
            del self._left_at[turn]
            self._local.forget(turn)
        return {*self._listeners, *self._left_at}

    def _round(self) -> None:
        with self._lock:
            channels = {self._channel(turn) for turn in self._turns()}
            self._wake.clear()
        if not channels and not self._subscribed:
            self._wake.wait()
            return
        client = self._connected()
        if client is None:
            self._stopping.wait(AWAY)
            return
        if self._subscription is None:
            self._subscription = client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        if channels - self._subscribed:
            self._subscription.subscribe(*channels - self._subscribed)
        if self._subscribed - channels:
            self._subscription.unsubscribe(*self._subscribed - channels)
        self._subscribed = channels
        message = self._subscription.get_message(timeout=GLANCE) if channels else None
        if message is not None and message["type"] == "message":
            self._local.publish(msgspec.json.decode(message["data"], type=described(TextDelta)))

    def _disconnect(self) -> None:
        subscription, self._subscription = self._subscription, None
        self._subscribed = set()
        if subscription is not None:
            subscription.close()
        super()._disconnect()
