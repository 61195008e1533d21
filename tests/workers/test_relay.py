"""What nobody has claimed is sent: at once where nobody else could, else at growing intervals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite, WorkerRow
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.runtime.relay import (
    FEW,
    IDLE_SECONDS,
    LONGEST,
    MOST_DUE,
    MOST_OUT,
    POLL_SECONDS,
    REMEMBERED_SECONDS,
    Relay,
    is_elected,
)
from hermes_jobs.text.moments import iso
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)


class Broker:
    """Keeps what was sent; refuses while it is away."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.again: list[str] = []
        self.away = False

    @property
    def problem(self) -> str:
        return "away" if self.away else ""

    def probe(self) -> None:
        """It says at any time whether it is away."""

    def send(self, steps: Sequence[Step]) -> bool:
        self.first += [] if self.away else [step.id for step in steps]
        return not self.away

    def send_again(self, steps: Sequence[Step]) -> bool:
        self.again += [] if self.away else [step.id for step in steps]
        return not self.away


class Scene:
    """A session with one turn due, a relay, and a time that the test moves."""

    def __init__(self, log: EventLog) -> None:
        self.time = 1_000.0
        clock = ShiftedClock(lambda: self.time)
        gates = Gates()
        self.engine = simulated_engine(
            log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), []
        )
        self.engine.submit(TurnSubmitted(turn="t1", session="s1", text="hello", source="cli"))
        self.broker = Broker()
        self.relay = Relay(log, clock, self.broker)


@pytest.fixture
def scene(log: EventLog) -> Scene:
    return Scene(log)


def finish_the_first_turn(scene: Scene) -> None:
    for step in ("t1-prefetch", "t1-1", "t1-record"):
        scene.engine.run("session-s1", step)


def test_steps_of_a_process_without_a_broker_are_sent_at_once(scene: Scene) -> None:
    assert scene.relay.send_now({"session-s1"}) == 1
    assert (scene.broker.first, scene.broker.again) == (["t1-prefetch"], [])


def test_a_sent_step_is_sent_again_only_if_it_is_not_claimed(scene: Scene) -> None:
    scene.relay.send_now({"session-s1"})
    scene.relay.send_now({"session-s1"})
    scene.time += 0.9
    scene.relay.poll()
    assert (scene.broker.first, scene.broker.again) == (["t1-prefetch"], [])
    scene.time += 0.2
    scene.relay.poll()
    assert scene.broker.again == ["t1-prefetch"]


def test_a_step_the_broker_did_not_accept_waits_for_the_next_poll(scene: Scene) -> None:
    scene.broker.away = True
    assert scene.relay.send_now({"session-s1"}) == 0
    scene.broker.away = False
    scene.relay.poll()
    scene.time += 1
    scene.relay.poll()
    assert scene.broker.again == ["t1-prefetch"]


@pytest.mark.parametrize("streams", [1, FEW, FEW + 1])
def test_however_many_streams_were_written_to_theirs_alone_is_sent_at_once(
    scene: Scene, streams: int
) -> None:
    for number in range(2, streams + 2):
        submit(scene, number)
    scene.relay.send_now({f"session-s{number}" for number in range(2, streams + 2)})
    assert sorted(scene.broker.first) == sorted(f"t{number}-prefetch" for number in range(2, streams + 2))


def test_a_new_leader_sends_noted_steps_unless_they_are_claimed(scene: Scene) -> None:
    submit(scene, 2)
    scene.relay.remember({"session-s1"})
    scene.relay.remember({"session-s2"})
    scene.engine.run("session-s2", "t2-prefetch")
    scene.engine.run("session-s2", "t2-1")
    scene.engine.run("session-s2", "t2-record")
    assert scene.relay.send_now(()) == 1
    assert scene.broker.first == ["t1-prefetch"]


def test_steps_noted_long_ago_wait_for_the_next_poll(scene: Scene) -> None:
    scene.relay.remember({"session-s1"})
    scene.time += REMEMBERED_SECONDS
    scene.relay.remember(())
    assert scene.relay.send_now(()) == 0


def test_a_look_that_sees_a_step_before_its_news_come_does_not_keep_it_from_being_sent(scene: Scene) -> None:
    scene.relay.poll()
    assert scene.relay.send_now({"session-s1"}) == 1
    assert scene.broker.first == ["t1-prefetch"]


def test_a_new_step_is_sent_at_once_behind_a_long_backlog(scene: Scene) -> None:
    for number in range(2, MOST_DUE + FEW + 3):
        submit(scene, number)
    last = {f"s{number}" for number in range(MOST_DUE + 2, MOST_DUE + FEW + 3)}
    scene.relay.send_now({f"session-{session}" for session in last})
    assert sorted(scene.broker.first) == sorted(f"t{session[1:]}-prefetch" for session in last)


