"""Children of a session by example: places, ends, cancels, and who pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams import child_slots, delegation
from hermes_jobs.kernel.streams.accounts import Limit
from hermes_jobs.kernel.streams.budgets import Budgets, charges, limits_of
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import DecisionResult, StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import fold, initial_state
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, require_no_children, running_turn, stream_of
from hermes_jobs.kernel.turns.steps import next_steps
from tests.domain.world import STARTED

ROOT = "s1"


class Family:
    """Several sessions driven by hand, with all that follows in other streams."""

    def __init__(self) -> None:
        self.states: dict[str, StreamState] = {}
        self.events: list[tuple[str, e.Event]] = []
        self.submit(ROOT)
        self.begin_call(ROOT)

    def load(self, stream: str) -> Any:
        return self.states.get(stream) or initial_state(stream)

    def session(self, name: str = ROOT) -> Session:
        state: Session = self.load(stream_of(name))
        return state

    def write(self, *writes: StreamEvents) -> DecisionResult:
        """Append these with what follows; everything in one append."""
        done = with_reactions(writes, self.load)
        for each in done.writes:
            self.states[each.stream] = fold(self.load(each.stream), each.events)
            self.events.extend((each.stream, event) for event in each.events)
        return done

    def do(self, name: str, command: c.SessionCommand) -> tuple[str, ...]:
        """Carry a command out; the streams that it wrote to."""
        session = self.session(name)
        facts = decide(command, session)
        begun = (
            delegation.first_texts(command, session, self.load)
            if isinstance(command, c.StartChildren)
            else ()
        )
        done = self.write(StreamEvents(session.stream, facts), *begun)
        return tuple(each.stream for each in done.writes)

    def submit(self, name: str, turn: str | None = None, *, budget: float | None = None) -> None:
        self.do(
            name,
            c.SubmitTurn(
                e.TurnSubmitted(
                    turn=turn or f"t-{name}", session=name, text="do it", source="cli", budget_usd=budget
                )
            ),
        )

    def begin_call(self, name: str, calls: int = 1) -> str:
        """Let the session's model ask for the tool, so many times; the first call's id. All have begun."""
        turn = running_turn(self.session(name)).id
        started = None if self.session(name).started else STARTED
        self.write(
            StreamEvents(
                stream_of(name),
                (
                    *([started] if started else []),
                    e.ContextPrefetched(turn=turn, model="m", max_iterations=9, result_chars=4_000),
                ),
            )
        )
        step = f"{turn}-1"
        asked = e.ModelReplied(
            turn=turn,
            step=step,
            content="",
            model="m",
            finish_reason="tool_calls",
            tool_calls=tuple(ToolCall(f"p{number}", "delegate", "{}") for number in range(calls)),
            plan=tuple(
                e.PlannedCall(call=f"{step}-{number}", effect="idempotent") for number in range(calls)
            ),
        )
        begun = e.ModelCallStarted(turn=turn, step=step, attempt=1)
        self.write(StreamEvents(stream_of(name), (begun, asked)))
        for number in range(calls):
            self.do(name, c.BeginStep(step=f"{step}-{number}"))
        return f"{step}-0"

    def delegate(
        self, name: str, *children: str, waits: bool = True, per_root: int = 3, per_home: int = 10
    ) -> tuple[str, ...]:
        """Begin children of the first call that has none; the streams that were written."""
        call = next(each.id for each in running_turn(self.session(name)).calls if not each.children)
        plans = tuple(
            c.ChildPlan(session=each, turn=f"t-{each}", text=f"Do {each}", goal=each) for each in children
        )
        return self.do(
            name,
            c.StartChildren(step=call, children=plans, waits=waits, per_root=per_root, per_home=per_home),
        )

    def end(self, name: str, end: e.TurnEnd | None = None) -> tuple[str, ...]:
        """End a child's turn; the streams that were written in that append."""
        done = e.TurnCompleted(turn=f"t-{name}", answer=f"{name} is done.")
        writes = self.write(StreamEvents(stream_of(name), (end or done,))).writes
        return tuple(each.stream for each in writes)

    def of(self, kind: type[Any], name: str = ROOT) -> list[Any]:
        return [
            event for stream, event in self.events if stream == stream_of(name) and isinstance(event, kind)
        ]

    @property
    def at_work(self) -> list[str]:
        slots: ChildSlots = self.load(child_slots.STREAM)
        return [each.session for each in slots.running]


