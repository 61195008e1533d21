"""Schedules through the command line before a model: what the rules cannot read, and what the agent plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_jobs.features.schedules import events as e
from tests.e2e.invariants import facts_of
from tests.home import Home
from tests.model_script import Answer, AskedCall, Refuse, Rule, Script
from tests.model_server import ModelServer

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def proposing(**proposal: str) -> Script:
    """A model that proposes this whatever it is asked."""
    return Script(default=Answer(tool_calls=(AskedCall("propose", proposal),), usage=USAGE))


def test_a_model_reads_sentences_that_the_rules_cannot(home: Home, model_server: ModelServer) -> None:
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


def test_the_models_reading_is_booked_whatever_its_outcome(home: Home, model_server: ModelServer) -> None:
    model_server.follow(proposing(timing="every day at 03:00", task="Water the plants"))
    home.run("schedule", "add", "Water the plants whenever they are thirsty", "--yes")
    with home.open_log() as log:
        (booked,) = [fact for fact in facts_of(log) if isinstance(fact, e.ScheduleWorded)]
    rows = home.run("usage", "--by", "purpose", "--json").json

    assert (booked.proposed, booked.usage.total_tokens) == ("every day at 03:00", 120)
    assert [row["requests"] for row in rows if row["purpose"] == "schedule"] == [1]


def test_calls_missing_in_a_schedules_cost_are_named(home: Home, model_server: ModelServer) -> None:
    model_server.follow(proposing(timing="every Monday at 09:00", task="Gieße die Pflanzen"))
    plan = home.run("schedule", "add", "Gieße die Pflanzen jeden Montag um 9 Uhr", "--yes", "--json").json
    home.run("schedule", "add", "Water the plants every day at 8", "--yes", "--name", "plants")

    assert (
        "Not in it     1 call of scripted without a price"
        in home.run("schedule", "show", plan["schedule"]).out
    )
    assert "Not in it" not in home.run("schedule", "show", "plants").out


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


def test_a_run_works_in_the_folder_where_the_schedule_was_added(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    call = Answer(tool_calls=(AskedCall("read_file", {"path": "sky.txt"}),))
    model_server.follow(Script(rules=(Rule("Look", (call, Answer(text="Seen."))),)))
    (home.work / "sky.txt").write_text("all blue")
    (tmp_path / "other").mkdir()
    home.run("schedule", "add", "Look at the sky every day at 9", "--name", "Sky", "--yes")
    assert home.run("schedule", "show", "sky", "--json").json["workdir"] == str(home.work)
    assert home.run("schedule", "run", "sky", "--json").json["result"] == "Seen."
    assert "all blue" in str(model_server.requests[-1].messages)

    edited = home.run("schedule", "edit", "sky", "--workdir", "../other")
    assert (edited.code, "folder  ~/other" in edited.err) == (0, True), edited
    assert "Folder        ~/other" in home.run("schedule", "show", "sky").out
    (session, *_) = home.run("sessions", "list", "--json").json
    continued = home.run("schedule", "edit", "sky", "--session", session["session"], "--json").json
    assert (continued["workdir"], continued["session"]) == (None, session["session"])
    assert home.run("schedule", "edit", "sky", "--workdir", "../other").code == 2
    assert home.run("schedule", "edit", "sky", "--session", "none", "--json").json["workdir"] == str(
        home.work
    )


def test_a_run_whose_every_tool_call_was_refused_is_no_success(home: Home, model_server: ModelServer) -> None:
    calls = (AskedCall("read_file", {"path": "sky.txt"}), AskedCall("terminal", {"command": "date"}))
    refused = (Answer(tool_calls=calls), Answer(text="I could not look."))
    model_server.follow(Script(rules=(Rule("Look", refused),)))
    added = home.run("schedule", "add", "Look every day at 9", "--name", "Sky", "--yes", "--workdir", "none")
    assert "Warning: its runs have no working folder" in added.err

    ran = home.run("schedule", "run", "sky", "--json")
    assert (ran.code, ran.json["status"], ran.json["stopped_by"]) == (1, "completed", "refused")
    (run,) = home.run("schedule", "history", "sky", "--json").json
    assert run["outcome"] == "failed"
    assert run["message"].startswith(
        "every tool call was refused; the first: this session has no working folder"
    )
    (delivery,) = home.run("inbox", "list", "--json").json
    assert (delivery["ok"], delivery["text"].splitlines()[0]) == (False, "I could not look.")
    assert home.run("schedule", "show", "sky", "--json").json["failures"] == 1


def test_a_run_with_one_tool_call_that_was_allowed_is_a_success(
    home: Home, model_server: ModelServer
) -> None:
    calls = (AskedCall("read_file", {"path": "/etc/passwd"}), AskedCall("terminal", {"command": "exit 3"}))
    model_server.follow(Script(rules=(Rule("Look", (Answer(tool_calls=calls), Answer(text="Seen."))),)))
    home.run("schedule", "add", "Look every day at 9", "--name", "Sky", "--yes")
    assert home.run("schedule", "run", "sky", "--json").json["stopped_by"] is None
    (run,) = home.run("schedule", "history", "sky", "--json").json
    assert run["outcome"] == "completed"


def test_a_refused_run_that_would_be_silent_is_delivered(home: Home, model_server: ModelServer) -> None:
    call = Answer(tool_calls=(AskedCall("terminal", {"command": "date"}),))
    model_server.follow(Script(rules=(Rule("Look", (call, Answer(text="[SILENT]"))),)))
    home.run("schedule", "add", "Look every day at 9", "--name", "Sky", "--yes", "--workdir", "none")
    home.run("schedule", "run", "sky")
    (delivery,) = home.run("inbox", "list", "--json").json
    assert not delivery["ok"]
    assert delivery["text"].startswith("This request failed: every tool call was refused")
