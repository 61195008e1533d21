"""The agent's own schedules: what it adds, sees and stops, and what it is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.schedules import events as e
from hermes_jobs.features.schedules.rules.schedule import Schedule
from hermes_jobs.features.schedules.tools import Defaults, ScheduleTool
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.streams.streams import fold, initial_state
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.toolbox import Toolbox
from tests.engine.simulation import CountedIds, ShiftedClock
from tests.planning.world import MONDAY

from .support import Switch, context_in

HERE = replace(context_in("/"), source="cli")
IN_A_RUN = replace(HERE, source="schedule:p9")


class Planner:
    """The tool, and schedules in memory that its changes are written to."""

    def __init__(self, **defaults: Any) -> None:
        self.schedules: dict[str, Schedule] = {}
        clock = ShiftedClock(lambda: MONDAY)
        tool = ScheduleTool(
            lambda: list(self.schedules), Defaults(timezone="Europe/Berlin", **defaults), clock, CountedIds()
        )
        self.box = Toolbox(tool.tools, enabled=("schedule",))

    def load(self, stream: str) -> Any:
        return self.schedules.get(stream) or initial_state(stream)

    def ask(self, context: Any = HERE, **arguments: object) -> str:
        """Call the tool; what the model is told. What it writes is written."""
        outcome = self.outcome(context, arguments)
        if outcome.change is None:
            return outcome.content
        try:
            changed = outcome.change(self.load)
        except Rejected as refused:
            return f"Error: {refused.message} {refused.hint}".rstrip()
        for write in changed.writes:
            state = fold(self.load(write.stream), write.events)
            assert isinstance(state, Schedule)
            self.schedules[write.stream] = state
        return changed.answer

    def outcome(self, context: Any, arguments: Mapping[str, object]) -> ToolOutcome:
        return self.box.run(ToolCall("x", "schedule", json.dumps(arguments)), context, None, Switch())

    @property
    def only(self) -> Schedule:
        (schedule,) = self.schedules.values()
        return schedule


@pytest.fixture
def planner() -> Planner:
    return Planner()


def test_an_added_schedule_is_in_the_users_zone_and_described_in_full(planner: Planner) -> None:
    told = planner.ask(action="add", when="every weekday at 9", task="Check the mail and summarise it.")

    assert planner.only.plan == e.Plan(
        name="Check the mail and summarise it",
        text="Check the mail and summarise it.",
        kind="calendar",
        timing="every weekday at 09:00",
        timezone="Europe/Berlin",
        workdir="/",
    )
    assert told == (
        "Added: “Check the mail and summarise it” (p000001): every weekday at 09:00, Europe/Berlin; "
        "next Mon 2026-11-23 09:00:00 CET. Its answers go to cli."
    )


def test_a_chat_without_a_folder_gets_a_warning(planner: Planner) -> None:
    nowhere = replace(HERE, workdir="")
    told = planner.ask(nowhere, action="add", when="every weekday at 9", task="Check the mail.")

    assert planner.only.plan is not None
    assert planner.only.plan.workdir is None
    assert "Warning: its runs have no working folder" in told


def test_a_whole_sentence_will_do(planner: Planner) -> None:
    planner.ask(action="add", when="Water the plants every Sunday at 10am", name="Plants", timezone="UTC")

    plan = planner.only.plan
    assert plan is not None
    assert (plan.text, plan.timing, plan.timezone, plan.name) == (
        "Water the plants",
        "every Sunday at 10:00",
        "UTC",
        "Plants",
    )


def test_a_name_that_another_schedule_has_gets_a_number(planner: Planner) -> None:
    planner.ask(action="add", when="every day at 9", task="Read the mail.", name="Mail")
    told = planner.ask(action="add", when="every day at 17", task="Read the mail.", name="mail")
    planner.ask(action="remove", schedule="Mail")

    assert told.startswith("Added: “mail 2” (p000002)")
    assert planner.ask(action="add", when="at noon", task="Eat.", name="Mail").startswith("Added: “Mail” ")


def test_its_answers_go_where_the_answer_of_this_conversation_goes(planner: Planner) -> None:
    context = replace(HERE, deliver=("telegram:42",))
    told = planner.ask(context, action="add", when="in 2 hours", task="Remind the user of the oven.")

    plan = planner.only.plan
    assert plan is not None
    assert plan.deliver == ("telegram:42",)
    assert "telegram:42" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"task": "Look."}, "give `when`"),
        ({"when": "every day at 9"}, "give `task`"),
        ({"when": "every 10 seconds", "task": "Look."}, "was not understood"),
        ({"when": "at 25:00", "task": "Look."}, "was not understood"),
        ({"when": "every day at 9", "task": "Look.", "timezone": "Mars/Base"}, "no time zone 'Mars/Base'"),
    ],
)
def test_an_impossible_schedule_is_refused_with_advice(
    planner: Planner, arguments: dict[str, object], says: str
) -> None:
    told = planner.ask(action="add", **arguments)

    assert told.startswith("Error: ")
    assert says in told
    assert planner.schedules == {}


def test_a_scheduled_prompt_adds_none() -> None:
    asked = {"action": "add", "when": "every day at 9", "task": "Look again."}

    assert "may not add schedules" in Planner().ask(IN_A_RUN, **asked)


def test_a_scheduled_prompt_may_end_its_own_schedule(planner: Planner) -> None:
    planner.ask(action="add", when="every day at 9", task="Look whether the ship has come in.", name="Ship")
    told = planner.ask(IN_A_RUN, action="remove", schedule="ship")

    assert told == "Removed: “Ship” (p000001)."
    assert planner.only.removed


def test_it_lists_pauses_and_resumes(planner: Planner) -> None:
    assert planner.ask(action="list") == "There are no schedules."
    planner.ask(action="add", when="0 9 * * 1-5", task="Read the mail.", name="Mail")

    assert planner.ask(action="pause", schedule="mail") == (
        "Paused: “Mail” (p000001): 0 9 * * 1-5, Europe/Berlin; paused."
    )
    assert planner.ask(action="list") == (
        "p000001 “Mail”: 0 9 * * 1-5, Europe/Berlin; paused. Task: Read the mail."
    )
    assert "next Mon 2026-11-23 09:00:00 CET" in planner.ask(action="resume", schedule="p0")


def test_a_schedule_that_is_not_there_or_not_the_only_one_is_named(planner: Planner) -> None:
    planner.ask(action="add", when="every day at 9", task="Read the mail.")
    planner.ask(action="add", when="every day at 10", task="Read the news.")

    assert "There are p000001 “Read the mail”, p000002 “Read the news”." in planner.ask(
        action="pause", schedule="x"
    )
    assert "fits several schedules" in planner.ask(action="pause", schedule="p0")
    assert "give `schedule`" in planner.ask(action="remove")


def test_calls_of_one_reply_keep_their_order(planner: Planner) -> None:
    calls = [
        ToolCall("a", "schedule", json.dumps({"action": "remove", "schedule": "mail"})),
        ToolCall("b", "schedule", json.dumps({"action": "add", "when": "at noon", "task": "Eat."})),
    ]

    assert [plan.after for plan in planner.box.plan("t1-1", calls, "/")] == [(), ("t1-1-0",)]
