"""A conversation with files, compressed again and again: its layers, and what is archived found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import is_flush, is_summary

WORK = {
    "notes": AskedCall("write_file", {"path": "notes.md", "content": "Port 8080.\n"}),
    "check": AskedCall("terminal", {"command": "test -d missing"}),
    "list": AskedCall("terminal", {"command": "ls"}),
}
FACTS = 60


def scripted(seen: Seen) -> Action:
    """Does the work that a text names, then talks; summarises each time with other facts."""
    if is_summary(seen):
        number = len([each for each in seen.last_user_text.split() if each.startswith("step-")])
        facts = "\n".join(
            f"{n}. Fact {n} of those about {number} steps, told at some length so that it takes room."
            for n in range(FACTS)
        )
        lists = "## Key Decisions\n- Port 8080 it is.\n## Remaining Work\n- Mend the check."
        return Answer(text=f"## Active Task\nGo on.\n## Completed Actions\n{facts}\n{lists}")
    if is_flush(seen):
        return Answer(text="Nothing.")
    call = next((call for word, call in WORK.items() if word in seen.last_user_text), None)
    if call is not None and seen.rounds == 0:
        return Answer(tool_calls=(call,))
    if "what was it" in seen.last_user_text and seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("recall_compacted", {"query": "zanzibar"}),))
    return Answer(text="Done. " + "blah " * 3_000)


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    model_server.follow(scripted)
    small = {
        "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "64000",
        "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "0",
        "HERMES_JOBS_COMPRESSION__THRESHOLD": "0.1",
        "HERMES_JOBS_COMPRESSION__TARGET_RATIO": "0.1",
        "HERMES_JOBS_COMPRESSION__ENABLED": "false",
    }
    return Home(tmp_path, {**endpoint(model_server.base_url), **small})


def test_a_person_sees_the_layers_and_the_state_and_the_model_finds_archived_lines(
    home: Home, model_server: ModelServer
) -> None:
    first = home.send("Hello", "--mode", "full")["session"]
    turns = ("check, and zanzibar is the word", "notes", "list", "and so on", "more", "still more")
    for number, words in enumerate(turns, start=1):
        home.send(f"{words} step-{number}", "-s", first, "--mode", "full")
        if number % 2 == 0:
            done = home.run("sessions", "compress", first)
            assert done.code == 0, done.err

    told = home.run("sessions", "summary", first, "--json").json
    assert told["compressions"] == 3
    assert told["recent"].startswith("## Active Task\nGo on.")
    assert (told["decisions"], told["open_ends"]) == (["Port 8080 it is."], ["Mend the check."])
    assert told["commands"] == [
        {"command": "ls", "outcome": "ok, exit code 0"},
        {"command": "test -d missing", "outcome": "failed, exit code 1"},
    ]
    assert told["files"] == [{"path": "notes.md", "tools": ["write_file"], "outcome": "ok"}]
    assert told["earlier"][0]["lines"]
    assert told["archived"]["lines"] > 0
    archived = told["archived"]["session"]
    assert home.run("sessions", "show", archived, "--json").json["session"] == told["session"] != archived

    shown = home.run("sessions", "summary", archived).out
    for heading in ("Recent", "Open ends", "Decisions", "Commands", "Files", "Earlier", "Archived"):
        assert f"\n{heading}" in shown
    assert f"from session {archived} on" in shown

    home.send("what was it?", "-s", first)
    found = [m["content"] for m in model_server.requests[-1].messages if m["role"] == "tool"][-1]
    assert "zanzibar is the word" in found
    asked = "\n".join(str(each["content"]) for each in model_server.requests[-1].messages[:-2])
    assert asked.count("<context-summary>") == 1
    assert "zanzibar" not in asked.partition("what was it?")[0]


def test_a_session_without_a_summary_says_so(home: Home) -> None:
    session = home.send("Hello")["session"]
    done = home.run("sessions", "summary", session)
    assert (done.code, done.out) == (0, "")
    assert "it was not compressed" in done.err


def test_a_short_conversation_is_not_compressed_and_the_reason_names_the_setting(
    home: Home, model_server: ModelServer
) -> None:
    session = home.send("hello")["session"]
    refused = home.run("sessions", "compress", session)
    assert refused.code == 1
    assert "always kept (compression.protect_last_n)" in refused.err, refused.err


def test_a_compression_that_would_save_nothing_is_refused_before_anything_is_paid(
    home: Home, model_server: ModelServer
) -> None:
    session = home.send("hello")["session"]
    before = len(model_server.requests)

    for _ in range(2):
        assert home.run("sessions", "compress", session).code == 1
    assert len(model_server.requests) == before
    assert home.send("-s", session, "go on")["session"] == session, "no other session has begun"
