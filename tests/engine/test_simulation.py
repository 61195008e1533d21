"""Many workers, one log, everything that can go wrong between them; every text still ends exactly once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader
from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.steps import Step, next_steps
from hermes_jobs.runtime.recovery import LogFollower, reclaim_from_dead_workers
from tests.domain.world import complaints
from tests.engine.simulation import (
    AWAY,
    PANEL,
    CountedIds,
    GatedThread,
    Gates,
    KnownDead,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)
from tests.examples import examples

REFERENCES = (e.ReferenceReplied, e.ReferenceFailed)
BOOKED = (e.ModelReplied, e.ReferenceReplied, e.ResponseBooked, e.OutcomeDiscarded)
ENDS = (e.TurnCompleted, e.TurnFailed, e.TurnCancelled, e.TurnMerged)
TOOLS = st.lists(
    st.sampled_from(["read", "write", "idempotent", "write-after", "ask-write", "delegate", "delegate-on"]),
    min_size=1,
    max_size=3,
).map(tuple)
WORDS = st.one_of(TOOLS, st.sampled_from(["answer", "fail", "garbage"]))
POLICIES = st.sampled_from(["queue", "collect", "steer", "interrupt", "reject"])


class Worker:
    """A simulated process: an engine, its clock, and the threads in which it performs steps."""

    def __init__(self, engine: Engine, clock: ShiftedClock) -> None:
        self.engine = engine
        self.clock = clock
        self.watch = LogFollower(engine)
        self.threads: list[GatedThread] = []
        self.frozen = False

    def alive(self) -> list[GatedThread]:
        self.threads = [thread for thread in self.threads if thread.at is not None]
        return self.threads


def _is_final(fact: e.ReferenceReplied | e.ReferenceFailed) -> bool:
    return isinstance(fact, e.ReferenceReplied) or (fact.retry_at is None and fact.kind != "cancelled")


def _all_freed(load: StateLoader) -> DecisionResult:
    """The slots that a failed example left taken, freed for the next one."""
    slots: ChildSlots = load(child_slots.STREAM)
    left = (*slots.running, *slots.waiting)
    return DecisionResult.of(slots.stream, *(e.ChildSlotFreed(child=child.session) for child in left))


def state_machine(
    log: EventLog, numbers: count[int], ids: CountedIds, make: Callable[..., Engine] = simulated_engine
) -> type[RuleBasedStateMachine]:
    """The machine's class over this log; every example works in a session of its own.

    `make` makes its engines, as `simulated_engine` does.
    """

    class ManyWorkers(RuleBasedStateMachine):
        @initialize()
        def begin(self) -> None:
            self.session = f"x{next(numbers)}"
            self.stream = stream_of(self.session)
            self.time = 1_000_000.0
            self.gates, self.wakes, self.dead = Gates(), Wakes(), KnownDead()
            self.tools = SimulatedToolbox(self.gates)
            self.accepted: list[str] = []
            self.rejected: list[str] = []
            self.all_threads: list[GatedThread] = []
            self.requests: list[ModelRequest] = []
            self.client = self._worker("client").engine
            self.client.change(_all_freed, "begin")
            self.workers = [self._worker(f"w{at}") for at in range(3)]
            self.submit("queue", keyed=False)

        def _worker(self, name: str) -> Worker:
            clock = ShiftedClock(lambda: self.time)
            name = f"{name}-{next(numbers)}"
            engine = make(log, name, clock, ids, self.wakes, self.gates, self.tools, self.requests)
            return Worker(engine, clock)

        # --- people ---------------------------------------------------------------------------

        @rule(policy=POLICIES)
        def send(self, policy: e.BusyPolicy) -> None:
            self.submit(policy, keyed=False)

        @rule(policy=POLICIES, keyed=st.booleans(), panel=st.booleans())
        def submit(self, policy: e.BusyPolicy, keyed: bool, panel: bool = False) -> None:
            turn = ids.name("t")
            command = e.TurnSubmitted(
                turn=turn,
                session=self.session,
                text="do it",
                source="cli",
                if_busy=policy,
                model=PANEL.name if panel else None,
                key=turn if keyed else None,
            )
            try:
                self.accepted.append(self.client.submit(command).turn)
            except Rejected:
                self.rejected.append(turn)
                return
            if keyed:
                assert self.client.submit(command).turn == turn

        @rule(data=st.data())
        def cancel_or_resume_or_approve(self, data: st.DataObject) -> None:
            if not self.accepted:
                return
            turn = data.draw(st.sampled_from(self.accepted))
            commands: list[c.SessionCommand] = [
                c.CancelTurn(turn=turn, by="user"),
                c.ResumeTurn(e.TurnResumed(turn=turn)),
                c.ApproveCall(turn=turn, call=None, by="user"),
                c.DenyCall(turn=turn, call=None, by="user"),
            ]
            command = data.draw(st.sampled_from(commands))
            with suppress(Rejected):
                self.client.execute(self.stream, command)

        # --- the carrier and the relay --------------------------------------------------------

        @rule(
            at=st.integers(0, 30),
            worker=st.integers(0, 2),
            fate=st.sampled_from(["once", "twice", "drop", "keep"]),
        )
        def deliver(self, at: int, worker: int, fate: str) -> None:
            if not self.wakes.waiting:
                return
            step = self.wakes.waiting.pop(at % len(self.wakes.waiting))
            for _ in range({"once": 1, "twice": 2, "drop": 0, "keep": 1}[fate]):
                self._start(self.workers[worker], step)
            if fate == "keep":
                self.wakes.waiting.append(step)

        @rule(worker=st.integers(0, 2))
        def relay(self, worker: int) -> None:
            for stream in self.family():
                for row in log.due(self.workers[worker].clock.now(), stream=stream):
                    self._start(self.workers[worker], row.step)

        def family(self) -> dict[str, list[e.Event]]:
            """The streams of the session and of its children, with their events."""
            found: dict[str, list[e.Event]] = {}
            left = [self.stream]
            while left:
                stream = left.pop()
                found[stream] = [recorded.event for recorded in log.read(stream)]
                for fact in found[stream]:
                    if isinstance(fact, e.ChildrenStarted):
                        left.extend(stream_of(ref.session) for ref in fact.children)
            return found

        def _start(self, worker: Worker, step: Step) -> None:
            if len(worker.alive()) < 4 and not worker.frozen:
                thread = self.gates.start(lambda: self._run(worker.engine, step))
                worker.threads.append(thread)
                self.all_threads.append(thread)

        @staticmethod
        def _run(engine: Engine, step: Step) -> None:
            with suppress(LogUnavailable):
                engine.run(step.stream, step.id)

        # --- workers --------------------------------------------------------------------------

        @rule(worker=st.integers(0, 2), at=st.integers(0, 3), word=WORDS)
        def let_on(self, worker: int, at: int, word: object) -> None:
            threads = self.workers[worker].alive()
            if threads and not self.workers[worker].frozen:
                threads[at % len(threads)].go(word)

        @rule(worker=st.integers(0, 2), gates=st.integers(1, 6), again=st.booleans())
        def lose_the_log(self, worker: int, gates: int, again: bool) -> None:
            """An append of a worker fails after so many gates, with its events or without them."""
            for _ in range(gates):
                if not self.workers[worker].alive():
                    self.relay(worker)
                self.let_on(worker, 0, "answer")
            self.let_on(worker, 0, AWAY)
            if again:
                self.workers[worker].engine.retry_unsaved()

        @rule(worker=st.integers(0, 2))
        def try_again_what_was_not_saved(self, worker: int) -> None:
            self.workers[worker].engine.retry_unsaved()

        @rule(
            worker=st.integers(0, 2),
            gates=st.integers(1, 30),
            word=TOOLS,
            end=st.sampled_from(["nothing", "die", "be taken for dead", "be taken for dead"]),
        )
        def get_on_with_it(self, worker: int, gates: int, word: object, end: str) -> None:
            """A worker that for a while takes what is due; where it stops, something may befall it."""
            for at in range(gates):
                if not self.workers[worker].alive():
                    self.relay(worker)
                self.let_on(worker, at, word)
            if end == "die":
                self.die(worker, noticed=True)
            elif end == "be taken for dead":
                self.be_taken_for_dead(worker, (worker + 1) % 3)

        @rule(worker=st.integers(0, 2))
        def hear_of_cancels(self, worker: int) -> None:
            if not self.workers[worker].frozen:
                self.workers[worker].watch.poll()

        @rule(worker=st.integers(0, 2))
        def freeze_or_thaw(self, worker: int) -> None:
            self.workers[worker].frozen = not self.workers[worker].frozen

        @rule(worker=st.integers(0, 2), noticed=st.booleans())
        def die(self, worker: int, noticed: bool) -> None:
            victim = self.workers[worker]
            for thread in victim.alive():
                thread.kill()
            self.dead.ids.add(victim.engine.worker)
            self.workers[worker] = self._worker(f"w{worker}")
            if noticed:
                reclaim_from_dead_workers(self.workers[worker].engine, self.dead)

        @rule(worker=st.integers(0, 2), observer=st.integers(0, 2))
        def be_taken_for_dead(self, worker: int, observer: int) -> None:
            """It stands still for longer than its lease, and continues later as if nothing had been."""
            if worker != observer and self.workers[worker].alive():
                self.dead.ids.add(self.workers[worker].engine.worker)
                reclaim_from_dead_workers(self.workers[observer].engine, self.dead)

        @rule(observer=st.integers(0, 2))
        def take_over(self, observer: int) -> None:
            reclaim_from_dead_workers(self.workers[observer].engine, self.dead)

        @rule(worker=st.integers(0, 2), seconds=st.sampled_from([-3600.0, -7.0, 0.0, 7.0, 3600.0]))
        def shift_clock(self, worker: int, seconds: float) -> None:
            self.workers[worker].clock.offset = seconds

        @rule(seconds=st.sampled_from([1.0, 10.0, 100.0]))
        def pass_time(self, seconds: float) -> None:
            self.time += seconds

        # --- in the end -----------------------------------------------------------------------

        def teardown(self) -> None:
            if not hasattr(self, "session"):
                return
            for thread in self.all_threads:
                while thread.at is not None:
                    thread.go()
            for worker in self.workers:  # they live: nobody reclaims their steps
                assert worker.engine.retry_unsaved() == 0
            last = self._worker("last").engine
            for _ in range(200):
                reclaim_from_dead_workers(last, self.dead)
                self.time += 100
                family = self.family()
                due = [row.step for stream in family for row in log.due(self.time, stream=stream)]
                if not due and not any(log.steps(stream) for stream in family):
                    break
                for step in due:
                    last.run(step.stream, step.id)
            self._check()

        def _check(self) -> None:
            family = self.family()
            for stream, facts in family.items():
                self._check_stream(stream, facts)
            submitted = [fact for fact in family[self.stream] if isinstance(fact, e.TurnSubmitted)]
            sent = [fact.turn for fact in submitted if fact.source == "cli"]
            assert sent == self.accepted, "what was acknowledged is in the log, and nothing else"
            assert [found for request in self.requests for found in complaints(request.messages)] == []
            paid = [
                fact.usage
                for facts in family.values()
                for fact in facts
                if isinstance(fact, BOOKED) and fact.usage != NO_USAGE
            ]
            assert len(set(paid)) == len(paid), "a response is booked at most once"
            slots = self.client.state("children")
            assert isinstance(slots, ChildSlots)
            assert not [
                each for each in (*slots.running, *slots.waiting) if stream_of(each.session) in family
            ]

        def _check_stream(self, stream: str, facts: list[e.Event]) -> None:
            assert log.steps(stream) == [], "nothing is due for ever"
            ends = Counter(fact.turn for fact in facts if isinstance(fact, ENDS))
            for fact in facts:
                if isinstance(fact, e.TurnResumed):
                    ends[fact.turn] -= 1
            texts = [fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted)]
            assert ends == Counter(texts), "every accepted text ends exactly once"
            started = Counter(f.call for f in facts if isinstance(f, e.ToolStarted) and f.effect == "write")
            assert all(times == 1 for times in started.values()), "a write starts at most once"
            assert all(self.tools.effects[call] <= 1 for call in started), "and has its effect at most once"
            results = Counter(f.call for f in facts if isinstance(f, (e.ToolFinished, e.ToolInterrupted)))
            asked = [plan.call for f in facts if isinstance(f, e.ModelReplied) for plan in f.plan]
            assert all(times == 1 for times in results.values()), "a call has one result"
            assert set(results) <= set(asked)
            answers = Counter(f.step for f in facts if isinstance(f, REFERENCES) and _is_final(f))
            assert all(times == 1 for times in answers.values()), "a member answers or is left out, once"
            begun = [ref.session for f in facts if isinstance(f, e.ChildrenStarted) for ref in f.children]
            told = [fact.child for fact in facts if isinstance(fact, e.ChildEnded)]
            assert sorted(told) == sorted(begun), "the parent sees every child's end exactly once"
            session = self.client.sessions.load(stream)
            assert next_steps(session) == ()
            assert session.children == ()
            self._check_cancels(stream)

        def _check_cancels(self, stream: str) -> None:
            """No child lives on under a turn that was cancelled."""
            began: dict[str, list[e.ChildRef]] = {}
            for recorded in log.read(stream):
                match recorded.event:
                    case e.ChildrenStarted(turn=turn, children=children):
                        began.setdefault(turn, []).extend(children)
                    case e.TurnCancelRequested(turn=turn):
                        for ref in began.get(turn, []):
                            ends = [
                                each
                                for each in log.read(stream_of(ref.session))
                                if isinstance(each.event, ENDS) and each.event.turn == ref.turn
                            ]
                            assert ends[0].position < recorded.position or isinstance(
                                ends[0].event, e.TurnCancelled
                            ), "a cancel goes down"
                    case _:
                        pass

    return ManyWorkers


def examples_on(log_url: str, on_sqlite: int) -> int:
    """How many examples to try: on PostgreSQL, where each takes four times as long, a quarter."""
    wanted = int(os.environ.get("SIMULATIONS", examples(on_sqlite)))
    return wanted if log_url.startswith("sqlite") else wanted // 4


def test_whatever_befalls_the_workers_every_text_ends_once_and_no_write_happens_twice(
    log: EventLog, log_url: str
) -> None:
    machine = state_machine(log, count(1), CountedIds())
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples_on(log_url, 40),
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
