"""What holds for every command: help with an example, nearest names, no tracebacks, no colour in pipes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath

import click
import pytest

from hermes_jobs import __version__
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli import ALIASES, COMMANDS, FIRST, SECTIONS, hermes_jobs
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import (
    CREDENTIALS,
    FAILED,
    INTERRUPTED,
    LOG,
    TIMED_OUT,
    UNFIT,
    USAGE,
    report,
)
from hermes_jobs.interfaces.cli.help import TOPICS, Rows
from tests.processes import ROOT
from tests.written_home import WrittenHome

Path = tuple[str, ...]


def commands(group: click.Group, path: Path = ()) -> Iterator[tuple[Path, click.Command]]:
    """Every command below the group, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands(hermes_jobs))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help_and_an_example_that_calls_it(path: Path) -> None:
    command = ALL[path]
    assert command.help
    assert command.epilog
    assert "Example:\n" in command.epilog
    assert f"hermes-jobs {path[0]}" in command.epilog


@pytest.mark.parametrize(
    "path", [path for path in ALL if path[-1] in {"list", "show", "status", "verify"}], ids=" ".join
)
def test_every_list_and_show_prints_json(path: Path) -> None:
    assert any("--json" in parameter.opts for parameter in ALL[path].params)


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in ALL
        if path[-1] in {"list", "show", "log", "history", "queues", "usage"} and path != ("log",)
    ],
    ids=" ".join,
)
def test_every_listing_and_show_can_be_cut(path: Path) -> None:
    assert any("-n" in parameter.opts for parameter in ALL[path].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_fits_the_list(name: str) -> None:
    summary = COMMANDS[name].summary
    assert summary.endswith(".")
    line = f"  {name:<10}{summary}"
    assert len(line) <= 80, f"a summary is one line of 80 columns: leave out {len(line) - 80} characters"


@pytest.mark.parametrize(
    "path", [path for path, each in ALL.items() if isinstance(each, click.Group)], ids=" ".join
)
def test_the_line_of_every_command_of_a_group_is_whole_in_80_columns(path: Path, home: WrittenHome) -> None:
    listed = home.run(*path, "--help", COLUMNS="80").out.partition("Commands:\n")[2]
    lines = [line for line in listed.partition("\n\n")[0].splitlines() if not line.startswith(" " * 3)]
    assert lines
    assert [line for line in lines if line.endswith("...")] == [], (
        "shorten the first sentence of the docstring"
    )


def test_the_help_explains_the_first_commands_and_names_all_others_once(home: WrittenHome) -> None:
    assert sorted((*FIRST, *(name for names in SECTIONS.values() for name in names))) == sorted(COMMANDS), (
        "a command is in one section of `--help`: in _ORDER of interfaces/cli, or as its feature declares"
    )
    out = home.run("--help", COLUMNS="80").out
    first, _, others = out.partition("More commands")
    assert all(f"  {name} " in first and f"{COMMANDS[name].summary}\n" in first for name in FIRST)
    rows = " ".join(others.split())  # a section with many commands takes several lines
    assert all(f" {section} {', '.join(names)} " in rows for section, names in SECTIONS.items() if names)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", ALIASES)
def test_other_names_are_those_of_commands_of_groups_and_no_list_has_them(name: str) -> None:
    (path,) = [path for path in ALL if path[0] in {"run", "log"} and path[1:] == (name,)]
    assert hermes_jobs.get_command(click.Context(hermes_jobs), name) is ALL[path]
    assert (name,) not in ALL


@pytest.mark.parametrize("words", [("turns", "show"), ("send",), ("schedule",), ()], ids=" ".join)
def test_help_of_a_command_equals_its_help_flag(home: WrittenHome, words: Path) -> None:
    told = home.run("help", *words)
    assert (told.code, told.err) == (0, "")
    assert told.out == home.run(*words, "--help").out


@pytest.mark.parametrize("topic", TOPICS)
def test_help_has_topics(home: WrittenHome, topic: str) -> None:
    told = home.run("help", topic, COLUMNS="80")
    assert told.code == 0
    assert len(told.out.splitlines()) > 5
    assert max(map(len, told.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("exitcodes",), "Did you mean exit-codes?"),
        (("turn",), "Did you mean turns?"),
        (("turns", "shwo"), "Did you mean show?"),
        (("send", "more"), "has no commands of its own"),
        (("xyzzy",), "Topics: exit-codes, environment, files, json."),
    ],
)
def test_help_of_an_unknown_word_suggests_similar_ones(home: WrittenHome, words: Path, told: str) -> None:
    ran = home.run("help", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_exit_codes_of_the_help_are_those_that_are_used() -> None:
    (rows,) = [block for block in TOPICS["exit-codes"].blocks if isinstance(block, Rows)]
    used = {0, FAILED, USAGE, TIMED_OUT, CREDENTIALS, LOG, UNFIT, INTERRUPTED}
    assert {int(code) for code, _ in rows.rows} == used


def test_without_a_terminal_and_without_a_command_the_help_is_shown(home: WrittenHome) -> None:
    ran = home.run()
    assert ran.code == 2
    assert "Commands:" in ran.out + ran.err


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.interfaces.cli import run\n"
        "run(['--help'])\n"
        "heavy = {'sqlalchemy', 'msgspec', 'celery', 'openai', 'rich', 'sqlite3', 'yaml'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example:" in done.stdout


def test_leaving_a_text_to_the_workers_imports_nothing_that_it_does_not_need(home: WrittenHome) -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.interfaces.cli import run\n"
        "code = run(['send', '--no-wait', 'Hello'])\n"
        "heavy = {'sqlalchemy', 'celery', 'kombu', 'redis', 'openai', 'httpx2', 'aiohttp', 'pydantic',\n"
        "         'rich', 'asyncio', 'opentelemetry', 'prompt_toolkit', 'yaml', 'importlib.metadata',\n"
        "         'hermes_jobs.kernel.views', 'hermes_jobs.llm.completions_client',\n"
        "         'hermes_jobs.tools.toolbox'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"HERMES_JOBS_HOME": str(home.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("t")


def test_the_version_is_printed(home: WrittenHome) -> None:
    assert home.run("--version").out == f"hermes-jobs, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["trns"], "Did you mean 'turns'?"),
        (["What's 2+2?"], "To send it as a message: hermes-jobs send 'What'\"'\"'s 2+2?'"),
        (["run", "What is up?"], "To send it as a message: hermes-jobs send 'What is up?'"),
        (["resume"], "Did you mean hermes-jobs chat -c?"),
        (["-c"], "No such option '-c'. Options come after a command, as in: hermes-jobs chat -c"),
        (["--verison"], "Did you mean '--version'?"),
        (["turns", "lst"], "Did you mean 'list'?"),
        (["turns", "list", "--statsu", "failed"], "Did you mean '--status'?"),
        (["turns", "list", "--status", "fialed"], "'failed'"),
        (["turns", "list", "-n", "0"], "0 is not in the range"),
        (["turns", "list", "-n", "9" * 20], "99,999,999,999,999,999,999 is too large"),
        (["log", "events", "--after", "9" * 20], "is too large"),
        (["approvals", "remove", "9" * 20], "is not a number from"),
        (["turns", "list", "-n", "x"], "'x' is not a valid whole number."),
        (["send", "--timeout", "x", "Hi"], "'x' is not a valid number."),
        (["turns", "show"], "Missing argument 'ID'"),
        (["worker", "--queues", "nope"], "'-Q' / '--queues': there is no queue 'nope'. Known are turns, "),
        (["sessions", "show", "nope"], "There is no session 'nope'"),
        (["sessions", "show", "caf\udce9"], "it is not UTF-8 text"),
        (["send", "caf\udce9"], "it is not UTF-8 text"),
        (["send", "--system", "caf\udce9", "Hi"], "it is not UTF-8 text"),
        (["sessions", "rename", "aa", "caf\udce9"], "it is not UTF-8 text"),
        (["sessions", "search", "caf\udce9"], "it is not UTF-8 text"),
        (["memory", "add", "user", "caf\udce9"], "it is not UTF-8 text"),
        (["schedule", "add", "--yes", "caf\udce9 every day at 9"], "it is not UTF-8 text"),
        (["config", "set", "model.model", "caf\udce9"], "it is not UTF-8 text"),
        (["export", "-s", "caf\udce9", "-"], "it is not UTF-8 text"),
        (["schedule", "add", "--yes", "--every", "1h", "--task", "x", "--model", ""], "it is empty"),
        (["usage", "--since", "soon"], "'soon' is not a moment that is understood."),
        (["send", "--session", "", "Hi"], "'--session': it is empty"),
        (["send", "--key", "", "Hi"], "'--key': it is empty"),
        (["send", "--timeout", "nan", "Hi"], "nan is not an amount"),
        (["turns", "retry", "t1", "--budget", "inf"], "inf is not an amount"),
    ],
)
def test_wrong_usage_is_exit_code_2_with_the_right_usage(
    arguments: list[str], told: str, home: WrittenHome
) -> None:
    refused = home.run(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err
    assert "Traceback" not in refused.err


def test_in_a_deleted_folder_no_session_begins_and_an_existing_one_continues(
    home: WrittenHome, tmp_path: FilePath
) -> None:
    home.answered("aa", "t1")
    command = f'mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec {sys.executable} -m hermes_jobs "$@"'

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command, "sh", str(tmp_path / "gone"), *arguments],
            env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    refused = run("send", "--no-wait", "Hi")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "has been deleted" in refused.stderr
    assert run("send", "--no-wait", "--session", "aa", "Hi").returncode == 0
    assert len(home.run("turns", "list", "--json").json) == 2


