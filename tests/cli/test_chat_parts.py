"""The parts of a chat that need no terminal: what counts as a command, and the line at the bottom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_jobs.bootstrap import Application
from hermes_jobs.interfaces.chat.commands import BY_NAME, COMMANDS, KEYS, parse, run_command, subcommands
from hermes_jobs.interfaces.chat.conversation import Conversation
from hermes_jobs.interfaces.chat.toolbar import ToolbarStatus, toolbar_text


class Room:
    """A room in which nothing happens but what is said."""

    conversation: Conversation
    application: Application

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def command_line(self, *words: str) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/help", ("help", "")),
        ("  /title  Trip to Rome ", ("title", "Trip to Rome")),
        ("/schedule every day at 9\nstretch", ("schedule", "every day at 9\nstretch")),
        ("/nonsense", ("nonsense", "")),
        ("/etc/hosts is a file", None),
        ("/", None),
        ("/2 is a half of what?", None),
        ("what does /help do?", None),
        ("one\n/help", None),
    ],
)
def test_a_word_after_a_slash_is_a_command_and_a_path_is_not(
    text: str, found: tuple[str, str] | None
) -> None:
    assert parse(text) == found


def test_each_command_has_a_name_of_its_own_and_says_what_it_does() -> None:
    assert len(BY_NAME) == len(COMMANDS)
    assert all(parse(f"/{command.name}") for command in COMMANDS)
    assert all(command.summary for command in COMMANDS)


def test_a_line_of_the_help_fits_80_columns() -> None:
    room = Room()
    run_command(room, "help", "")
    assert len(room.said) == len(COMMANDS) + len(KEYS)
    assert [line for line in room.said if cell_len(line) > 80] == []


def test_what_a_command_line_takes_is_known_with_its_meaning() -> None:
    assert {"show", "add", "undo"} <= subcommands("memory").keys()
    assert all(subcommands("schedule").values())


@given(
    st.builds(
        ToolbarStatus,
        name=st.text(max_size=120),
        model=st.text(max_size=60),
        tokens=st.integers(0, 2_000_000),
        window=st.integers(1, 2_000_000),
        cost_usd=st.none() | st.floats(0, 1e6),
        is_running=st.booleans(),
        waiting=st.integers(0, 99),
    ),
    st.integers(20, 200),
)
def test_the_line_at_the_bottom_is_one_line_that_fits(standing: ToolbarStatus, columns: int) -> None:
    line = toolbar_text(standing, columns)
    assert cell_len(line) <= columns
    assert "\n" not in line


def test_the_line_at_the_bottom_says_who_answers_how_full_it_is_and_what_it_cost() -> None:
    standing = ToolbarStatus(name="Trip", model="m", tokens=32_000, window=128_000, cost_usd=0.5, waiting=2)
    assert toolbar_text(standing, 100) == " m · 25% of 128k tokens · $0.5000 · 2 waiting · /help · Trip"
