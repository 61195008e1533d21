"""Several models, one answer: over the command line and the scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.references import HEAD
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Refuse, Seen
from tests.model_server import ModelServer
from tests.providers.anthropic_server import AnthropicServer

CONFIG = """
memory: {nudge_interval: 0}
models:
  prices: {one: {input: 1, output: 10}, two: {input: 2, output: 20}, judge: {input: 3, output: 30}}
  panel: {members: [one, two, one], aggregator: judge}
"""
LOOK = AskedCall("terminal", {"command": "echo seen"})


def text_of(seen: Seen) -> str:
    return "\n".join(str(message.get("content")) for message in seen.messages)


def answer(seen: Seen) -> Action:
    """Members say what they are; the judge looks with a tool where the user wants that, and then answers."""
    model = seen.body["model"]
    if model != "judge":
        return Answer(text=f"{model} thinks so", usage={"prompt_tokens": 100, "completion_tokens": 10})
    told = text_of(seen)
    if "please look" in told and told.count(HEAD) == 1 and "seen" not in told.split(HEAD)[-1]:
        return Answer(tool_calls=(LOOK,))
    return Answer(text="The judge says so.", usage={"prompt_tokens": 200, "completion_tokens": 20})


class Broken:
    """A server on which some models are broken."""

    def __init__(self, *models: str) -> None:
        self.models = models

    def __call__(self, seen: Seen) -> Action:
        return Refuse(status=400, message="No.") if seen.body["model"] in self.models else answer(seen)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer(answer).start()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Home:
    home = Home(tmp_path, endpoint(server.base_url))
    home.path.mkdir()
    (home.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return home


def asked(server: ModelServer, model: str) -> list[Seen]:
    return [seen for seen in server.requests if seen.body["model"] == model]


def test_the_members_answer_first_and_the_aggregator_sees_their_texts(
    home: Home, server: ModelServer
) -> None:
    turn = home.send("-m", "panel", "please look")
    assert turn["result"] == "The judge says so."
    assert (turn["model"], turn["ensemble"], turn["num_model_calls"]) == ("judge", "panel", 5)
    assert turn["references"] == [{"model": each, "ok": True, "why": ""} for each in ("one", "two", "one")]
    members = server.requests[:3]
    assert sorted(seen.body["model"] for seen in members) == ["one", "one", "two"]
    for seen in members:
        assert not seen.body.get("tools")
        assert seen.last_user_text == "please look"
    first, second = asked(server, "judge")
    assert first.last_user_text.startswith(HEAD)
    assert first.last_user_text.count("one thinks so") == 2
    assert second.messages[: len(first.messages)] == first.messages, "the prompt only grows"

    again = home.send("-c", "-m", "panel", "and now?")
    *_, third = asked(server, "judge")
    assert third.messages[: len(second.messages)] == second.messages
    (two,) = asked(server, "two")[1:]
    assert "[Called terminal with" in text_of(two)
    assert "seen" in text_of(two)
    assert two.messages[: len(members[0].messages)] == members[0].messages, "so does a member's"
    rows = {row["purpose"]: row for row in home.run("usage", "--by", "purpose", "--json").json}
    assert rows["reference"]["requests"] == 6
    assert rows["reference"]["cost_usd"] == pytest.approx(4 * 200e-6 + 2 * 400e-6)
    assert again["cost_usd"] == pytest.approx(2 * 200e-6 + 400e-6 + 1200e-6)
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn["turn"], again["turn"]])
        assert_views_agree(log, home.path / "views")


def test_a_member_that_fails_is_left_out_and_that_is_said(home: Home, server: ModelServer) -> None:
    server.follow(Broken("two"))
    ran = home.run("send", "-m", "panel", "which one?")
    assert ran.out == "The judge says so.\n"
    assert "the model two is left out" in ran.err
    turn = home.send("-m", "panel", "which one?")
    (out,) = [each for each in turn["references"] if not each["ok"]]
    assert out["model"] == "two"
    assert "No." in out["why"]
    assert "[Left out: two:" in asked(server, "judge")[0].last_user_text
    shown = home.run("turns", "show", turn["turn"]).out
    assert "panel: one, two left out, one, then judge" in shown
    assert "asks two" in shown


def test_where_all_members_fail_the_aggregator_answers_alone(home: Home, server: ModelServer) -> None:
    server.follow(Broken("one", "two"))
    ran = home.run("send", "-m", "panel", "which one?")
    assert ran.code == 0, ran
    assert "no other model could be asked: the aggregator answers alone" in ran.err
    assert "None: no other model could be asked" in asked(server, "judge")[0].last_user_text


def test_a_member_that_the_budget_does_not_pay_for_is_never_asked(home: Home, server: ModelServer) -> None:
    home.run("config", "set", "models.prices.two", "{input: 5000, output: 5000}")
    turn = home.send("-m", "panel", "which one?", HERMES_JOBS_BUDGETS__TURN_USD="0.5")
    assert turn["status"] == "completed"
    (out,) = [each for each in turn["references"] if not each["ok"]]
    assert out["model"] == "two"
    assert out["why"].startswith("budget: The budget is used up: budgets.turn_usd allows $0.5")
    assert (len(asked(server, "one")), len(asked(server, "two"))) == (2, 0)
    assert turn["num_model_calls"] == 3
    with home.open_log() as log:
        (refused,) = [event for event in facts_of(log) if isinstance(event, e.ReferenceFailed)]
    assert refused.model == "", "it was never called"


def test_a_session_can_begin_with_an_ensemble_and_end_with_one_model(home: Home, server: ModelServer) -> None:
    home.run("config", "set", "model.model", "panel")
    first = home.send("hello", HERMES_JOBS_MODEL="")
    assert first["ensemble"] == "panel"
    second = home.send("-c", "-m", "judge", "and now?", HERMES_JOBS_MODEL="")
    assert "ensemble" not in second
    assert len(server.requests) == 5


def test_a_scheduled_prompt_may_name_an_ensemble(home: Home, server: ModelServer) -> None:
    sentence = "Say which one every day at 9"
    added = home.run("schedule", "add", "--yes", "--model", "panel", "--json", sentence)
    assert added.code == 0, added
    ran = home.run("schedule", "run", added.json["schedule"], "--json")
    assert ran.code == 0, ran
    home.send("-m", "judge", "hello")  # works off what is due, too
    assert sorted(seen.body["model"] for seen in server.requests) == ["judge", "judge", "one", "one", "two"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("panel: {members: [], aggregator: a}", "models.panel: expected members (1 to 8) and an aggregator"),
        ("panel: {members: [a]}", "models.panel: expected members"),
        ("panel: {members: [a, other], aggregator: b}\n  other: {members: [a], aggregator: b}", "'other' is"),
        ("aliases: {panel: a}\n  panel: {members: [a], aggregator: b}", "an alias has the same name"),
        ("alases: {fast: a}", "models.alases: expected members"),
        ("alases: fast", "Unknown key 'models.alases'"),
    ],
)
def test_a_wrong_ensemble_is_refused_by_its_name(home: Home, written: str, told: str) -> None:
    (home.path / "config.yaml").write_text(f"models:\n  {written}\n", encoding="utf-8")
    ran = home.run("send", "hello")
    assert ran.code == 2
    assert told in ran.err


def test_config_sets_and_unsets_an_ensemble_by_its_name(home: Home) -> None:
    assert home.run("config", "set", "models.duo", "{members: [one, two], aggregator: two}").code == 0
    got: Any = home.run("config", "get", "models.duo", "--json")
    assert got.code == 0, got
    assert "duo: {aggregator: two, members: [one, two]}" in (home.path / "config.yaml").read_text()
    assert home.run("config", "unset", "models.duo").code == 0
    assert "duo" not in (home.path / "config.yaml").read_text()


def test_models_show_lists_the_members_of_an_ensemble_and_their_problems(home: Home) -> None:
    home.run(
        "config", "set", "models.duo", "{members: [one, 'anthropic:claude-haiku-4-5'], aggregator: judge}"
    )
    shown = home.run("models", "show", "duo", "--json", OPENAI_BASE_URL="").json
    assert [(row["role"], row["name"]) for row in shown["models"]] == [
        ("member", "one"),
        ("member", "anthropic:claude-haiku-4-5"),
        ("aggregator", "judge"),
    ]
    assert [row["input"] for row in shown["models"]] == [1.0, 1.0, 3.0]
    assert "ANTHROPIC_API_KEY is not set" in shown["models"][1]["problem"]


def test_the_prompt_of_a_member_can_be_shown(home: Home, server: ModelServer) -> None:
    turn = home.send("-m", "panel", "hello")["turn"]
    sent = home.run("turns", "show", f"{turn}-1-r1", "--prompt", "--json").json
    (there,) = asked(server, "two")
    assert (sent["model"], sent["tools"]) == ("two", [])
    assert [each["content"] for each in sent["messages"]] == ["hello"]
    assert sent["system_prompt"] == there.messages[0]["content"]
    assert home.run("turns", "show", turn, "--prompt", "--json").json["model"] == "judge"


def test_members_are_asked_again_when_a_turn_is_retried_with_an_ensemble(
    home: Home, server: ModelServer
) -> None:
    server.follow(Broken("judge"))
    failed = home.run("send", "--json", "-m", "judge", "hello")
    assert failed.code == 1
    server.follow(answer)
    ran = home.run("turns", "retry", failed.json["turn"], "-m", "panel", "--json")
    assert ran.code == 0, ran
    assert [each["ok"] for each in ran.json["references"]] == [True, True, True]


@pytest.mark.slow
def test_a_member_at_another_provider_takes_a_conversation_with_tool_calls(
    home: Home, server: ModelServer
) -> None:
    claude = AnthropicServer(lambda seen: Answer(text="Claude thinks so")).start()
    home.environ |= {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "ANTHROPIC_BASE_URL": claude.base_url}
    try:
        home.run(
            "config",
            "set",
            "models.panel",
            "{members: ['anthropic:claude-haiku-4-5', one], aggregator: judge}",
        )
        home.send("-m", "panel", "please look")
        turn = home.send("-c", "-m", "panel", "and now?")
    finally:
        claude.close()
    assert [each["ok"] for each in turn["references"]] == [True, True]
    assert "by anthropic:claude-haiku-4-5]\nClaude thinks so" in asked(server, "judge")[-1].last_user_text
    assert not claude.violations
    asked_there = claude.requests[-1].body
    assert "tools" not in asked_there
    assert "tool_use" not in str(asked_there["messages"])
    used = {row["model"] for row in home.run("usage", "--by", "model", "--json").json}
    assert {"anthropic:claude-haiku-4-5", "one", "judge"} <= used


def consulting(**arguments: Any) -> Any:
    """A server whose judge consults once and then answers."""

    def choose(seen: Seen) -> Action:
        if seen.body["model"] != "judge":
            return answer(seen)
        if seen.rounds == 0:
            return Answer(tool_calls=(AskedCall("consult", {"question": "Tea or coffee?", **arguments}),))
        return Answer(text="Tea.")

    return choose


def test_the_agent_can_consult_other_models(home: Home, server: ModelServer) -> None:
    server.follow(consulting())
    turn = home.send("-m", "judge", "which one?")
    assert turn["result"] == "Tea."
    members = [seen for seen in server.requests if seen.body["model"] != "judge"]
    assert sorted(seen.body["model"] for seen in members) == ["one", "one", "two"]
    assert {seen.last_user_text for seen in members} == {"Tea or coffee?"}
    assert not any(seen.body.get("tools") for seen in members)
    (result,) = [each for each in server.requests[-1].messages if each["role"] == "tool"]
    assert result["content"].count("[one]\none thinks so") == 2
    rows = {row["purpose"]: row["requests"] for row in home.run("usage", "--by", "purpose", "--json").json}
    assert rows == {"turn": 2, "reference": 3}
    assert turn["num_model_calls"] == 5


def test_a_consultation_that_the_budget_does_not_pay_for_is_not_made(home: Home, server: ModelServer) -> None:
    server.follow(consulting(models=["two"]))
    home.run("config", "set", "models.prices.two", "{input: 5000, output: 5000}")
    turn = home.send("-m", "judge", "which one?", HERMES_JOBS_BUDGETS__TURN_USD="0.5")
    assert turn["result"] == "Tea."
    assert asked(server, "two") == []
    (result,) = [each for each in server.requests[-1].messages if each["role"] == "tool"]
    assert result["content"].startswith("Error: The budget is used up: budgets.turn_usd allows $0.5")


def test_without_an_ensemble_there_is_no_consult(home: Home, server: ModelServer) -> None:
    offered = [tool["function"]["name"] for tool in _tools(home, server)]
    assert "consult" in offered
    home.run("config", "unset", "models.panel")
    assert "consult" not in [tool["function"]["name"] for tool in _tools(home, server)]


def _tools(home: Home, server: ModelServer) -> Any:
    home.send("-m", "one", "hello")
    return server.requests[-1].body["tools"]
