"""Standard streams as scripts leave them: closed, unread, in another encoding, no text, a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.tools.support import wait_until
from tests.written_home import WrittenHome


def run(
    home: WrittenHome, command: str, stdin: bytes = b"", stderr: int = subprocess.PIPE, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """One line of a shell, in which `$HJ` is the command line."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HJ": f"{sys.executable} -m hermes_jobs",
            "HERMES_JOBS_HOME": str(home.path),
            **environ,
        },
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_an_empty_one(home: WrittenHome, closed: str) -> None:
    done = run(home, f"$HJ send --no-wait Hi {closed}")

    assert done.returncode == 0, done
    assert [turn["text"] for turn in home.run("turns", "list", "--json").json] == ["Hi"]


def test_from_a_closed_input_nothing_can_be_sent(home: WrittenHome) -> None:
    done = run(home, "$HJ send - <&-")

    assert done.returncode == 2
    assert b"Nothing to send" in done.stderr


def test_with_too_few_open_files_nothing_is_sent(home: WrittenHome) -> None:
    done = run(home, "ulimit -n 16; $HJ send --no-wait Hi")

    assert done.returncode == 1
    assert b"16 files open" in done.stderr
    assert b"ulimit -n 512" in done.stderr
    assert home.run("turns", "list", "--json").json == []


def test_a_low_limit_of_open_files_is_raised_where_that_is_permitted(home: WrittenHome) -> None:
    done = run(home, "ulimit -S -n 32; $HJ send --no-wait Hi")

    assert done.returncode == 0, done


@pytest.fixture(params=["a pipe", "a socket"])
def idle(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Both ends of an open input that nobody writes to, the reading one first."""
    if request.param == "a pipe":
        reader, writer = os.pipe()
    else:
        reader, writer = (end.detach() for end in socket.socketpair())
    yield reader, writer
    for end in (reader, writer):
        with suppress(OSError):  # the test has closed it
            os.close(end)


def begin_send(home: WrittenHome, stdin: int, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "send", "--no-wait", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(home.path)},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def sent_texts(home: WrittenHome) -> list[str]:
    return [turn["text"] for turn in home.run("turns", "list", "--json").json]


def test_an_open_input_in_which_nothing_comes_does_not_hold_up_a_text(
    home: WrittenHome, idle: tuple[int, int]
) -> None:
    with begin_send(home, idle[0], "Hi") as process:
        _, err = process.communicate()

    assert process.returncode == 0
    assert err.count(b"Standard input is open, but nothing came") == 1
    assert sent_texts(home) == ["Hi"]


def test_an_open_input_in_which_something_comes_is_read_to_its_end(
    home: WrittenHome, idle: tuple[int, int]
) -> None:
    reader, writer = idle
    os.write(writer, b"begins ")
    with begin_send(home, reader, "Hi") as process:
        wait_until(lambda: unread(reader) == 0, "it reads")
        os.write(writer, b"and goes on")
        os.close(writer)
        _, err = process.communicate()

    assert process.returncode == 0
    assert b"Standard input" not in err
    assert sent_texts(home) == ["Hi\n\nbegins and goes on"]


def unread(reader: int) -> int:
    """The number of bytes that wait there."""
    (count,) = struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\0" * 4))
    return int(count)


@pytest.fixture(params=["a full disk", "a reader that has left"])
def untaken(request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of an open file that takes nothing."""
    if request.param == "a full disk":
        writer = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, writer = os.pipe()
        os.close(reader)
    yield writer
    os.close(writer)


def test_a_closed_stderr_changes_neither_answer_nor_exit_code(home: WrittenHome, untaken: int) -> None:
    saved = run(home, "$HJ memory add 'Likes tea' --json", stderr=untaken)
    refused = run(home, "$HJ turns show nosuch --json", stderr=untaken)

    assert saved.returncode == 0
    assert json.loads(saved.stdout)["memory"]["entries"] == ["Likes tea"]
    assert (refused.returncode, refused.stdout) == (2, b"")


@pytest.mark.parametrize("command", ["events --follow", "queues --watch"])
def test_following_commands_end_when_their_reader_leaves(home: WrittenHome, command: str) -> None:
    home.submit("aa", "t1")

    done = run(home, f"$HJ {command} | head -1")

    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


@pytest.mark.parametrize("command", ["turns list --json", "events --json"])
def test_json_is_utf_8_whatever_the_terminals_encoding(home: WrittenHome, command: str) -> None:
    run(home, "$HJ send --no-wait -", stdin="Grüße".encode())

    done = run(home, f"$HJ {command}", PYTHONIOENCODING="latin-1")

    assert "Grüße" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_an_argument_is_read_as_utf_8_also_where_the_locale_is_plain_ascii(home: WrittenHome) -> None:
    run(home, "$HJ send --no-wait Grüße", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    done = run(home, "$HJ turns list --json")

    assert [turn["text"] for turn in json.loads(done.stdout)] == ["Grüße"]


@pytest.mark.parametrize("command", ["send -", "memory add -"])
def test_an_input_that_is_no_text_is_wrong_usage(home: WrittenHome, command: str) -> None:
    done = run(home, f"$HJ {command}", stdin=b"caf\xe9")

    assert done.returncode == 2
    assert b"standard input is not UTF-8 text (byte 3)" in done.stderr


@pytest.mark.parametrize("packed", ["", "gzip |"])
def test_an_export_goes_from_home_to_home_through_a_pipe(
    home: WrittenHome, tmp_path: Path, packed: str
) -> None:
    home.answered("aa", "t1")

    done = run(
        home, f"$HJ export - | {packed} HERMES_JOBS_HOME={tmp_path}/other $HJ import /dev/stdin --json"
    )

    assert done.returncode == 0, done
    assert json.loads(done.stdout)["streams"] == ["session-aa"]


def test_a_backup_may_go_to_standard_output_and_is_read_from_a_file(
    home: WrittenHome, tmp_path: Path
) -> None:
    home.answered("aa", "t1")
    there = f"HERMES_JOBS_HOME={tmp_path}/other $HJ"

    piped = run(home, f"$HJ backup - | {there} import /dev/stdin")
    saved = run(home, f"$HJ backup - >{tmp_path}/home.zip && {there} import {tmp_path}/home.zip --json")

    assert (piped.returncode, b"from a file, not from a pipe" in piped.stderr) == (2, True)
    assert json.loads(saved.stdout)["streams"] == ["session-aa"]
