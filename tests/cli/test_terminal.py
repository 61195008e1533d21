"""What a person at a terminal sees, and how a command that runs on is stopped."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len

from hermes_jobs.features.telegram.questions import fenced
from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.turns.progress import call_details
from hermes_jobs.kernel.events import ApprovalRequested
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text import figures
from hermes_jobs.text.figures import cost_text, moment, money
from tests.home import PATIENCE
from tests.processes import ROOT
from tests.written_home import WrittenHome

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(home: WrittenHome, *arguments: str, **environ: str) -> str:
    """What the command writes to a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", *arguments],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HERMES_JOBS_HOME": str(home.path),
            "COLUMNS": "60",
            "TERM": "xterm-256color",
            **environ,
        },
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # Linux reports so that the other side was closed
            pass
        finally:
            os.close(ours)
    return written.decode()


def test_a_table_fits_the_terminal_and_is_coloured_there(home: WrittenHome) -> None:
    home.answered("aa", "t1", "a long text " * 30)
    home.answered("aa", "t2", "長い文章です" * 30)
    seen = on_a_terminal(home, "turns", "list")
    assert COLOUR.search(seen)
    told = figures.day(datetime(2026, 11, 21, 12, tzinfo=UTC), datetime.now(UTC))
    shown_day = told[0].upper() + told[1:]
    header, day, *lines = COLOUR.sub("", seen).splitlines()
    assert (header.split(), day) == (["TURN", "STATUS", "WHEN", "TEXT"], shown_day)
    assert len(lines) == 4
    assert all(cell_len(line) <= 60 for line in (header, *lines))
    assert all(line.endswith("…") for line in lines[1::2])
    assert not COLOUR.search(on_a_terminal(home, "turns", "list", NO_COLOR="1"))


def test_80_columns_show_which_schedule_a_row_is(home: WrittenHome) -> None:
    named = ("--name", "Water the plants")
    home.run("schedule", "add", "--yes", "--every", "2h", "--task", "Water them", *named)
    assert "Water the plants" in on_a_terminal(home, "schedule", "list", COLUMNS="80")


def test_json_on_a_terminal_is_indented(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    assert on_a_terminal(home, "turns", "show", "t1", "--json").startswith('{\r\n  "turn": "t1",')


@pytest.mark.parametrize("command", [("turns", "show", "t1", "--json"), ("events", "--json")])
def test_json_on_a_terminal_holds_nothing_that_it_would_obey(
    home: WrittenHome, command: tuple[str, ...]
) -> None:
    home.answered("aa", "t1", answer="\x9b2J\u202eevil\x7f")
    assert "\\u009b2J\\u202eevil\\u007f" in on_a_terminal(home, *command)
    assert "\x9b2J\u202eevil\x7f" in home.run(*command).out


def test_following_shows_new_events_until_it_is_interrupted(home: WrittenHome) -> None:
    home.submit("aa", "t1")
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "events", "--follow", "--stream", "session-aa"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert "TurnSubmitted" in follower.stdout.readline()
        home.submit("bb", "t2")
        home.prefetch("aa")
        assert "ContextPrefetched" in follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        assert follower.wait(PATIENCE) == 130
        assert "Traceback" not in follower.stderr.read()


NOW = datetime(2026, 11, 23, 11, 52, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (NOW, "today 11:52"),
        (datetime(2026, 11, 22, 23, 59, tzinfo=UTC), "yesterday 23:59"),
        (datetime(2026, 11, 24, 9, tzinfo=UTC), "tomorrow 09:00"),
        (datetime(2026, 11, 9, 8, tzinfo=UTC), "Mon 9 Nov 08:00"),
        (datetime(2027, 1, 1, tzinfo=UTC), "Fri 1 Jan 2027 00:00"),
    ],
)
def test_times_are_shown_with_their_day(at: datetime, told: str) -> None:
    assert moment(at, NOW) == told


def test_a_time_for_another_day_names_its_year() -> None:
    assert moment(NOW, seconds=True) == "Mon 23 Nov 2026 11:52:07"


def test_money_is_shown_for_people() -> None:
    assert (money(None), money(0.01234), money(0), money(1234.5)) == (
        "unknown",
        "$0.0123",
        "$0.00",
        "$1,234.50",
    )


def test_the_known_part_of_a_cost_is_shown() -> None:
    assert (cost_text(None), cost_text(None, 0.5), cost_text(0.5)) == ("cost unknown", "≥ $0.50", "$0.50")


def test_a_small_amount_is_not_shown_as_nothing() -> None:
    amounts = (1e-7, 0.000025, 0.00012, 0.0005, 0.00099999, 0.001)
    assert [money(each) for each in amounts] == [
        "$0.0000001",
        "$0.000025",
        "$0.00012",
        "$0.0005",
        "$0.0010",
        "$0.0010",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("back\b\rspace\x00\x9b", "backspace"),
        ("\u202etxet\u202c", "txet"),
    ],
)
def test_control_characters_are_not_printed(text: str, shown: str) -> None:
    assert printable(text) == shown


HIDDEN = {
    "rm -rf build\x1b[8m; echo": "rm -rf build\\x1b[8m; echo",
    "ls #\rrm -rf src": "ls #\\x0drm -rf src",
    "r\u200bm \u3164\u2800\ufeff": "r\\u200bm \\u3164\\u2800\\ufeff",
    "ls \U000e0041": "ls \\U000e0041",
    "ls \u202etxt\u2066": "ls \\u202etxt\\u2066",
    "echo é 日本\n\tx": "echo é 日本\n\tx",
}


@pytest.mark.parametrize(("command", "shown"), HIDDEN.items(), ids=range(len(HIDDEN)))
def test_a_question_shows_what_a_command_hides(command: str, shown: str) -> None:
    call = ToolCall(id="c", name="terminal", arguments=json.dumps({"command": command}))
    requested = ApprovalRequested(turn="t", call="c", rule="a rule", expires_at=0.0, digest="")
    lines = ApprovalQuestion(request=requested, tool_call=call, folder="/").lines(None)[1:]
    assert [COLOUR.sub("", line) for line in lines] == [f"    {line}" for line in shown.split("\n")]
    assert shown.split("\n", maxsplit=1)[0] in call_details("terminal", call.arguments)
    assert shown in fenced(command, "bash")
