"""What every live channel does: pieces reach those who listen, whole and in order; nobody is troubled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from fakeredis import TcpFakeServer
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.live import DeltaStream, LiveChannel, LiveTranscript, LocalChannel, TextDelta
from hermes_jobs.runtime.broker_address import find_server
from hermes_jobs.runtime.redis_live import RedisLiveChannel
from tests.faults.redis_server import RedisServer
from tests.server_thread import ServerThread
from tests.tools.support import wait_until


class Pair:
    """The channel as the worker has it, and as somebody has it who watches."""

    def __init__(self, worker: LiveChannel, watcher: LiveChannel) -> None:
        self.worker = worker
        self.watcher = watcher

    def speech(self, turn: str = "t1", *, step: int = 1, attempt: int = 1, call: str = "m1") -> DeltaStream:
        return DeltaStream(self.worker.publish, turn=turn, step=f"{turn}-{step}", attempt=attempt, call=call)


class Watcher:
    """Hears one turn."""

    def __init__(self, channel: LiveChannel, turn: str = "t1") -> None:
        self._live = LiveTranscript()
        self.seen: list[str] = []
        self.leave = channel.subscribe(turn, self._hear)

    def _hear(self, piece: TextDelta) -> None:
        if self._live.add_delta(piece):
            self.seen.append(self._live.text)

    def sees(self, text: str) -> None:
        """Wait until that is the text."""
        wait_until(lambda: self.seen[-1:] == [text], f"{text!r} in {self.seen}")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(find_server(), tmp_path) as server:
        yield server


@pytest.fixture
def fake() -> Iterator[str]:
    """A Redis server of Python's, in a thread."""
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    with ServerThread(server):
        yield f"redis://127.0.0.1:{server.server_address[1]}/0"


