"""`kill -9` while texts are removed: once the log has forgotten them, nothing is left anywhere soon after.

A living worker completes the removal by itself, or else the next command does.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hermes_jobs.kernel.log.factory import open_log
from tests.faults.crew import Crew, wait_until
from tests.faults.dying_forgetting import PARTS
from tests.home import Home
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer

TABLES = ("SELECT data FROM events", "SELECT content FROM results", "SELECT key FROM keys")
NOTHING_RECORDED = ("search", "typed", "record")
"""The parts before which a kill leaves the log as it was."""


def tells(seen: Seen) -> Action:
    """Says the last word of the request in a memory entry, a large result, a file and the answer."""
    word = seen.last_user_text.split()[-1]
    if seen.rounds:
        return Answer(text=f"I will remember {word}.")
    return Answer(
        tool_calls=(
            AskedCall("memory", {"action": "add", "target": "user", "content": f"Lives in {word}"}),
            AskedCall("terminal", {"command": f"for i in $(seq 400); do echo {word} line $i; done"}),
            AskedCall("write_file", {"path": f"{word}.txt", "content": f"A file from {word}"}),
        )
    )


def places_of(word: str, folder: Path) -> list[str]:
    """The files that hold the word; files that go meanwhile hold nothing."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and word in path.read_bytes().decode("utf-8", "replace").casefold():
                found.append(str(path))
        except FileNotFoundError:
            continue
    return found


def left(word: str, folder: Path) -> str:
    """Where it is, for a failed test."""
    return f"the end of {word} in {places_of(word, folder)}"


def is_gone(word: str, folder: Path) -> bool:
    """Whether no file of the home or of a log beside it holds the word: those of the agent's work may."""
    work = str(folder / "work")
    return all(place.startswith(work) for place in places_of(word, folder))


def rows_of(word: str, log_url: str) -> list[str]:
    """The rows of the log that hold the word."""
    log = open_log(log_url)
    try:
        with log.snapshot() as connection:
            rows = [row for statement in TABLES for row in connection.execute(statement, {}).fetchall()]
    finally:
        log.close()
    return [text for (text,) in rows if word in text.casefold()]


@pytest.mark.slow
def test_whenever_a_removal_is_killed_a_living_worker_completes_it(
    home: Home, crew: Crew, log_url: str, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.follow(tells)
    home.environ["HERMES_JOBS_TOOLS__RESULT_CHARS"] = "500"
    crew.start_one(0)
    for part in PARTS:
        word = f"zanzibar{part}"
        home.send(f"Remember {word}")
        assert places_of(word, home.path), part
        with home.launch("tests.faults.dying_forgetting", part, "redact", word, "--yes") as dying:
            assert dying.end().code in (-9, 0), part  # the worker may clean up before it comes to that part
        if part in NOTHING_RECORDED:
            assert rows_of(word, log_url), part
            again = home.run("redact", word, "--yes")
            assert "Complete: " in again.err, (part, again)
        else:
            assert not rows_of(word, log_url), part
        wait_until(partial(is_gone, word, tmp_path), partial(left, word, tmp_path))
    assert home.run("events", "verify").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("part", ["home", "files"])
def test_without_a_worker_the_next_command_completes_it(
    home: Home, model_server: ModelServer, part: str
) -> None:
    model_server.follow(tells)
    home.send("Remember zanzibar")
    with home.launch("tests.faults.dying_forgetting", part, "redact", "zanzibar", "--yes") as dying:
        assert dying.end().code == -9
    assert places_of("zanzibar", home.path)
    assert home.run("turns", "list").code == 0
    assert not places_of("zanzibar", home.path)