def test_parent_and_children_begin_in_one_append() -> None:
    family = Family()
    written = family.delegate(ROOT, "a", "b")
    assert set(written) == {stream_of(ROOT), stream_of("a"), stream_of("b"), child_slots.STREAM}
    place = family.session("a").delegation_of("t-a")
    assert place is not None
    assert (place.parent, place.parent_turn, place.depth) == (ROOT, f"t-{ROOT}", 1)


def test_a_waiting_call_has_no_step_and_ends_with_the_last_child_in_the_order_of_their_beginning() -> None:
    family = Family()
    family.delegate(ROOT, "a", "b")
    assert next_steps(family.session()) == ()
    family.end("b")
    assert next_steps(family.session()) == ()
    assert family.of(e.ToolFinished) == []
    assert stream_of(ROOT) in family.end("a")
    (result,) = family.of(e.ToolFinished)
    assert result.content.index("a is done.") < result.content.index("b is done.")
    assert [step.operation for step in next_steps(family.session())] == ["turn.call_model"]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (e.TurnCompleted(turn="t-a", answer="x", stopped_by="max_iterations"), "stopped"),
        (e.TurnFailed(turn="t-a", kind="budget", message="used up"), "out_of_budget"),
        (e.TurnFailed(turn="t-a", kind="auth", message="no key"), "failed"),
        (e.TurnFailed(turn="t-a", kind="worker_lost", message="died"), "unknown"),
        (e.TurnCancelled(turn="t-a", by="user"), "cancelled"),
    ],
)
def test_the_status_follows_from_the_facts(end: e.TurnEnd, status: str) -> None:
    family = Family()
    family.delegate(ROOT, "a")
    family.end("a", end)
    (ended,) = family.of(e.ChildEnded)
    (result,) = family.of(e.ToolFinished)
    assert ended.status == status
    assert not result.ok
    assert "Status: completed" not in result.content


def test_an_end_without_a_waiting_call_is_a_text_that_collects_others() -> None:
    family = Family()
    family.delegate(ROOT, "a", "b", waits=False)
    assert [step.operation for step in next_steps(family.session())] == ["turn.call_model"]
    family.end("a")
    family.end("b")
    told = [each for each in family.of(e.TurnSubmitted) if each.source.startswith("child:")]
    assert [(each.turn, each.if_busy) for each in told] == [("t-ae", "collect"), ("t-be", "collect")]
    assert "a is done." in told[0].text


def test_a_cancel_reaches_every_descendant_once_in_the_same_append() -> None:
    family = Family()
    family.delegate(ROOT, "a", "b")
    family.begin_call("a")
    family.delegate("a", "c")
    written = family.do(ROOT, c.CancelTurn(turn=f"t-{ROOT}", by="user"))
    assert {stream_of(each) for each in (ROOT, "a", "b", "c")} <= set(written)
    for name in ("a", "b", "c"):
        assert family.of(e.TurnCancelled, name)
    assert len(family.of(e.ChildEnded)) == 2
    assert len(family.of(e.ChildEnded, "a")) == 1
    assert family.at_work == []
    assert family.session().children == ()


def steer(family: Family, name: str, policy: e.BusyPolicy = "steer") -> None:
    """Send a child a second text while it works."""
    text = e.TurnSubmitted(turn=f"t2-{name}", session=name, text="hurry", source="cli", if_busy=policy)
    family.do(name, c.SubmitTurn(text))


@pytest.mark.parametrize("cancelled", [ROOT, "a"])
def test_a_steering_text_that_a_cancelled_child_did_not_get_is_cancelled_with_it(cancelled: str) -> None:
    family = Family()
    family.delegate(ROOT, "a")
    steer(family, "a")
    family.do(cancelled, c.CancelTurn(turn=f"t-{cancelled}", by="interrupt" if cancelled == ROOT else "user"))
    assert {each.turn for each in family.of(e.TurnCancelled, "a")} == {"t-a", "t2-a"}
    assert family.session("a").current is None
    assert "a" not in family.at_work
    assert [each.status for each in family.of(e.ChildEnded)] == ["cancelled"]


