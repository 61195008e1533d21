"""What people see of sub-agents: trees, sums at the root, and questions that come up where they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hermes_jobs.kernel import events as e
from hermes_jobs.text.figures import money
from tests.e2e.screen import Screen
from tests.e2e.test_chat import chatting, happened, say
from tests.e2e.test_delegation import delegating
from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer

PRICES = '{"scripted": {"input": 2, "output": 10}}'
ASKS = AskedCall("terminal", {"command": "rm -rf build"})


def two_levels() -> Script:
    """A turn with two sub-agents, one of which has one of its own."""
    return Script(
        rules=(
            Rule("Look into both", (delegating("Look at pears", "Look at plums"), Answer(text="Pears win."))),
            Rule("Look at pears", (Answer(text="Pears are sweet."),)),
            Rule("Look at plums", (delegating("Taste one"), Answer(text="Plums are sour."))),
            Rule("Taste one", (Answer(text="Sour."),)),
        )
    )


def turns_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tree's turns, each before those below it."""
    yield tree
    for child in tree["children"]:
        yield from turns_of(child)


def test_any_turn_of_a_tree_shows_all_of_it_with_sums_at_its_root(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(two_levels())
    root = home.send("Look into both.", HERMES_JOBS_MODELS__PRICES=PRICES)
    tree = home.run("turns", "tree", "last", "--json").json
    assert (tree["turn"], tree["session"], tree["status"]) == (root["turn"], root["session"], "completed")
    assert [child["goal"] for child in tree["children"]] == ["Look at pears", "Look at plums"]
    every = list(turns_of(tree))
    assert [each["depth"] for each in every] == [0, 1, 1, 2]
    assert [each["ended"] for each in every] == [None, "completed", "completed", "completed"]
    for key in ("num_model_calls", "num_tool_calls", "cost_usd"):
        assert round(tree["total"][key] - sum(each[key] for each in every), 9) == 0
    leaf = every[-1]["turn"]
    assert home.run("turns", "tree", leaf, "--json").json == tree
    shown = home.run("turns", "tree", leaf).out
    assert [line.split()[-5] for line in shown.splitlines()[1:5]] == ["completed"] * 4
    assert f"   └─ {leaf}  Taste one" in shown
    assert "All 4 turns" in shown
    assert "Look at plums" in home.run("turns", "show", root["turn"]).out
    page = home.path / "page.html"
    assert home.run("turns", "show", root["turn"], "--html", str(page)).code == 0
    assert "<td>All 4 turns</td>" in page.read_text()
    assert "Taste one<small><code>" in page.read_text()
    assert "Look at pears · Look at plums" in page.read_text()
    assert re.search(r"\$\d[.\d]* with sub-agents", page.read_text())
    assert home.turn(root["turn"])["children"] == tree["children"]


def test_the_cost_of_a_tree_is_at_its_root_and_counts_once(home: Home, model_server: ModelServer) -> None:
    model_server.follow(two_levels())
    root = home.send("Look into both.", HERMES_JOBS_MODELS__PRICES=PRICES)["turn"]
    other = home.send("Something else.", HERMES_JOBS_MODELS__PRICES=PRICES)["turn"]
    rows = home.run("usage", "--by", "root", "--json").json
    assert {row["root"]: row["turns"] for row in rows} == {root: 4, other: 1}
    for key in ("requests", "input_tokens", "cost_usd"):
        sums = [
            round(sum(row[key] for row in home.run("usage", "--by", by, "--json").json), 9)
            for by in ("root", "session", "model", "day")
        ]
        assert len(set(sums)) == 1
    tree = home.run("turns", "tree", root, "--json").json
    dearest = max(rows, key=lambda row: row["cost_usd"])
    assert round(dearest["cost_usd"] - tree["total"]["cost_usd"], 9) == 0


def test_the_line_below_an_answer_and_cost_in_a_chat_count_the_sub_agents(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(two_levels())
    home.environ["HERMES_JOBS_MODELS__PRICES"] = PRICES
    with Screen(home, "send", "Look into both.", columns=100) as screen:
        screen.shows("Pears win.")
        assert screen.end() == 0
    total = home.run("turns", "tree", "last", "--json").json["total"]
    assert f"{money(total['cost_usd'])} with sub-agents · " in screen.text
    with chatting(home, "-c") as screen:
        say(screen, "/cost")
        screen.shows(f"Its sub-agents: {total['num_model_calls'] - 2} model calls, $")
        say(screen, "Something else.")
        screen.shows("You said: Something else.\n· ")
        happened(home, e.TurnCompleted, 5)
    below = screen.text.rpartition("You said: Something else.\n")[2].partition("\n")[0]
    assert re.fullmatch(r"· \S+ m?s · \$0\.00\d\d · turn t\w+", below)


def test_sessions_of_sub_agents_name_their_parent_and_the_root(home: Home, model_server: ModelServer) -> None:
    model_server.follow(two_levels())
    root = home.send("Look into both.")["session"]
    every = {each["session"]: each for each in home.run("sessions", "list", "--all", "--json").json}
    children = {each["preview"]: each for each in every.values() if each["kind"] == "child"}
    middle = children["Look at plums"]
    assert (middle["parent"], middle["root"]) == (root, root)
    assert (children["Taste one"]["parent"], children["Taste one"]["root"]) == (middle["session"], root)
    assert (every[root]["kind"], every[root]["parent"], every[root]["root"]) == ("conversation", None, None)
    assert f"below {root}" in home.run("sessions", "show", children["Taste one"]["session"]).out
    assert "child" in home.run("sessions", "list", "--all").out


def test_sub_agents_are_counted_by_depth_and_how_they_ended(home: Home, model_server: ModelServer) -> None:
    model_server.follow(two_levels())
    home.send("Look into both.")
    counted = home.run("metrics").out
    assert 'hermes_jobs_sub_agents_total{depth="1",status="completed"} 2.0' in counted
    assert 'hermes_jobs_sub_agents_total{depth="2",status="completed"} 1.0' in counted


def one_asks() -> Script:
    """A turn with two sub-agents, the first of which wants to delete a folder."""
    return Script(
        rules=(
            Rule("Tidy up", (delegating("Clean the folder", "Look at plums"), Answer(text="Told."))),
            Rule("Clean the folder", (Answer(tool_calls=(ASKS,)), Answer(text="It is clean."))),
            Rule("Look at plums", (Answer(text="Plums are sour."),)),
        )
    )


def test_a_sub_agents_question_is_shown_at_the_root_and_answered_by_its_id(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "build").mkdir()
    model_server.follow(one_asks())
    with home.start("send", "Tidy up.") as sending:
        sending.wait_for("waits for you")
        (root,) = home.run("turns", "list", "--status", "waiting", "--json").json
        tree = home.run("turns", "tree", "last", "--json").json
        cleaner, other = tree["children"]
        assert root["turn"] == tree["turn"]
        assert f"{root['turn']} › {cleaner['turn']}: Clean the folder waits for you" in sending.err
        assert f"turns approve {cleaner['turn']} --call {cleaner['turn']}-1-0" in sending.err
        assert cleaner["status"] == "waiting"
        home.run("turns", "wait", other["turn"])
        shown = home.run("turns", "show", root["turn"])
        assert f"{root['turn']} › {cleaner['turn']} waits for you: terminal rm -rf build" in shown.err
        inbox = home.run("inbox", "list")
        assert f"{root['turn']} › {cleaner['turn']} waits for you: terminal rm -rf build" in inbox.err
        assert f"hermes-jobs turns approve {root['turn']}" in inbox.err
        assert home.run("turns", "approve", root["turn"], "--no-wait").code == 0
        assert home.run("inbox", "list").err.strip() == "Nothing unread."
        assert sending.end().out.strip() == "Told."
    assert not (home.work / "build").exists()


def test_a_sub_agent_that_asks_after_the_turn_at_its_root_has_ended_is_answered_by_that_turns_id(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "build").mkdir()
    model_server.follow(
        Script(
            rules=(
                Rule("[Sub-agent", (Answer(text="It is tidy."),)),
                Rule("Tidy up", (delegating("Clean the folder", wait=False), Answer(text="On its way."))),
                Rule("Clean the folder", (Answer(tool_calls=(ASKS,)), Answer(text="It is clean."))),
            )
        )
    )
    root = home.send("Tidy up.")
    asked = home.run("inbox", "list", "--json")
    assert (asked.json, f"hermes-jobs turns approve {root['turn']}" in asked.err) == ([], True)
    approved = home.run("turns", "approve", root["turn"])
    assert (approved.code, approved.out) == (0, "It is clean.\n")
    assert not (home.work / "build").exists()
    told = home.run("turns", "list", "--session", root["session"], "--json").json[0]
    assert home.run("turns", "wait", told["turn"], "-q").out == "It is tidy.\n"


def test_a_sub_agents_question_is_asked_on_the_spot(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(one_asks())
    with Screen(home, "send", "Tidy up.", columns=100) as screen:
        screen.shows("r no, and why")
        assert "? A sub-agent asks to run a command" in screen.text
        assert ": Clean the folder" in screen.text
        assert "s its session" in screen.text
        screen.type("n")
        screen.shows("Refused.")
        screen.shows("Told.")
        assert screen.end() == 0
    assert (home.work / "build").exists()


def test_a_sub_agents_question_is_asked_and_answered_in_a_chat(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(one_asks())
    with chatting(home) as screen:
        say(screen, "Tidy up.")
        screen.shows("? A sub-agent asks to run a command")
        screen.shows("waits for you: y, ")  # in the line below the prompt: a key answers from now on
        screen.type("y")
        screen.shows("Allowed once.")
        screen.shows("Told.")
        happened(home, e.TurnCompleted, 3)
    assert not (home.work / "build").exists()


def test_a_sub_agent_can_be_cancelled_and_its_parent_gets_the_status(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Look into both", (delegating("Look at pears", "Look at plums"), Answer(text="Told."))),
                Rule("Look at pears", (Hold(),)),
                Rule("Look at plums", (Answer(text="Plums are sour."),)),
            )
        )
    )
    with home.start("send", "Look into both.") as sending:
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        pears, plums = home.run("turns", "tree", "last", "--json").json["children"]
        assert home.run("turns", "cancel", pears["turn"]).code == 0
        assert sending.end().out.strip() == "Told."
    tree = home.run("turns", "tree", plums["turn"], "--json").json
    assert [child["ended"] for child in tree["children"]] == ["cancelled", "completed"]


def test_a_chat_cancels_a_sub_agent_by_the_beginning_of_its_id(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Look into both", (delegating("Look at pears", "Look at plums"), Answer(text="Told."))),
                Rule("Look at", (Hold(),)),
            )
        )
    )
    with chatting(home) as screen:
        say(screen, "Look into both.")
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        say(screen, "/cancel s")
        screen.shows("More than one sub-agent has the id 's'.")
        say(screen, "/cancel nobody")
        screen.shows("No sub-agent at work has the id 'nobody'.")
        children = home.run("turns", "tree", "last", "--json").json["children"]
        for child, goal in zip(children, ("Look at pears", "Look at plums"), strict=True):
            say(screen, f"/cancel {child['turn'][:-2]}")
            screen.shows(f"Cancelled: {goal}")
        screen.shows("Told.")


