"""What holds for every history: a session driven at random, checked after each step."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step, find_step, next_steps
from tests.domain.world import World, complaints, turn_of
from tests.examples import examples

EFFECTS = st.sampled_from(["read", "idempotent", "write"])
POLICIES = st.sampled_from(["queue", "collect", "steer", "interrupt", "reject"])
MEMBERS = st.sampled_from([(), (), ("x",), ("x", "y", "x")])
CALLS = st.lists(st.tuples(st.sampled_from("abc"), EFFECTS), max_size=3)


class AnyHistory(RuleBasedStateMachine):
    """Every command and outcome in every order that the due steps allow."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(max_iterations=3)
        self.under_way: dict[str, Step] = {}
        self.accepted: list[str] = []

    def _drop_stale(self) -> None:
        due = {step.id: step for step in self.world.due}
        self.under_way = {id_: step for id_, step in self.under_way.items() if id_ in due}

    @rule(policy=POLICIES, text=st.sampled_from(["x", "do it", ""]))
    def submit(self, policy: e.BusyPolicy, text: str) -> None:
        try:
            self.accepted.append(self.world.submit(text, if_busy=policy))
        except Rejected:
            assert policy == "reject"
        self._drop_stale()

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        free = [step for step in self.world.due if step.id not in self.under_way]
        if free:
            step = data.draw(st.sampled_from(free))
            self.world.begin(step)
            self.under_way[step.id] = step

    @rule(data=st.data(), content=st.sampled_from(["", "text", "long"]), calls=CALLS)
    def finish(self, data: st.DataObject, content: str, calls: list[tuple[str, e.Effect]]) -> None:
        if not self.under_way:
            return
        step = self.under_way.pop(data.draw(st.sampled_from(sorted(self.under_way))))
        self._finish(step, data, content, calls)
        self._drop_stale()

    def _finish(
        self, step: Step, data: st.DataObject, content: str, calls: list[tuple[str, e.Effect]]
    ) -> None:
        """One of the outcomes that the step may have."""
        turn = turn_of(step)
        match step.kind:
            case "turn.prefetch":
                if data.draw(st.booleans()):
                    self._finish_prefetch(step, data.draw(MEMBERS))
                else:
                    self.world.do(c.PostponeTurn(step=step.id, reason="away", retry_at=2.0, since=1.0))
            case "turn.reference":
                self._end_reference(step, data, content)
            case "turn.record_usage":
                self.world.do(c.FinishTurn(step=step.id))
            case "turn.run_tool":
                if data.draw(st.booleans()):
                    self.world.finish_tool(step, content, invalid=data.draw(st.booleans()))
                elif self.world.session.current and self.world.session.current.cancelled_by:
                    self.world.interrupt_tool(step)
                else:
                    self.world.do(c.AbandonStep(step=step.id, worker="w", reason="died"))
            case "turn.call_model":
                self._end_call(step, data, content, calls)
        assert turn

    def _finish_prefetch(self, step: Step, members: tuple[str, ...] = ()) -> None:
        prefetched = e.ContextPrefetched(
            turn=step.id.split("-", 1)[0],
            model="m",
            max_iterations=3,
            ensemble="panel" if members else "",
            members=members,
        )
        self.world.do(c.FinishPrefetch(step=step.id, prefetched=prefetched))

    def _end_reference(self, step: Step, data: st.DataObject, content: str) -> None:
        """One of the outcomes that the call of a member may have."""
        turn_now = self.world.session.current
        match data.draw(st.sampled_from(["reply", "retry", "fail", "died", "shutdown"])):
            case "reply":
                self.world.finish_reference(step, content or "I think so")
            case "retry":
                self.world.finish_reference(step, retry_at=1.0)
            case "fail":
                cancelled = turn_now is not None and turn_now.cancelled_by is not None
                self.world.finish_reference(step, kind="cancelled" if cancelled else "server")
            case "died":
                self.world.do(c.AbandonStep(step=step.id, worker="w", reason="died"))
            case _:
                self.world.do(c.AbandonStep(step=step.id, worker="w", reason="shutdown"))

    def _end_call(
        self, step: Step, data: st.DataObject, content: str, calls: list[tuple[str, e.Effect]]
    ) -> None:
        """One of the outcomes that a model call may have."""
        kinds = ["reply", "cut", "retry", "fail", "quota", "fallback", "died", "shutdown"]
        outcome = data.draw(st.sampled_from(kinds))
        turn_now = self.world.session.current
        if turn_now is not None and turn_now.cancelled_by and outcome == "fail":
            self.world.fail_call(step, kind="cancelled", content=content)
        elif outcome == "quota":
            self.world.fail_call(step, kind="rate_limit", retry_at=2.0, quota_until=2.0)
        elif outcome == "fallback":
            self.world.fail_call(step, kind="billing", retry_at=1.0, fallback="m2")
        elif outcome in {"reply", "cut"}:
            finish = "length" if outcome == "cut" else "stop"
            self.world.finish_call(step, content, calls, finish_reason=finish)
        elif outcome in {"retry", "fail"}:
            self.world.fail_call(step, retry_at=1.0 if outcome == "retry" else None)
        else:
            reason: e.AbandonReason = "died" if outcome == "died" else "shutdown"
            self.world.do(c.AbandonStep(step=step.id, worker="w", reason=reason))

    @rule(calls=CALLS)
    def advance(self, calls: list[tuple[str, e.Effect]]) -> None:
        """The short way deep into a turn: the first free step is begun; a model call asks for tools."""
        free = [step for step in self.world.due if step.id not in self.under_way]
        if not free:
            return
        step = self.world.begin(free[0])
        self.under_way[step.id] = step
        if step.kind == "turn.call_model":
            self.world.finish_call(self.under_way.pop(step.id), "", calls)
        elif step.kind == "turn.prefetch":
            self._finish_plainly(self.under_way.pop(step.id))
        self._drop_stale()

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.accepted:
            turn = data.draw(st.sampled_from(self.accepted))
            try:
                self.world.do(c.CancelTurn(turn=turn, by="user"))
            except Rejected:
                assert turn in self.world.session.ended
            self._drop_stale()

    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        ended = [turn for turn, end in self.world.session.ended.items() if end.turn]
        if ended:
            members = data.draw(MEMBERS)
            turn, model = data.draw(st.sampled_from(ended)), "m" if members else ""
            ensemble = "panel" if members else ""
            self.world.do(
                c.ResumeTurn(e.TurnResumed(turn=turn, model=model, ensemble=ensemble, members=members))
            )

    @rule(model=st.sampled_from(["", "m3"]), session_wide=st.booleans())
    def move(self, model: str, session_wide: bool) -> None:
        """A person lets a turn continue that waits for a quota, or to begin."""
        turn = self.world.session.current
        if session_wide and model:
            self.world.do(c.ChangeModel(model=model))
        elif turn is not None and turn.waits_until:
            self.world.do(c.EndWait(turn=turn.id, model=model))
        self._drop_stale()

    @invariant()
    def a_turn_that_waits_is_one_timer(self) -> None:
        turn = self.world.session.current
        if turn is not None and turn.waits_until and turn.cancelled_by is None:
            assert not turn.running
            kind = "turn.call_model" if turn.quota_until else "turn.prefetch"
            compressing = any(step.kind.startswith("compression.") for step in self.world.due)
            timers = [step.not_before for step in self.world.due if step.kind == kind]
            assert timers == ([] if compressing else [2.0])  # its timer follows once that is done

    @invariant()
    def each_request_is_one_that_a_strict_provider_takes(self) -> None:
        for request in self.world.requests[-1:]:
            assert complaints(request) == []

    @invariant()
    def the_prompt_only_grows(self) -> None:
        for before, after in zip(self.world.requests[-2:], self.world.requests[-1:], strict=False):
            assert after[: len(before)] == before

    @invariant()
    def every_text_is_open_or_ended_and_never_both(self) -> None:
        session = self.world.session
        for turn in self.accepted:
            assert (session.find(turn) is not None) != (turn in session.ended), turn

    @invariant()
    def an_open_turn_has_due_work_and_an_idle_session_none(self) -> None:
        assert bool(self.world.due) == (self.world.session.current is not None)

    @invariant()
    def every_end_is_booked_once(self) -> None:
        ends = [
            f for f in self.world.facts if isinstance(f, (e.TurnCompleted, e.TurnFailed, e.TurnCancelled))
        ]
        books = self.world.of(e.UsageRecorded)
        assert len(books) == len(ends)

    @invariant()
    def a_write_starts_at_most_once(self) -> None:
        writes = [f.call for f in self.world.facts if isinstance(f, e.ToolStarted) and f.effect == "write"]
        assert len(writes) == len(set(writes))

    @invariant()
    def every_member_is_asked_before_the_model_and_has_one_answer(self) -> None:
        ended = Counter(
            f.step
            for f in self.world.facts
            if isinstance(f, e.ReferenceReplied)
            or (isinstance(f, e.ReferenceFailed) and f.retry_at is None and f.kind != "cancelled")
        )
        assert all(times == 1 for times in ended.values())
        turn = self.world.session.current
        if turn is not None and turn.running:
            assert turn.open_references == ()

    @invariant()
    def a_turn_ends_when_each_call_that_was_planned_has_one_result(self) -> None:
        facts = self.world.facts
        results = Counter(f.call for f in facts if isinstance(f, (e.ToolFinished, e.ToolInterrupted)))
        assert not [call for call, times in results.items() if times > 1]
        for reply in (f for f in facts if isinstance(f, e.ModelReplied)):
            if reply.turn in self.world.session.ended and reply.finish_reason != "length":
                assert {plan.call for plan in reply.plan} <= results.keys()

    def teardown(self) -> None:
        """Whatever happened, willing workers bring every turn to its end."""
        for _ in range(400):
            self._drop_stale()
            if not self.world.due:
                break
            step = next(iter(self.under_way.values()), None) or self.world.begin(self.world.due[0])
            self.under_way[step.id] = step
            self._finish_plainly(self.under_way.pop(step.id))
        assert self.world.due == ()
        assert set(self.accepted) == set(self.world.session.ended)
        assert fold(Session(stream="session-s1"), self.world.facts) == self.world.session

    def _finish_plainly(self, step: Step) -> None:
        match step.kind:
            case "turn.prefetch":
                self._finish_prefetch(step)
            case "turn.reference":
                self.world.finish_reference(step, "I think so")
            case "turn.record_usage":
                self.world.do(c.FinishTurn(step=step.id))
            case "turn.run_tool":
                self.world.finish_tool(step)
            case "turn.call_model":
                self.world.finish_call(step, "done")


def test_every_history_keeps_the_rules_and_ends() -> None:
    run_state_machine_as_test(
        AnyHistory, settings=settings(max_examples=examples(200), stateful_step_count=40)
    )


@given(calls=st.lists(st.tuples(st.sampled_from("abc"), EFFECTS), min_size=2, max_size=4), data=st.data())
@settings(max_examples=examples(40))
def test_every_interleaving_of_tool_results_ends_in_the_same_state(
    calls: list[tuple[str, e.Effect]], data: st.DataObject
) -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("", calls)
    for step in world.due:
        world.begin(step)
    ids = [step.id for step in world.due]
    order = data.draw(st.sampled_from(list(permutations(ids))))
    assert _after(world.session, ids) == _after(world.session, order)


def _after(session: Session, order: list[str] | tuple[str, ...]) -> Session:
    world = World(session)
    for step_id in order:
        step = find_step(world.session, step_id)
        assert step is not None
        world.finish_tool(step, f"result of {step_id}")
    return world.session


@pytest.mark.parametrize("kind", list(EVENT_TYPES))
def test_every_fact_is_named_by_its_class(kind: str) -> None:
    assert EVENT_TYPES[kind].__name__ == kind
    assert next_steps(Session(stream="session-x")) == ()
