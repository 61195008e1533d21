"""Claude over the command line, at a strict server of the Messages API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.e2e.screen import Screen
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Hold, Refuse, Rule, Script, Seen, chooser
from tests.providers.anthropic_server import AnthropicServer
from tests.tables import nightly, slow

KEY = "sk-ant-nobody-may-ever-see-this"
SUMMARY = "## Active Task\nLooking.\n## Goal\nTo have looked.\n## Completed Actions\n1. terminal: looked.\n"


def terminal(*commands: str) -> tuple[AskedCall, ...]:
    return tuple(AskedCall("terminal", {"command": command}) for command in commands)


RULES = Script(
    rules=(
        Rule(
            "five rounds",
            (*(Answer(tool_calls=terminal(f"echo {n}")) for n in range(5)), Answer(text="Five.")),
        ),
        Rule(
            "side by side",
            (
                Answer(
                    text="I look. 看🙂", tool_calls=terminal("echo one", "cat no-such-file", "printf 好🎉")
                ),
                Answer(text="Looked: 好🎉"),
            ),
        ),
        Rule("You have used all", (Answer(text="Closing."),)),
        Rule("on and on", tuple(Answer(tool_calls=terminal(f"echo {n}")) for n in range(20))),
        Rule("This is a review", (Answer(text="Nothing to save."),)),
    ),
)
BY_RULES = chooser(RULES)


def reply(seen: Seen) -> Action:
    return Answer(text=SUMMARY) if "checkpoint" in seen.messages[0]["content"] else BY_RULES(seen)


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    server = AnthropicServer(reply, thinks="Let me see. 想想").start()
    yield server
    server.close()


def home_at(folder: Path, server: AnthropicServer, **environ: str) -> Home:
    return Home(folder, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.base_url, **environ})


def test_a_key_alone_is_enough_to_start(tmp_path: Path, claude: AnthropicServer) -> None:
    home = home_at(tmp_path, claude)
    assert home.run("send", "Hello").out == "You said: Hello\n"
    assert home.send("-m", "claude-sonnet-4-5", "Hello")["model"] == "claude-sonnet-4-5"
    assert claude.requests[0].body["model"].startswith("claude-")
    assert not claude.violations
    assert home.files_holding(KEY) == []


def test_claude_names_a_session_of_a_terminal(tmp_path: Path, claude: AnthropicServer) -> None:
    home = home_at(tmp_path, claude)
    with Screen(home, "send", "Hello") as screen:
        assert screen.end() == 0
    (session,) = home.run("sessions", "list", "--json").json
    assert session["title"] == "A scripted conversation"
    assert (len(claude.titles), claude.violations) == (1, [])


@pytest.mark.slow
def test_most_of_a_tool_loop_and_of_the_turn_after_it_is_read_from_the_cache(
    tmp_path: Path, claude: AnthropicServer
) -> None:
    home = home_at(tmp_path, claude, HERMES_JOBS_MODEL="claude-sonnet-4-5")
    turn = home.send("five rounds")
    home.send("-c", "And thanks")
    assert len(claude.requests) == 7
    assert claude.share_read >= 0.75
    used = claude.reported[:6]
    assert turn["usage"]["cache_read_tokens"] == sum(each["cache_read_input_tokens"] for each in used)
    assert turn["usage"]["cache_write_tokens"] == sum(each["cache_creation_input_tokens"] for each in used)
    assert not claude.violations


@pytest.mark.slow
@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_one_hour_cache_writes_are_booked_as_such(tmp_path: Path, claude: AnthropicServer, ttl: str) -> None:
    home = home_at(tmp_path, claude, HERMES_JOBS_MODEL="claude-sonnet-4-5", HERMES_JOBS_MODEL__CACHE_TTL=ttl)
    home.send("Hello")
    with home.open_log() as log:
        (said,) = [fact for fact in facts_of(log) if isinstance(fact, e.ModelReplied)]
    written = said.usage.cache_write_tokens
    assert written > 1_000
    assert (said.usage.cache_write_1h_tokens or 0) == (written if ttl == "1h" else 0)
    assert not claude.violations


@pytest.mark.parametrize("name", [*slow("claude-opus-4-8"), *nightly("claude-sonnet-4-5")])
def test_a_long_session(tmp_path: Path, claude: AnthropicServer, name: str) -> None:
    home = home_at(
        tmp_path,
        claude,
        HERMES_JOBS_MODEL=name,
        HERMES_JOBS_MODEL__REASONING_EFFORT="medium",
        HERMES_JOBS_AGENT__MAX_ITERATIONS="4",
        HERMES_JOBS_MEMORY__NUDGE_INTERVAL="3",
        HERMES_JOBS_COMPRESSION__PROTECT_LAST_N="2",
        HERMES_JOBS_COMPRESSION__TARGET_RATIO="0.1",
        HERMES_JOBS_MODEL__CONTEXT_LENGTH="30000",
    )
    first = home.send("side by side " + "and so on " * 400)
    session = first["session"]
    assert (first["result"], first["num_tool_calls"]) == ("Looked: 好🎉", 3)
    assert first["usage"]["reasoning_tokens"] > 0

    claude.follow(Script(sequence=(Hold(first="It begins and "),), rules=RULES.rules))
    with home.start("send", "-s", session, "Something long") as running:
        claude.wait_until(lambda: len(claude.requests) == 3)
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        assert home.run("turns", "cancel", turn).code == 0
        assert running.end().code != 0
    overloaded = Refuse(status=529, message="Overloaded", headers={"retry-after": "0"})
    claude.follow(Script(sequence=(overloaded,), rules=RULES.rules))
    assert home.send("-s", session, "side by side again " + "and so on " * 400)["num_model_calls"] >= 2

    claude.follow(reply)
    closed = home.send("-s", session, "on and on")
    assert (closed["result"], closed["stopped_by"]) == ("Closing.", "max_iterations")
    assert claude.requests[-1].body["tool_choice"] == {"type": "none"}

    assert home.run("sessions", "compress", session).code == 0
    after = home.send("-s", session, "side by side after it")
    fork = home.run("sessions", "fork", session).out.strip()
    assert home.send("-s", fork, "side by side in the fork")["result"] == after["result"] == "Looked: 好🎉"

    with home.open_log() as log:
        facts = facts_of(log)
        assert_all_is_done_once(log, [])
        assert_views_agree(log, home.path / "views")
    assert [fact for fact in facts if isinstance(fact, e.ReviewCompleted)]
    assert [fact for fact in facts if isinstance(fact, e.ContextCompressed)]
    replies = [fact for fact in facts if isinstance(fact, e.ModelReplied)]
    assert all(fact.usage.prompt_tokens and fact.usage.output_tokens for fact in replies)
    assert all(fact.notes == () for fact in replies)
    assert all(fact.payload is not None for fact in replies)
    assert claude.violations == []
    assert home.files_holding(KEY) == []
