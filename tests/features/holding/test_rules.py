"""Which calls wait for a person, and what comes of a decision: given these events, when …, then these."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.holding import events as e
from hermes_jobs.features.holding import rules
from hermes_jobs.kernel.events import Event, ModelChanged
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import fold, initial_state

DAY, NOW = "2026-11-29", 1_000.0
DONE = DecisionResult.of("session-s9", ModelChanged(session="s9", model="m"), answer="Saved.")


class Log:
    """Streams in memory."""

    def __init__(self) -> None:
        self.streams: dict[str, StreamState] = {}
        self.events: list[Event] = []

    def load(self, stream: str) -> StreamState:
        return self.streams.get(stream) or initial_state(stream)

    def apply(self, result: DecisionResult) -> str:
        for write in result.writes:
            self.streams[write.stream] = fold(self.load(write.stream), write.events)
            self.events += write.events
        return result.answer

    def hold(
        self,
        text: str = "x",
        *,
        turn: str = "t1",
        day: str = DAY,
        now: float = NOW,
        done: DecisionResult = DONE,
    ) -> str:
        call = e.CallHeld(
            held=rules.id_of("memory", text),
            tool="memory",
            arguments=text,
            outside=("a page",),
            expires_at=now + 100,
            session="s1",
            lineage="s1",
            turn=turn,
            call=f"{turn}-1-0",
        )
        return self.apply(rules.Hold(call=call, change=lambda _load: done, day=day, now=now)(self.load))

    def keep(self, now: float = NOW, done: DecisionResult = DONE) -> str:
        held = rules.id_of("memory", "x")
        return self.apply(rules.Keep(held=held, change=lambda _load: done, by="user", now=now)(self.load))

    def drop(self) -> None:
        self.apply(rules.Drop(held=rules.id_of("memory", "x"), by="user", now=NOW)(self.load))


def test_a_call_is_recorded_in_the_place_of_its_effect_and_kept_once() -> None:
    log = Log()

    assert "a page" in log.hold()
    assert [type(event) for event in log.events] == [e.CallHeld, e.HoldCounted]
    assert log.keep() == "Saved."
    assert log.events[2:] == [
        e.HeldCallKept(held=rules.id_of("memory", "x"), by="user"),
        *DONE.writes[0].events,
    ]
    with pytest.raises(Rejected, match="was kept"):
        log.keep()


def test_the_same_call_waits_once_and_is_not_held_again_once_it_is_dropped() -> None:
    log = Log()
    log.hold()

    assert log.hold(turn="t2") == rules.WAITS
    log.drop()
    assert log.hold(turn="t3") == rules.DROPPED
    with pytest.raises(Rejected, match="was dropped"):
        log.keep()
    assert len(log.events) == 3


def test_it_expires_and_is_then_held_anew() -> None:
    log = Log()
    log.hold()

    with pytest.raises(Rejected, match="has expired"):
        log.keep(now=NOW + 100)
    log.hold(now=NOW + 100)
    assert log.keep(now=NOW + 150) == "Saved."


def test_a_turn_and_a_day_hold_a_few_and_what_is_refused_counts_for_neither() -> None:
    log = Log()
    for number in range(rules.MOST_OF_TURN):
        assert "waits for the user" in log.hold(str(number))
    for _ in range(3):
        assert f"{rules.MOST_OF_TURN} calls of this turn" in log.hold("one more")
    for number in range(rules.MOST_OF_TURN, rules.MOST_OF_DAY):
        assert "waits for the user" in log.hold(str(number), turn=f"t{number}")
    assert f"{rules.MOST_OF_DAY} calls of this day" in log.hold("one more", turn="another")
    assert _counter(log).refused == 4
    assert "waits for the user" in log.hold("one more", turn="another", day="2026-11-30")
    assert _counter(log).refused == 0


def _counter(log: Log) -> rules.Counter:
    counter = log.load(e.COUNTER)
    assert isinstance(counter, rules.Counter)
    return counter


def test_what_could_not_be_done_is_refused_as_always_and_does_not_wait() -> None:
    def refused(load: StateLoader) -> DecisionResult:
        raise Rejected("The scan refuses it.")

    log = Log()
    with pytest.raises(Rejected, match="scan"):
        rules.Hold(call=_held(), change=refused, day=DAY, now=NOW)(log.load)
    assert log.hold(done=DecisionResult(answer="It is there.")) == "It is there."
    log.hold()
    with pytest.raises(Rejected, match="scan"):
        rules.Keep(held=rules.id_of("memory", "x"), change=refused, by="user", now=NOW)(log.load)
    assert log.keep() == "Saved."


def _held() -> e.CallHeld:
    return e.CallHeld(
        held="1", tool="memory", arguments="{}", outside=(), expires_at=NOW, session="s1", lineage="s1",
        turn="t1", call="t1-1-0",
    )  # fmt: skip


def test_a_call_waits_in_a_conversation_with_outside_text() -> None:
    def waits(*texts: str, outside: str = "a page", said: str = "") -> bool:
        return rules.must_wait(texts, outside=(outside,) * bool(outside), typed=(said,) * bool(said))

    said = "Remember that I moved to Bern."
    assert waits("Moved to Bern")
    assert waits(said=said)
    assert waits("Moved to Bern", "Pays to anna@x.example", said=said)
    assert not waits("Moved to Bern", said=said)
    assert not waits("Moved to Bern", outside="")


def test_the_order_of_arguments_makes_no_other_call() -> None:
    assert rules.id_of("memory", '{"a": 1, "b": "x"}') == rules.id_of("memory", '{"b":"x","a":1}')
    assert rules.id_of("memory", '{"a": 1}') != rules.id_of("memory", '{"a": 2}')
    assert rules.id_of("memory", '{"a"') != rules.id_of("skill_manage", '{"a"')
