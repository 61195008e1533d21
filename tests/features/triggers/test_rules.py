"""Triggers by example and by property: firings wait, are moved, and start one turn."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.triggers import events as t
from hermes_jobs.features.triggers.rules.commands import (
    LEAST_SHARE,
    LONGEST,
    PAYLOAD_CHARS,
    TURN_CHARS,
    AddTrigger,
    EditTrigger,
    FireTrigger,
    PauseTrigger,
    RemoveTrigger,
    ResumeTrigger,
    StartTrigger,
    text_of,
)
from hermes_jobs.features.triggers.rules.trigger import Trigger, next_steps
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import Decision, DecisionResult
from hermes_jobs.kernel.streams.streams import fold, initial_state
from tests.examples import examples

STREAM = t.stream_of("ci")


class World:
    """The trigger `ci`, the sessions of its turns, and everything that was written."""

    def __init__(self, debounce: float = 0.0, **plan: Any) -> None:
        self.now = 1_000.0
        self.facts: list[e.Event] = []
        self._states: dict[str, Any] = {}
        self._numbers = count(1)
        self.do(AddTrigger(name="ci", plan=t.TriggerPlan(text="Look.", debounce=debounce, **plan)))

    def load(self, stream: str) -> Any:
        return self._states.get(stream) or initial_state(stream)

    def do(self, change: Decision) -> DecisionResult:
        changed = change(self.load)
        for write in changed.writes:
            self._states[write.stream] = fold(self.load(write.stream), write.events)
            self.facts.extend(write.events)
        return changed

    def fire(self, payload: str = "", **changes: Any) -> DecisionResult:
        number = next(self._numbers)
        act = FireTrigger(
            name="ci", now=self.now, turn=f"t{number}", session=f"s{number}", payload=payload, **changes
        )
        return self.do(act)

    def look(self) -> None:
        """Start what is due, as a worker does."""
        self.do(StartTrigger(stream=STREAM, now=self.now))

    @property
    def trigger(self) -> Trigger:
        state = self.load(STREAM)
        assert isinstance(state, Trigger)
        return state

    def of(self, kind: type[Any]) -> list[Any]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


def test_a_firing_without_a_debounce_starts_an_unattended_turn_in_the_same_append() -> None:
    world = World(deliver=("file:/tmp/a",), model="m", workdir="/srv")
    written = world.fire("one\n```\nfailed")
    assert len(written.writes) == 2
    (submitted,) = world.of(e.TurnSubmitted)
    assert (submitted.source, submitted.attended, submitted.deliver) == (
        "trigger:ci",
        False,
        ("file:/tmp/a",),
    )
    assert submitted.opening.kind == "scheduled"
    assert submitted.text.startswith("Look.")
    assert "not instructions" in submitted.text
    assert "````\none\n```\nfailed\n````" in submitted.text
    assert not next_steps(world.trigger)


def test_what_has_waited_starts_when_the_trigger_is_resumed_without_its_debounce() -> None:
    world = World(3600.0)
    world.fire("one")
    world.do(PauseTrigger(name="ci"))
    world.do(EditTrigger(name="ci", plan=t.TriggerPlan(text="Look again.", debounce=3600.0)))
    assert not next_steps(world.trigger)
    world.do(ResumeTrigger(name="ci"))
    (step,) = next_steps(world.trigger)
    assert step.not_before == 0
    world.look()
    (submitted,) = world.of(e.TurnSubmitted)
    assert submitted.text.startswith("Look again.")


def test_firings_within_the_debounce_are_one_turn_with_all_inputs() -> None:
    world = World(30.0)
    for number in range(3):
        world.fire(f"input {number}")
        (step,) = next_steps(world.trigger)
        assert step.not_before == world.now + 30
        world.now += 20
        world.look()
    assert not world.of(e.TurnSubmitted)
    world.now += 10
    world.look()
    world.look()
    (submitted,), (started,) = world.of(e.TurnSubmitted), world.of(t.TriggerStarted)
    assert (submitted.turn, started.turn, started.firings) == ("t1", "t1", 3)
    assert {fired.turn for fired in world.of(t.TriggerFired)} == {"t1"}
    assert all(f"input {number}" in submitted.text for number in range(3))


def test_endless_firings_start_a_turn_after_ten_debounces_at_the_latest() -> None:
    world = World(30.0)
    begun = world.now
    while not world.of(e.TurnSubmitted):
        world.fire()
        world.now += 10
        world.look()
    assert world.now - begun <= LONGEST * 30 + 10


def test_who_waits_for_the_answer_starts_what_is_pending_too() -> None:
    world = World(30.0)
    world.fire("a")
    world.fire("b", at_once=True)
    (submitted,) = world.of(e.TurnSubmitted)
    assert "a" in submitted.text
    assert not world.trigger.pending


def test_a_paused_trigger_refuses_firings_and_keeps_those_that_wait() -> None:
    world = World(30.0)
    world.fire("a")
    world.do(PauseTrigger(name="ci"))
    world.now += 60
    world.look()
    assert not world.of(e.TurnSubmitted)
    assert not next_steps(world.trigger)
    with pytest.raises(Rejected, match="is paused"):
        world.fire()
    world.do(ResumeTrigger(name="ci"))
    world.look()
    assert len(world.of(e.TurnSubmitted)) == 1


def test_a_removed_trigger_is_unknown_and_its_name_is_free() -> None:
    world = World(30.0)
    world.fire()
    world.do(RemoveTrigger(name="ci"))
    assert not next_steps(world.trigger)
    with pytest.raises(Rejected, match="no trigger 'ci'"):
        world.fire()
    world.do(AddTrigger(name="ci", plan=t.TriggerPlan(text="Other.")))
    world.fire()
    assert world.of(e.TurnSubmitted)[0].text == "Other."


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a" * 41, "a/b"])
def test_a_name_has_small_letters_and_digits(name: str) -> None:
    with pytest.raises(Rejected, match="is not a name"):
        World().do(AddTrigger(name=name, plan=t.TriggerPlan(text="Look.")))


def test_a_turn_that_cannot_start_is_told_and_not_tried_again() -> None:
    world = World(30.0)
    session = "session-s9"
    world._states[session] = fold(
        initial_state(session),
        [
            e.TurnSubmitted(turn="t90", text="x", source="cli", session="s9", opening=e.Opening()),
            e.TurnCancelled(turn="t90", by="user"),
        ],
    )
    world.do(AddTrigger(name="ci", replaces=True, plan=t.TriggerPlan(text="L", session="s9", debounce=5.0)))
    world.fire()
    world._states[session] = fold(world.load(session), [e.SessionEnded(session="s9", reason="user")])
    world.now += 60
    world.look()
    (failed,), (told,) = world.of(t.TriggerFailed), world.of(DeliveryRequested)
    assert failed.message in told.text
    assert not told.ok
    assert not next_steps(world.trigger)


def test_a_long_input_and_many_inputs_are_cut_with_a_note() -> None:
    world = World(30.0)
    world.fire("x" * (PAYLOAD_CHARS + 5_000))
    assert "characters are left out" in world.of(t.TriggerFired)[0].payload
    most = TURN_CHARS // LEAST_SHARE
    text = text_of("Look.", [f"input {number}" for number in range(most + 3)])
    assert "The inputs of the first 3 times are left out." in text
    assert f"input {most + 2}" in text
    assert len(text_of("Look.", ["y" * PAYLOAD_CHARS] * 5)) < TURN_CHARS + 5_000


@given(
    st.floats(1, 100),
    st.lists(st.tuples(st.sampled_from(["fire", "look", "wait"]), st.floats(0, 200)), max_size=30),
)
@settings(max_examples=examples(100))
def test_each_firing_is_in_exactly_one_turn(debounce: float, acts: list[tuple[str, float]]) -> None:
    world = World(debounce)
    for act, seconds in acts:
        if act == "fire":
            world.fire(str(seconds))
        elif act == "look":
            world.look()
        else:
            world.now += seconds
    world.now += 1_001
    world.look()
    assert not world.trigger.pending
    fired, started = world.of(t.TriggerFired), world.of(t.TriggerStarted)
    assert sum(each.firings for each in started) == len(fired)
    assert {each.turn for each in started} == {each.turn for each in fired}
    assert len(world.of(e.TurnSubmitted)) == len(started)