@pytest.fixture(params=["within a process", "over a fake broker", "over a broker"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    if request.param == "within a process":
        channel = LocalChannel()
        yield Pair(channel, channel)
        return
    fake = request.param == "over a fake broker"
    url: str = request.getfixturevalue("fake") if fake else request.getfixturevalue("broker").url
    worker, watcher = (RedisLiveChannel(lambda: url, prefix="home.") for _ in range(2))
    yield Pair(worker, watcher)
    worker.close()
    watcher.close()


def test_a_subscriber_gets_all_messages_in_order(pair: Pair) -> None:
    watcher = Watcher(pair.watcher)
    speech = pair.speech()
    for word in ("One ", "two ", "thrée ", "四."):
        speech.say(word)
    watcher.sees("One two thrée 四.")
    assert all("One two thrée 四.".startswith(text) for text in watcher.seen)


def test_a_broker_behind_a_socket_carries_it_too(tmp_path: Path) -> None:
    with TemporaryDirectory() as short:  # a socket's path has at most 104 bytes
        url = f"redis+socket://{short}/broker?virtual_host=1"
        with RedisServer(find_server(), tmp_path, "--unixsocket", f"{short}/broker"):
            worker, listening = (RedisLiveChannel(lambda: url, prefix="home.") for _ in range(2))
            watcher = Watcher(listening)
            Pair(worker, listening).speech().say("Well, ")
            watcher.sees("Well, ")
            worker.close()
            listening.close()


def test_a_late_subscriber_gets_the_earlier_messages(pair: Pair) -> None:
    speech = pair.speech()
    speech.say("The beginning")
    watcher = Watcher(pair.watcher)
    watcher.sees("The beginning")
    speech.say(", the end.")
    watcher.sees("The beginning, the end.")


def test_a_further_listener_and_one_who_comes_back_at_once_get_the_earlier_messages(pair: Pair) -> None:
    speech, first = pair.speech(), Watcher(pair.watcher)
    speech.say("The beginning")
    first.sees("The beginning")
    second = Watcher(pair.watcher)
    second.sees("The beginning")
    for watcher in (first, second):
        watcher.leave()
    again = Watcher(pair.watcher)
    again.sees("The beginning")
    speech.say(", the end.")
    again.sees("The beginning, the end.")


def test_a_new_attempt_starts_again_and_replaces_the_first(pair: Pair) -> None:
    watcher = Watcher(pair.watcher)
    lost, fresh = pair.speech(call="m1"), pair.speech(call="m2")
    lost.say("Half an ans")
    watcher.sees("Half an ans")
    fresh.say("A whole ")
    watcher.sees("A whole ")
    lost.say("wer, too late")
    fresh.say("answer.")
    watcher.sees("A whole answer.")


def test_a_subscriber_gets_its_own_turn_only_and_nothing_after_leaving(pair: Pair) -> None:
    one, other = Watcher(pair.watcher, "t1"), Watcher(pair.watcher, "t2")
    pair.speech("t1", call="m1").say("for one")
    pair.speech("t2", call="m2").say("for the other")
    one.sees("for one")
    other.sees("for the other")
    one.leave()
    one.leave()
    pair.speech("t1", call="m3").say("for nobody")
    pair.speech("t2", call="m4").say("again")
    other.sees("again")
    assert one.seen == ["for one"]


def test_publishing_without_subscribers_is_harmless(pair: Pair) -> None:
    for number in range(100):
        speech = pair.speech(f"t{number}", call=f"m{number}")
        speech.say("words")
        speech.end()
    pair.worker.close()
    pair.speech().say("after the end")


def test_a_listener_that_stumbles_stops_neither_the_turn_nor_the_others(pair: Pair) -> None:
    def stumble(piece: TextDelta) -> None:
        raise ValueError(piece.text)

    pair.watcher.subscribe("t1", stumble)
    watcher = Watcher(pair.watcher)
    pair.speech().say("On we go.")
    watcher.sees("On we go.")


def test_the_channel_reconnects_to_a_restarted_broker(broker: RedisServer) -> None:
    worker, other = (RedisLiveChannel(lambda: broker.url, prefix="home.") for _ in range(2))
    watcher = Watcher(other)
    speech = DeltaStream(worker.publish, turn="t1", step="t1-1", attempt=1, call="m1")
    speech.say("Before")
    watcher.sees("Before")
    broker.kill()
    speech.say(", without it")
    broker.start()
    speech.say(", after.")
    watcher.sees("Before, without it, after.")
    worker.close()
    other.close()


@pytest.mark.parametrize(
    "url", [None, "memory://", "amqp://127.0.0.1:1/", "redis://127.0.0.1:1/0", "redis://["]
)
def test_without_a_capable_broker_nothing_arrives_and_nothing_blocks(url: str | None) -> None:
    channel = RedisLiveChannel(lambda: url, prefix="home.")
    watcher = Watcher(channel)
    DeltaStream(channel.publish, turn="t1", step="t1-1", attempt=1, call="m1").say("to nobody")
    channel.close()
    assert watcher.seen == []


# --- what a watcher makes of them ----------------------------------------------------------------


def pieces(text: str, cuts: list[int], *, call: str = "m1", attempt: int = 1) -> list[TextDelta]:
    told: list[TextDelta] = []
    speech = DeltaStream(told.append, turn="t1", step="t1-1", attempt=attempt, call=call)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        speech.say(text[start:end])
    speech.end()
    return told


@given(st.text(), st.lists(st.integers(0, 1000)), st.randoms(use_true_random=False))
def test_doubled_and_lost_pieces_never_make_a_text_that_was_not_said(
    text: str, cuts: list[int], random: Random
) -> None:
    told = pieces(text, cuts)
    live = LiveTranscript()
    for piece in told:
        for _ in range(random.randrange(3)):
            live.add_delta(piece)
        assert text.startswith(live.text)
    for piece in told:
        live.add_delta(piece)
    assert live.text == text


def test_messages_after_the_logged_end_are_dropped() -> None:
    live = LiveTranscript()
    (first, *_), (second, *_) = pieces("one", []), pieces("two", [], call="m2", attempt=2)
    assert live.add_delta(first)
    live.end("t1-1", 1)
    assert (live.text, live.add_delta(first)) == ("", False)
    assert not live.add_delta(pieces("zombie", [], call="m9")[0])
    assert live.add_delta(second)
    assert live.text == "two"