def test_a_message_gets_a_second_to_be_claimed_then_is_sent_again_at_growing_intervals(scene: Scene) -> None:
    sent_at = []
    for second in range(140):
        scene.time = 1_000.0 + second
        if scene.relay.poll():
            sent_at.append(second)
    assert sent_at == [1, 2, 4, 8, 16, 32, 62, 92, 122]
    assert sent_at[-1] - sent_at[-2] == LONGEST


def submit(scene: Scene, number: int) -> None:
    turn, session = f"t{number}", f"s{number}"
    scene.engine.submit(TurnSubmitted(turn=turn, session=session, text="hello", source="cli"))


def test_while_a_lane_is_busy_its_backlog_is_not_sent_again(scene: Scene) -> None:
    for number in (2, 3, 4):
        submit(scene, number)
    scene.relay.poll()
    for number in (1, 2, 3):
        scene.time += 0.9
        scene.engine.run(f"session-s{number}", f"t{number}-prefetch")
        scene.relay.poll()
    assert "t4-prefetch" not in scene.broker.again
    scene.time += 1
    scene.relay.poll()
    assert "t4-prefetch" in scene.broker.again


def test_a_backlog_without_messages_is_sent_as_fast_as_it_is_claimed(scene: Scene) -> None:
    for number in range(2, 2 * MOST_OUT + 2):
        submit(scene, number)
    scene.relay.poll()
    scene.time += 1
    assert scene.relay.poll() == MOST_OUT
    scene.time += 0.25
    assert scene.relay.poll() == 0, "as many as that are out"
    for number in range(1, MOST_OUT - 1):
        scene.engine.run(f"session-s{number}", f"t{number}-prefetch")
        scene.engine.run(f"session-s{number}", f"t{number}-1")
        scene.engine.run(f"session-s{number}", f"t{number}-record")
    scene.time += 0.25
    assert scene.relay.poll() == MOST_OUT - 2
    assert len(set(scene.broker.again)) == len(scene.broker.again) == 2 * MOST_OUT - 2


def test_a_step_that_a_later_one_has_overtaken_is_sent_again_however_busy_the_lane(scene: Scene) -> None:
    scene.relay.poll()
    scene.time += 0.5
    submit(scene, 2)
    scene.relay.poll()
    scene.time += 0.6
    scene.engine.run("session-s2", "t2-prefetch")
    scene.relay.poll()
    assert scene.broker.again == ["t1-prefetch"]


def test_a_claimed_step_is_not_sent(scene: Scene) -> None:
    finish_the_first_turn(scene)
    scene.time += 100
    assert scene.relay.poll() == 0


def test_a_step_the_broker_did_not_accept_is_sent_at_the_next_poll(scene: Scene) -> None:
    scene.broker.away = True
    scene.relay.poll()
    scene.time += 2
    assert scene.relay.poll() == 0
    scene.broker.away = False
    assert scene.relay.poll() == 1
    assert scene.broker.again == ["t1-prefetch"]


def test_a_timer_is_sent_as_soon_as_its_time_has_come(log: EventLog, scene: Scene) -> None:
    timer = Step(id="t9-1", stream="session-s9", kind="turn.call_model", attempt=2, not_before=1_005.0)
    said = TurnSubmitted(turn="t9", text="", source="cli", session="s9")
    write = StreamWrite(stream="session-s9", events=(said,), expected=0, due=(timer,))
    log.append(Append(meta=EventMeta(worker="w"), recorded_at=iso(1_000.0), writes=(write,)))
    assert scene.relay.poll() == 0
    finish_the_first_turn(scene)
    scene.relay.poll()
    scene.time = 1_004.5
    assert scene.relay.rest(0.0) == pytest.approx(0.5)
    scene.time = 1_005.0
    scene.relay.poll()
    assert "t9-1" in scene.broker.again


def worker(name: str, *queues: str) -> WorkerRow:
    return WorkerRow(id=name, name=name, locks="l", queues=queues, beats=0, build_level=1)


def test_while_nothing_is_due_it_polls_rarely(scene: Scene) -> None:
    scene.relay.poll()
    assert scene.relay.rest(0.0) == POLL_SECONDS
    finish_the_first_turn(scene)
    scene.relay.poll()
    assert scene.relay.rest(0.0) == IDLE_SECONDS


def test_one_of_the_workers_that_consume_queues_is_elected() -> None:
    alive = [worker("a"), worker("b", "turns"), worker("c", "tools")]
    assert [is_elected(each.id, alive) for each in alive] == [False, True, False]


def test_a_worker_without_broker_is_elected_only_where_no_other_one_has_a_broker() -> None:
    alive = [worker("a", "turns"), worker("b", "turns"), worker("c", "turns")]
    assert [is_elected(each.id, alive, {"a"}) for each in alive] == [False, True, False]
    assert [is_elected(each.id, alive, {"a", "b"}) for each in alive] == [False, False, True]
    assert [is_elected(each.id, alive, {"a", "b", "c"}) for each in alive] == [True, False, False]