def test_a_traceback_is_shown_on_request(home: WrittenHome) -> None:
    refused = home.run("turns", "show", "nope", HERMES_JOBS_DEBUG="1")
    assert refused.code == 2
    assert "Traceback" in refused.err


def test_a_secret_in_an_error_is_not_shown(home: WrittenHome) -> None:
    refused = home.run("turns", "show", "sk-verysecret", OPENAI_API_KEY="sk-verysecret")
    assert "There is no turn '[REDACTED]'" in refused.err


def test_a_full_disk_is_said_in_one_sentence(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    with FilePath("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_jobs", "events", "--json"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        5,
        "Error: The disk is full.\nHint: Free some space, then try again.\n",
    )


def test_a_file_of_another_user_is_named_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    code = report(PermissionError(errno.EACCES, "Permission denied", "/home/run/w1.lock"), CliContext({}))

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert told.err.startswith("Error: /home/run/w1.lock cannot be used: Permission denied.\nHint: Correct")


def test_an_error_shows_no_sequence_that_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    report(Rejected("It said \x1b[2Jred\x07.", hint="\x1b]0;title\x07Ask it."), CliContext({}))

    assert capsys.readouterr().err == "Error: It said red.\nHint: Ask it.\n"


def test_a_reader_that_leaves_early_is_no_error(home: WrittenHome) -> None:
    home.answered("aa", "t1")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "hermes_jobs", "events", "--json"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path)},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_ctrl_c_while_the_program_is_being_loaded_ends_it_without_a_word(
    tmp_path: FilePath, home: WrittenHome
) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = home.run("turns", "list", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (ended.code, ended.out, ended.err) == (-signal.SIGINT, "", "")
