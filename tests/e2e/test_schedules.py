"""Schedules through the command line before a model: what the rules cannot read, and what the agent plans."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.domain import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home
from tests.model_script import Answer, AskedCall, Refuse, Rule, Script
from tests.model_server import ModelServer

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def proposing(**proposal: str) -> Script:
    """A model that proposes this whatever it is asked."""
    return Script(default=Answer(tool_calls=(AskedCall("propose", proposal),), usage=USAGE))


def test_a_model_reads_what_the_rules_cannot(home: Home, model_server: ModelServer) -> None:
    model_server.follow(proposing(timing="every Monday at 09:00", task="Gieße die Pflanzen"))
    done = home.run("schedule", "add", "Gieße die Pflanzen jeden Montag um 9 Uhr", "--yes", "--json")

    assert done.code == 0, done
    assert (done.json["canonical"], done.json["task"]) == ("every Monday at 09:00", "Gieße die Pflanzen")
    assert "was asked" in done.err
    assert len(model_server.requests) == 1


@pytest.mark.parametrize("command", ["add", "preview"])
def test_a_model_is_not_believed_where_the_sentence_does_not_say_so(
    home: Home, model_server: ModelServer, command: str
) -> None:
    model_server.follow(proposing(timing="every day at 03:00", task="Water the plants"))
    done = home.run("schedule", command, "Water the plants whenever they are thirsty")

    assert done.code == 2, done
    assert len(model_server.requests) == 1
    assert home.run("schedule", "list", "--json").json == []


def test_what_a_model_was_asked_is_booked_whatever_comes_of_it(home: Home, model_server: ModelServer) -> None:
    model_server.follow(proposing(timing="every day at 03:00", task="Water the plants"))
    home.run("schedule", "add", "Water the plants whenever they are thirsty", "--yes")
    with home.open_log() as log:
        (booked,) = [fact for fact in facts_of(log) if isinstance(fact, e.ScheduleWorded)]
    rows = home.run("usage", "--by", "purpose", "--json").json

    assert (booked.proposed, booked.usage.total_tokens) == ("every day at 03:00", 120)
    assert [row["requests"] for row in rows if row["purpose"] == "schedule"] == [1]


def test_no_model_is_asked_where_that_is_not_wanted_or_not_needed(
    home: Home, model_server: ModelServer
) -> None:
    home.run("schedule", "add", "Water the plants whenever they are thirsty", "--yes", "--no-model")
    home.run("schedule", "add", "Water the plants every day at 8", "--yes")

    assert model_server.requests == []


def test_a_model_that_cannot_be_reached_leaves_the_rules_refusal(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(Script(default=Refuse(status=401, message="no such key")))
    done = home.run("schedule", "add", "Water the plants whenever they are thirsty", "--yes")

    assert done.code == 2
    assert "Error: " in done.err


def test_the_agent_plans_a_prompt_that_then_runs(home: Home, model_server: ModelServer) -> None:
    plan = {"action": "add", "when": "every day at 9", "task": "Read the mail.", "name": "Mail"}
    rules = (
        Rule(
            "every morning",
            (Answer(tool_calls=(AskedCall("schedule", plan),)), Answer(text="It is planned.")),
        ),
        Rule("Read the mail", (Answer(text="There is none."),)),
    )
    model_server.follow(Script(rules=rules))
    sent = home.send("Please read my mail every morning at 9.")
    (schedule,) = home.run("schedule", "list", "--json").json
    ran = home.run("schedule", "run", "mail", "--json")

    assert sent["result"] == "It is planned."
    assert (schedule["canonical"], schedule["task"]) == ("every day at 09:00", "Read the mail.")
    assert schedule["added_by"] == sent["turn"]
    assert (ran.code, json.loads(ran.out)["result"]) == (0, "There is none.")
    assert home.run("schedule", "history", "mail", "--json").json[0]["outcome"] == "completed"


def test_an_answer_that_is_exactly_silent_is_not_delivered(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Answer(text="[SILENT]")))
    home.run("schedule", "add", "Look at the sky every day at 9", "--name", "Sky", "--yes")
    home.run("schedule", "run", "sky")
    (run,) = home.run("schedule", "history", "sky", "--json").json

    assert (run["outcome"], run["deliveries"]) == ("completed", [])