def test_a_text_steers_a_sub_agent_that_runs(home: Home, model_server: ModelServer) -> None:
    look = Answer(tool_calls=(AskedCall("terminal", {"command": "echo pears"}),))
    model_server.follow(
        Script(
            rules=(
                Rule("Look into it", (delegating("Look at pears"), Answer(text="Told."))),
                Rule("Look at pears", (Hold(answer=look), Answer(text="Pears are sweet."))),
            )
        )
    )
    with home.start("send", "Look into it.") as sending:
        model_server.wait_until(lambda: len(model_server.requests) == 2)
        (pears,) = home.run("turns", "tree", "last", "--json").json["children"]
        steered = home.run(
            "send", "-s", pears["session"], "--if-busy", "steer", "--no-wait", "Only green ones."
        )
        assert steered.code == 0, steered
        model_server.release()
        assert sending.end().out.strip() == "Told."
    asked = [each.body["messages"] for each in model_server.requests]
    assert any("Only green ones." in str(messages[-1]["content"]) for messages in asked)


def test_training_data_has_the_answers_of_sub_agents_and_not_their_conversations(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(two_levels())
    root = home.send("Look into both.")
    [line] = home.run("export", "--format", "sharegpt", "--no-system", "-").out.splitlines()
    told = json.loads(line)
    assert told["id"] == root["session"]
    assert [each["from"] for each in told["conversations"]] == ["human", "gpt", "tool", "gpt"]
    assert "Pears are sweet." in told["conversations"][2]["value"]
    [line] = home.run("export", "--format", "openai", "--no-system", "-").out.splitlines()
    _user, call, result, answer = json.loads(line)["messages"]
    assert [each["function"]["name"] for each in call["tool_calls"]] == ["delegate"]
    assert "Plums are sour." in result["content"]
    assert answer["content"] == "Pears win."
    shown = home.run("sessions", "export", root["session"], "--format", "md").out
    assert "Status: completed" in shown


def test_a_deleted_root_takes_its_sub_agents_texts_with_it(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Find", (delegating("Look for zanzibar", "See zanzibar", fork=True), Answer(text="."))),
                Rule("Your task", (Answer(text="Zanzibar is an island."),)),
            )
        )
    )
    root = home.send("Find it.")
    assert home.files_holding("zanzibar")
    deleted = home.run("sessions", "delete", root["session"], "--yes")
    assert deleted.code == 0, deleted
    assert not home.files_holding("zanzibar")
    assert not home.files_holding("Zanzibar")
    assert home.run("events", "verify").code == 0


def test_a_sub_agent_that_is_deleted_alone_leaves_its_answer_to_its_parent_and_says_so(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(two_levels())
    root = home.send("Look into both.")
    pears = home.run("turns", "tree", "last", "--json").json["children"][0]["session"]
    deleted = home.run("sessions", "delete", pears, "--yes")
    assert f"stays: its task and its answer in session {root['session']}" in deleted.err
    assert home.run("events", "verify").code == 0
    exported = home.run("sessions", "export", root["session"]).out
    assert "Pears are sweet." in exported
    assert "Pears are sweet." not in home.run("sessions", "export", pears).out
    assert home.run("sessions", "delete", root["session"], "--yes").code == 0
    assert not home.files_holding("Pears are sweet.")


def test_a_root_whose_sub_agents_are_at_work_is_not_deleted(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Find", (delegating("Look at pears", wait=False), Answer(text="On its way."))),
                Rule("Look at pears", (Hold(),)),
            ),
            default=Answer(text="Well."),
        )
    )
    with home.start("send", "Find it."):
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        session = home.run("sessions", "list", "--json").json[0]["session"]
        refused = home.run("sessions", "delete", session, "--yes")
    assert refused.code == 1
    assert "busy" in refused.err or "at work" in refused.err