def test_a_text_that_interrupts_a_child_runs_after_it() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    steer(family, "a", "interrupt")
    assert [each.turn for each in family.of(e.TurnCancelled, "a")] == ["t-a"]
    assert running_turn(family.session("a")).id == "t2-a"


def test_a_cancelled_child_ends_after_its_running_step_and_reports_to_its_parent() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    call = family.begin_call("a")
    family.do(ROOT, c.CancelTurn(turn=f"t-{ROOT}", by="user"))
    assert family.of(e.TurnCancelled)
    assert not family.of(e.TurnCancelled, "a")
    assert [each.ref.session for each in family.session().children] == ["a"]
    stopped = e.ToolInterrupted(turn="t-a", call=call, reason="cancelled")
    family.do("a", c.FinishToolCall(step=call, outcome=stopped))
    assert family.of(e.TurnCancelled, "a")
    assert [each.status for each in family.of(e.ChildEnded)] == ["cancelled"]
    assert family.session().children == ()


@pytest.mark.parametrize("waits", [True, False])
def test_a_cancelled_parent_does_not_wait_for_a_child_that_the_log_does_not_have(waits: bool) -> None:
    family = Family()
    family.delegate(ROOT, "a", "b", waits=waits)
    del family.states[stream_of("a")]
    family.do(ROOT, c.CancelTurn(turn=f"t-{ROOT}", by="user"))
    assert {(each.child, each.status) for each in family.of(e.ChildEnded)} == {
        ("a", "unknown"),
        ("b", "cancelled"),
    }
    assert family.session().children == ()
    assert family.session().waiting == ()


def test_a_turn_that_is_being_cancelled_begins_nothing() -> None:
    family = Family()
    family.do(ROOT, c.CancelTurn(turn=f"t-{ROOT}", by="user"))
    assert family.delegate(ROOT, "a") == (stream_of(ROOT),)
    assert family.of(e.ChildrenStarted) == []


def test_a_child_retried_after_its_end_is_not_reported_again() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    family.end("a", e.TurnFailed(turn="t-a", kind="auth", message="no key"))
    family.do("a", c.ResumeTurn(e.TurnResumed(turn="t-a")))
    family.end("a")
    assert len(family.of(e.ChildEnded)) == 1


def test_a_session_does_not_end_while_its_children_work() -> None:
    family = Family()
    family.delegate(ROOT, "a", waits=False)
    family.write(StreamEvents(stream_of(ROOT), (e.TurnCompleted(turn=f"t-{ROOT}", answer="Later."),)))
    with pytest.raises(Rejected, match="still at work: a"):
        decide(c.EndSession(), family.session())
    family.end("a")
    require_no_children(family.session())


# --- places ------------------------------------------------------------------------------------


def test_more_children_than_may_run_are_held_and_released_in_order() -> None:
    family = Family()
    family.delegate(ROOT, "a", "b", "c", per_root=1)
    assert family.at_work == ["a"]
    assert next_steps(family.session("b")) == ()
    assert stream_of("b") in family.end("a")
    assert family.at_work == ["b"]
    assert [step.operation for step in next_steps(family.session("b"))] == ["turn.prefetch"]


def test_a_held_child_that_is_cancelled_leaves_the_queue() -> None:
    family = Family()
    family.delegate(ROOT, "a", "b", "c", per_root=1)
    family.do("b", c.CancelTurn(turn="t-b", by="user"))
    family.end("a")
    assert family.at_work == ["c"]


def test_a_child_that_waits_for_its_own_gives_its_place_up() -> None:
    family = Family()
    family.delegate(ROOT, "a", per_root=1)
    family.begin_call("a")
    family.delegate("a", "b", per_root=1)
    assert family.at_work == ["b"]
    family.end("b")
    assert family.at_work == ["a"]


