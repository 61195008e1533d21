"""Sub-agents: sessions of their own, joined with their parent in one append at the start and at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.text.moments import iso
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until


def delegating(*goals: str, wait: bool = True, **more: object) -> Answer:
    """An answer that hands these goals to sub-agents."""
    tasks = [{"goal": goal, **more} for goal in goals]
    return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks, "wait": wait}),))


def conversations(home: Home) -> list[dict[str, Any]]:
    """The turns that users sent."""
    of = {each["session"] for each in home.run("sessions", "list", "--json").json}
    return [each for each in home.run("turns", "list", "--json").json if each["session"] in of]


def test_children_answer_side_by_side_and_their_answers_are_the_calls_result(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule(
                    "Look into both",
                    (delegating("Look at pears", "Look at plums"), Answer(text="Pears win.")),
                ),
                Rule("Look at pears", (Answer(text="Pears are sweet."),)),
                Rule("Look at plums", (Answer(text="Plums are sour."),)),
            )
        )
    )
    answered = home.run("send", "Look into both.", "--json").json
    assert answered["result"] == "Pears win."
    with home.open_log() as log:
        facts = [each.event for each in log.read(stream_of(answered["session"]))]
        (started,) = [each for each in facts if isinstance(each, e.ChildrenStarted)]
        (result,) = [each for each in facts if isinstance(each, e.ToolFinished)]
        assert [ref.goal for ref in started.children] == ["Look at pears", "Look at plums"]
        assert result.content.index("Pears are sweet.") < result.content.index("Plums are sour.")
        assert result.content.count("Status: completed (1 model call, 0 tool calls") == 2
        assert_all_is_done_once(log, [answered["turn"], *(ref.turn for ref in started.children)])
        assert_views_agree(log, home.path / "views")
    listed = home.run("sessions", "list", "--json").json
    assert [each["session"] for each in listed] == [answered["session"]]
    every = home.run("sessions", "list", "--all", "--json").json
    assert sorted(each["kind"] for each in every) == ["child", "child", "conversation"]


def test_an_answer_without_a_waiting_call_comes_as_a_message(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("[Sub-agent", (Answer(text="It says that pears are sweet."),)),
                Rule("Find out", (delegating("Look at pears", wait=False), Answer(text="It is on its way."))),
                Rule("Look at pears", (Answer(text="Pears are sweet."),)),
            )
        )
    )
    first = home.run("send", "Find out.", "--json").json
    assert first["result"] == "It is on its way."
    told = home.run("turns", "list", "--session", first["session"], "--json").json[0]
    assert told["text"].startswith("[Sub-agent session s")
    answered = home.run("turns", "wait", told["turn"], "--json").json
    assert answered["result"] == "It says that pears are sweet."


def test_the_end_of_a_child_cannot_lie(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("All three", (delegating("Work well", "Break down", "Repeat"), Answer(text="Told."))),
                Rule("Work well", (Answer(text="Done."),)),
                Rule("Break down", (Answer(text="", finish_reason="content_filter"),)),
            ),
            default=Answer(text="Over."),
        )
    )
    answered = home.run("send", "All three.", "--json").json
    with home.open_log() as log:
        facts = [each.event for each in log.read(stream_of(answered["session"]))]
    ends = {each.child: each for each in facts if isinstance(each, e.ChildEnded)}
    (started,) = [each for each in facts if isinstance(each, e.ChildrenStarted)]
    statuses = [ends[ref.session].status for ref in started.children]
    assert statuses == ["completed", "failed", "completed"]
    (result,) = [each for each in facts if isinstance(each, e.ToolFinished)]
    assert "Status: FAILED" in result.content


def test_a_cancel_goes_down_to_every_child(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Look into", (delegating("Look at pears", "Look at plums"), Answer(text="Never."))),
                Rule("Look at pears", (Hold(),)),
                Rule("Look at plums", (Hold(),)),
            )
        )
    )
    with home.start("send", "Look into both.") as running:
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        turn = conversations(home)[0]["turn"]
        home.run("turns", "cancel", turn)
        running.process.wait()
    for each in home.run("turns", "list", "--json").json:
        home.run("turns", "wait", each["turn"])
    with home.open_log() as log:
        ends = [each.event.by for each in log.tail(limit=1000) if isinstance(each.event, e.TurnCancelled)]
        assert len(ends) == 3
        assert not list(log.due(10**12))


def test_children_and_parent_survive_the_death_of_their_process(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Look into", (delegating("Look at pears", "Look at plums"), Answer(text="Both."))),
                Rule("Look at pears", (Answer(text="Sweet."),)),
                Rule("Look at plums", (Hold(answer=Answer(text="Sour.")),)),
            )
        )
    )
    with home.start("send", "Look into both.") as running:
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        running.signal(SIGKILL)
        running.process.wait()
    model_server.release()
    home.run("turns", "wait", conversations(home)[0]["turn"])
    (turn,) = conversations(home)
    assert (turn["status"], turn["result"]) == ("completed", "Both.")
    with home.open_log() as log:
        facts = [each.event for each in log.tail(limit=1000)]
        assert len([each for each in facts if isinstance(each, e.ChildEnded)]) == 2
        assert_all_is_done_once(log, [each.turn for each in facts if isinstance(each, e.TurnSubmitted)])


@pytest.fixture
def parted(home: Home, model_server: ModelServer, tmp_path: Path) -> tuple[Home, Path]:
    """An empty home, and an export of a session whose sub-agents are at work, which has none of them."""
    with at_work(home, model_server) as session, home.open_log() as log:
        alone = export_log(log, version="0", made_at=iso(0.0), streams={stream_of(session)})
        file = tmp_path / "session.jsonl"
        file.write_bytes(b"".join(alone))
    return Home(tmp_path / "elsewhere", endpoint(model_server.base_url)), file


@contextmanager
def at_work(home: Home, model_server: ModelServer) -> Iterator[str]:
    """A session whose two sub-agents are at work."""
    model_server.follow(
        Script(
            rules=(
                Rule(
                    "Look into", (delegating("Look at pears", "Look at plums"), Answer(text="Nobody knows."))
                ),
                Rule("Look at pears", (Hold(),)),
                Rule("Look at plums", (Hold(),)),
            )
        )
    )
    with home.start("send", "Look into both."):
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        yield conversations(home)[0]["session"]


@pytest.mark.parametrize(
    "command", [("export", "FILE", "--session", "ID"), ("sessions", "export", "ID", "-o", "FILE")]
)
def test_a_session_moves_with_its_sub_agents(
    home: Home, model_server: ModelServer, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file, there = tmp_path / "session.jsonl", Home(tmp_path / "elsewhere", endpoint(model_server.base_url))
    with at_work(home, model_server) as session:
        named = {"FILE": str(file), "ID": session}
        assert home.run(*(named.get(each, each) for each in command)).code == 0

    assert there.run("import", str(file)).code == 0

    (turn,) = conversations(there)
    tree = there.run("turns", "tree", turn["turn"], "--json").json
    assert (tree["status"], [each["status"] for each in tree["children"]]) == ("cancelled", ["cancelled"] * 2)
    assert there.run("events", "verify").code == 0
    with there.open_log() as log:
        assert_views_agree(log, there.path / "views")


def test_a_session_moved_with_its_sub_agents_continues_with_them(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    file, there = tmp_path / "session.jsonl", Home(tmp_path / "elsewhere", endpoint(model_server.base_url))
    with at_work(home, model_server) as session:
        assert home.run("sessions", "export", session, "-o", str(file)).code == 0
    model_server.release()

    assert there.run("import", str(file), "--resume", "--yes").code == 0

    (turn,) = conversations(there)
    assert there.run("turns", "wait", turn["turn"], "--json").json["result"] == "Nobody knows."
    with there.open_log() as log:
        assert len(list(_of(log, e.ChildEnded))) == 2
        assert_all_is_done_once(log, [turn["turn"]])
        assert_views_agree(log, there.path / "views")


def test_a_session_moved_without_its_sub_agents_gets_unknown_for_them(
    parted: tuple[Home, Path],
) -> None:
    there, file = parted
    assert there.run("import", str(file), "--resume", "--yes").code == 0
    (turn,) = conversations(there)
    assert there.run("turns", "wait", turn["turn"], "--json").json["result"] == "Nobody knows."
    with there.open_log() as log:
        (result,) = _of(log, e.ToolFinished)
        assert result.content.count("Status: UNKNOWN") == 2
        assert not result.ok
        assert_all_is_done_once(log, [turn["turn"]])
        assert_views_agree(log, there.path / "views")


def test_a_session_that_moved_without_its_sub_agents_rests_and_can_be_retried_and_deleted(
    parted: tuple[Home, Path],
) -> None:
    there, file = parted
    told = there.run("import", str(file))
    (turn,) = conversations(there)
    assert turn["status"] == "cancelled"
    assert f"Paused, turns: {turn['turn']}" in told.err
    assert there.run("turns", "retry", turn["turn"], "-q").out == "Nobody knows.\n"
    assert there.run("sessions", "delete", turn["session"], "--yes").code == 0


def test_sessions_with_sub_agents_come_into_a_home_that_has_some_of_its_own(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Look into it", (delegating("Look at pears"), Answer(text="Sweet."))),
                Rule("Look at pears", (Answer(text="Pears are sweet."),)),
            )
        )
    )
    there = Home(tmp_path / "elsewhere", endpoint(model_server.base_url))
    sent = [each.send("Look into it.") for each in (home, there)]
    file = tmp_path / "home.jsonl"
    assert home.run("export", str(file)).code == 0
    refused = there.run("import", str(file))
    assert (refused.code, "Or import its sessions alone: --sessions" in refused.err) == (2, True)
    assert there.run("import", str(file), "--sessions").code == 0
    assert there.run("events", "verify").code == 0
    assert {each["turn"] for each in conversations(there)} == {each["turn"] for each in sent}
    tree = there.run("turns", "tree", sent[0]["turn"], "--json").json
    assert [each["ended"] for each in tree["children"]] == ["completed"]
    with there.open_log() as log:
        assert_views_agree(log, there.path / "views")


def test_more_children_than_may_run_at_once_wait_for_their_places(
    home: Home, model_server: ModelServer
) -> None:
    goals = [f"Task number {number}" for number in range(7)]
    rules = [Rule(goal, (Answer(text=f"{goal} is done."),)) for goal in goals]
    model_server.follow(Script(rules=(Rule("Do all", (delegating(*goals), Answer(text="All."))), *rules)))
    answered = home.run("send", "Do all.", "--json").json
    assert answered["result"] == "All."
    with home.open_log() as log:
        running, most = set[str](), 0
        for recorded in log.read("children"):
            match recorded.event:
                case e.ChildSlotTaken(child=child):
                    running.add(child)
                case e.ChildSlotFreed(child=child):
                    running.discard(child)
                case _:
                    pass
            most = max(most, len(running))
        assert (most, running) == (3, set())


def test_children_of_children_do_not_wait_for_each_other(home: Home, model_server: ModelServer) -> None:
    rules = [
        Rule(
            "Begin at the top", (delegating(*(f"Part {number}" for number in range(3))), Answer(text="Top."))
        )
    ]
    for number in range(3):
        rules.append(Rule(f"Part {number}", (delegating(f"Leaf {number}"), Answer(text=f"P{number}"))))
        rules.append(Rule(f"Leaf {number}", (Answer(text=f"L{number}"),)))
    model_server.follow(Script(rules=tuple(rules)))
    assert home.run("send", "Begin at the top.", "--json").json["result"] == "Top."


def test_an_impossible_task_is_refused_and_nothing_begins(home: Home, model_server: ModelServer) -> None:
    wrong = (
        ({"goal": " "}, "the goal is empty"),
        ({"goal": "x", "agent": "reserch"}, "did you mean `research`?"),
        ({"goal": "x", "toolsets": ["web", "teleport"]}, "there is no toolset `teleport`"),
        ({"goal": "x", "workdir": "/"}, "outside those that may be used"),
        ({"goal": "x", "workdir": "nowhere"}, "there is no folder nowhere"),
        ({"goal": "x", "budget": 5}, "is more than the $1"),
        ({"goal": "x", "fork": True, "model": "other"}, "leave out `model`"),
    )
    calls = tuple(AskedCall("delegate", {"tasks": [task]}) for task, _ in wrong)
    many = AskedCall("delegate", {"tasks": [{"goal": "x"}] * 11})
    model_server.follow(
        Script(rules=(Rule("Try", (Answer(tool_calls=(*calls, many)), Answer(text="Refused."))),))
    )
    answered = home.run(
        "send",
        "Try.",
        "--json",
        HERMES_JOBS_BUDGETS__TURN_USD="1",
        HERMES_JOBS_MODELS__PRICES='{"scripted": 0}',
    )
    assert answered.json["result"] == "Refused."
    with home.open_log() as log:
        facts = [each.event for each in log.tail(limit=1000)]
    ended = sorted((each for each in facts if isinstance(each, e.ToolFinished)), key=lambda each: each.call)
    results = [each.content for each in ended]
    assert len(results) == len(wrong) + 1
    for (_, why), result in zip(wrong, results, strict=False):
        assert why in result, json.dumps(result)
    assert not [each for each in facts if isinstance(each, e.ChildrenStarted)]


@pytest.mark.parametrize(
    ("task", "environ", "why"),
    [
        (
            {"goal": "x", "budget": 0.5},
            {},
            "the price of `scripted` is not known, so a budget of $0.5 cannot be held",
        ),
        (
            {"goal": "x", "model": "unpriced"},
            {"HERMES_JOBS_BUDGETS__DAY_USD": "1", "HERMES_JOBS_MODELS__PRICES": '{"scripted": 0}'},
            "the price of 'unpriced' is not known",
        ),
    ],
)
def test_a_budget_that_an_unknown_price_leaves_unheld_is_refused_before_a_child_begins(
    home: Home, model_server: ModelServer, task: dict[str, Any], environ: dict[str, str], why: str
) -> None:
    asked = Answer(tool_calls=(AskedCall("delegate", {"tasks": [task]}),))
    model_server.follow(Script(rules=(Rule("Try", (asked, Answer(text="Refused."))),)))
    assert home.run("send", "Try.", "--json", **environ).json["result"] == "Refused."
    with home.open_log() as log:
        facts = [each.event for each in log.tail(limit=1000)]
    (result,) = [each for each in facts if isinstance(each, e.ToolFinished)]
    assert why in result.content
    assert not [each for each in facts if isinstance(each, e.ChildrenStarted)]


def test_a_forked_child_begins_with_its_parents_bytes(home: Home, model_server: ModelServer) -> None:
    model_server.follow(
        Script(
            rules=(
                Rule("Remember 7 and", (delegating("Say the number", fork=True), Answer(text="It was 7."))),
                Rule("Your task: Say the number", (Answer(text="7"),)),
            )
        )
    )
    assert home.run("send", "Remember 7 and delegate.", "--json").json["result"] == "It was 7."
    first, child, _last = (each.body for each in model_server.requests)
    assert child["messages"][: len(first["messages"])] == first["messages"]
    assert child["tools"] == first["tools"]
    assert child["messages"][-1]["content"].endswith("Your task: Say the number")


def test_a_forked_child_has_the_tools_of_its_turn_and_may_not_use_those_that_are_withheld(
    home: Home, model_server: ModelServer
) -> None:
    withheld = (
        AskedCall("memory", {"action": "add", "target": "memory", "content": "It was here."}),
        AskedCall("schedule", {"action": "list"}),
        AskedCall("delegate", {"tasks": [{"goal": "Remember it", "toolsets": ["memory"]}]}),
    )
    model_server.follow(
        Script(
            rules=(
                Rule("Begin", (delegating("Write it down", fork=True), Answer(text="Told."))),
                Rule("Your task: Write it down", (Answer(tool_calls=withheld), Answer(text="I may not."))),
            )
        )
    )
    sent = home.run("send", "Begin.", "--json", "--toolsets", "memory,schedule,delegate")
    assert sent.json["result"] == "Told."
    first, child, *_ = (each.body for each in model_server.requests)
    assert child["tools"] == first["tools"]
    assert {each["function"]["name"] for each in first["tools"]} >= {"memory", "schedule", "delegate"}
    with home.open_log() as log:
        assert not _of(log, memory_events.MemoryAdded)
        refused = {each.content for each in _of(log, e.ToolFinished) if not each.ok}
    assert {text.split(" Say in")[0] for text in refused if "refused" in text} == {
        "Error: refused (sub-agents may not use `memory`). Nothing was run.",
        "Error: refused (sub-agents may not use `schedule`). Nothing was run.",
    }
    assert any("you have no `memory`" in text for text in refused)


REVIEWER = """---
name: reviewer
description: Reads code and says what is wrong
tools: Read, Grep, Bash(git diff:*)
model: sonnet
budget: 0.5
---
You review code. Be blunt.
"""


def test_a_kind_of_sub_agent_is_a_markdown_file_as_claude_code_has_it(
    home: Home, model_server: ModelServer
) -> None:
    folder = home.work / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text(REVIEWER)
    (folder / "research.md").write_text("---\ndescription: takes a name that exists\n---\nNo.")
    (folder / "broken.md").write_text("---\nname: broken\n---\nNo description.")
    (home.path / "agents").mkdir(parents=True)
    (home.path / "agents" / "poet.md").write_text("---\ndescription: writes verse\n---\nRhyme.")
    listed = home.run("agents", "list", "--json").json
    assert [each["name"] for each in listed] == ["coding", "poet", "research", "reviewer"]
    assert "takes a name" not in listed[2]["description"]
    shown = home.run("agents", "show", "reviewer", "--json").json
    assert (shown["toolsets"], shown["model"], shown["budget"]) == (["files", "terminal"], None, 0.5)
    assert home.run("agents", "show", "reviewr").err.count("reviewer")
    model_server.follow(
        Script(
            rules=(
                Rule("Have it reviewed", (delegating("Review a.py", agent="reviewer"), Answer(text="Fine."))),
                Rule("Review a.py", (Answer(text="It is wrong."),)),
            )
        )
    )
    free = {"HERMES_JOBS_MODELS__PRICES": '{"scripted": 0}'}
    assert home.run("send", "Have it reviewed.", "--json", **free).json["result"] == "Fine."
    root, child, _ = (each.body for each in model_server.requests)
    assert "reviewer: Reads code and says what is wrong" in root["messages"][0]["content"]
    assert "You review code. Be blunt." in child["messages"][0]["content"]
    names = {each["function"]["name"] for each in child["tools"]}
    assert {"terminal", "read_file"} <= names
    assert not {"web_fetch", "delegate", "memory"} & names


def test_a_childs_answer_fits_its_schema_after_one_correction_or_it_has_failed(
    home: Home, model_server: ModelServer
) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    good, bad = (delegating(goal, schema=schema).tool_calls[0] for goal in ("Good child", "Bad child"))
    model_server.follow(
        Script(
            rules=(
                Rule("Ask both", (Answer(tool_calls=(good, bad)), Answer(text="Told."))),
                Rule("Good child", (Answer(text="It is 7."),)),
                Rule("Bad child", (Answer(text="No idea."),)),
                Rule("does not fit", (Answer(text='{"age": 7}'),)),
            )
        )
    )
    assert home.run("send", "Ask both.", "--json").json["result"] == "Told."
    with home.open_log() as log:
        ends = [each.event for each in log.tail(limit=1000) if isinstance(each.event, e.ChildEnded)]
    assert {(each.status, json.loads(each.answer)["age"]) for each in ends} == {("completed", 7)}


def test_a_finally_rejected_answer_counts_in_the_calls_reported_to_the_parent(
    home: Home, model_server: ModelServer
) -> None:
    asked = delegating("Bad child", schema={"type": "object"})
    model_server.follow(
        Script(
            rules=(
                Rule("Ask it", (asked, Answer(text="Failed, then."))),
                Rule("Bad child", (Answer(text="No idea."),)),
                Rule("does not fit", (Answer(text="Still none."),)),
            )
        )
    )
    home.run(
        "send", "Ask it.", "--json", HERMES_JOBS_MODELS__PRICES='{"scripted": {"input": 1, "output": 5}}'
    )
    with home.open_log() as log:
        (end,) = _of(log, e.ChildEnded)
        (booked,) = [each for each in _of(log, e.UsageRecorded) if each.num_tool_calls == 0]
        (result,) = _of(log, e.ToolFinished)
    assert (end.status, end.num_model_calls) == ("failed", 2)
    assert (end.usage.input_tokens, end.cost_usd) == (booked.input_tokens, booked.cost_usd)
    assert "FAILED (2 model calls, 0 tool calls, $" in result.content


def test_fields_that_a_model_fills_with_empty_texts_count_as_left_out_and_a_schema_may_be_a_string(
    home: Home, model_server: ModelServer
) -> None:
    blank: dict[str, Any] = {"agent": "", "model": "", "workdir": "", "context": "", "budget": ""}
    asked = (
        delegating("Fork it", fork=True, **blank),
        delegating("Fit it", schema='{"type": "object", "required": ["age"]}', **blank),
    )
    model_server.follow(
        Script(
            rules=(
                Rule(
                    "Ask both",
                    (Answer(tool_calls=tuple(each.tool_calls[0] for each in asked)), Answer(text="Told.")),
                ),
                Rule("Fork it", (Answer(text="I know it all."),)),
                Rule("Fit it", (Answer(text='{"age": 7}'),)),
            )
        )
    )
    assert home.run("send", "Ask both.", "--json").json["result"] == "Told."
    with home.open_log() as log:
        ends = {each.answer: each.status for each in _of(log, e.ChildEnded)}
    assert ends == {"I know it all.": "completed", '{"age": 7}': "completed"}


@pytest.mark.slow
def test_the_parent_gets_true_statuses_of_a_killed_a_waiting_and_an_overspending_child(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "build").mkdir()
    home.environ["HERMES_JOBS_MODELS__PRICES"] = '{"scripted": {"input": 1, "output": 5}}'
    tasks = [{"goal": "Think long"}, {"goal": "Clean the folder"}, {"goal": "Spend", "budget": 0.0000001}]
    model_server.follow(
        Script(
            rules=(
                Rule(
                    "Do all three",
                    (Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks}),)), Answer(text="All told.")),
                ),
                Rule("Think long", (Hold(answer=Answer(text="I have thought.")),)),
                Rule(
                    "Clean the folder",
                    (
                        Answer(tool_calls=(AskedCall("terminal", {"command": "rm -rf build"}),)),
                        Answer(text="It is clean."),
                    ),
                ),
            )
        )
    )
    home.path.mkdir()
    with home.open_log() as log, home.start("send", "Do all three.") as running:
        model_server.wait_until(lambda: len(model_server.requests) == 3)
        wait_until(lambda: bool(_of(log, e.ApprovalRequested)), "the question")
        running.signal(SIGKILL)
        running.process.wait()
        model_server.release()
        (asked,) = _of(log, e.ApprovalRequested)
        assert home.run("turns", "approve", asked.turn, "--no-wait").code == 0
        home.run("turns", "wait", conversations(home)[0]["turn"])
        (result,) = [each for each in _of(log, e.ToolFinished) if "[Sub-agent" in each.content]
        first, second, third = result.content.split("[Sub-agent ")[1:]
        assert "completed" in first
        assert "I have thought." in first
        assert "completed (2 model calls, 1 tool call" in second
        assert "OUT OF BUDGET (0 model calls" in third
        assert "The budget is used up" in third
        assert not (home.work / "build").exists()
        assert_all_is_done_once(log, [])
    assert conversations(home)[0]["result"] == "All told."


def _of(log: EventLog, kind: type[Any]) -> list[Any]:
    return [each.event for each in log.tail(limit=1000) if isinstance(each.event, kind)]