def test_children_of_two_calls_never_wait_for_the_slot_of_their_parent() -> None:
    family = Family()
    family.delegate(ROOT, "a", per_root=1)
    family.begin_call("a", calls=2)
    family.delegate("a", "b", per_root=1)
    family.delegate("a", "c", per_root=1)
    assert family.at_work == ["b"]
    family.end("b")
    assert family.at_work == ["c"]
    family.end("c")
    assert family.at_work == ["a"]


@given(st.lists(st.sampled_from(["start", "end", "wait", "continue"]), max_size=40), st.data())
def test_no_slot_is_lost_and_only_continued_children_exceed_a_limit(
    acts: Sequence[str], data: st.DataObject
) -> None:
    slots, number, resumed, away = ChildSlots(), 0, 0, list[str]()
    for act in acts:
        running = [each.session for each in slots.running]
        if act == "start":
            number += 1
            new = e.QueuedChild(session=f"c{number}", root=data.draw(st.sampled_from(["r1", "r2"])))
            events = child_slots.queued(slots, [new], 2, 3)
        elif act in {"end", "wait"} and running:
            child = data.draw(st.sampled_from(running))
            events = child_slots.freed(slots, child)
            away += [child] if act == "wait" else []
        elif act == "continue" and away:
            events = child_slots.retaken(slots, away.pop(), "r1")
            resumed += 1
        else:
            continue
        slots = child_slots.fold(slots, events)
        assert len(slots.running) <= 3 + resumed
        if slots.waiting and not resumed:
            roots = [each.root for each in slots.running]
            assert len(roots) == 3 or all(roots.count(each.root) == 2 for each in slots.waiting)


# --- who pays ----------------------------------------------------------------------------------


def test_the_usage_of_a_child_is_charged_to_all_its_ancestors() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    family.begin_call("a")
    family.delegate("a", "b")
    reserved = Reservation(model="m", input_tokens=10, output_tokens=5, day="2026-11-23", cost_usd=0.5)
    begun = e.ModelCallStarted(turn="t-b", step="t-b-1", attempt=1, reserved=reserved)
    found = charges(family.session("b"), [begun], lambda: "2026-11-23")
    assert {each.account for each in found} == {
        *(f"turn-t-{name}" for name in ("b", "a", ROOT)),
        *(stream_of(name) for name in ("b", "a", ROOT)),
        "day-2026-11-23",
    }
    assert {each.reserved.tokens for each in found} == {Usage(10, 5).total_tokens}


def test_a_child_has_the_limits_of_its_root_and_those_of_every_turn_between() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    session = family.session("a")
    budgets = Budgets(turn_usd=1.0, turn_tokens=100, session_usd=2.0)
    found = limits_of(budgets, session, running_turn(session), "2026-11-23")
    accounts = {(each.setting, each.account) for each in found if isinstance(each, Limit)}
    assert accounts == {
        ("budgets.turn_usd", f"turn-t-{ROOT}"),
        ("budgets.turn_tokens", f"turn-t-{ROOT}"),
        ("budgets.session_usd", stream_of(ROOT)),
    }


def test_a_turn_that_a_user_sends_to_a_child_pays_for_itself() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    family.end("a")
    family.submit("a", "t-later")
    session = family.session("a")
    found = limits_of(Budgets(turn_usd=1.0), session, running_turn(session), "2026-11-23")
    assert [each.account for each in found] == ["turn-t-later"]


def test_rounds_of_a_kind_hold_for_the_sub_agents_below_it() -> None:
    family = Family()
    family.delegate(ROOT, "a")
    assert family.session("a").delegation_of("t-a").max_iterations is None  # type: ignore[union-attr]
    for name, rounds in (("b", 4), ("c", 9), ("d", None), ("e", 2)):
        parent = {"b": "a", "c": "b", "d": "c", "e": "d"}[name]
        call = family.begin_call(parent)
        plan = c.ChildPlan(session=name, turn=f"t-{name}", text="x", goal="x", max_iterations=rounds)
        family.do(parent, c.StartChildren(step=call, children=(plan,), per_root=9, per_home=9))
    bounds = [family.session(name).delegation_of(f"t-{name}") for name in "bcde"]
    assert [each.max_iterations for each in bounds if each is not None] == [4, 4, 4, 2]
