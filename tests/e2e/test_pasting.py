"""Files that are dropped on a chat's terminal, and pictures of the clipboard."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.chat.pasting import clipboard_picture, with_mentions
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_chat import chatting, happened, say
from tests.features.attachments.files import document, picture
from tests.home import Home
from tests.model_server import ModelServer

CTRL_V = "\x16"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sign.png").write_bytes(picture())
    (tmp_path / "a plan.pdf").write_bytes(document(["One."]))
    (tmp_path / "notes.txt").write_text("notes")
    return tmp_path


@pytest.mark.parametrize(
    ("dropped", "becomes"),
    [
        ("{0}/sign.png", "@{0}/sign.png "),
        ("{0}/sign.png\n", "@{0}/sign.png "),
        ("'{0}/a plan.pdf'", '@"{0}/a plan.pdf" '),
        ("{0}/a\\ plan.pdf {0}/sign.png", '@"{0}/a plan.pdf" @{0}/sign.png '),
        ("file://{0}/a%20plan.pdf", '@"{0}/a plan.pdf" '),
    ],
)
def test_paths_of_pictures_and_documents_become_mentions(folder: Path, dropped: str, becomes: str) -> None:
    assert with_mentions(dropped.format(folder)) == becomes.format(folder)


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "sign.png",
        "{0}",
        "{0}/notes.txt",
        "{0}/missing.png",
        "look at {0}/sign.png",
        "'{0}/sign.png",
        "file://elsewhere{0}/sign.png",
        "two\nlines",
        "http://[no/address",
        f"/{'long' * 200}",
        "{0}/sign.png " * 1_000,
    ],
)
def test_any_other_text_is_pasted_as_it_is(folder: Path, pasted: str) -> None:
    assert with_mentions(pasted.format(folder)) == pasted.format(folder)


def clipboard(folder: Path, name: str, content: bytes, status: int = 0) -> None:
    """A program that prints the clipboard, in that folder."""
    (folder / "content").write_bytes(content)
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat {shlex.quote(str(folder / 'content'))}\nexit {status}\n")
    program.chmod(0o755)


def test_each_picture_of_the_clipboard_gets_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.defpath}")
    clipboard(tmp_path, "xclip", picture())
    for number in (1, 2):
        path = tmp_path / f"pasted-{number}.png"
        assert clipboard_picture(tmp_path) == f"@{path}"
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (picture(), 0o600)


@pytest.mark.parametrize(
    ("name", "content", "status", "said"),
    [
        ("xclip", b"", 1, "holds no picture"),
        ("wl-paste", b"some text", 0, "holds no picture"),
        ("other", b"", 0, "cannot be read"),
    ],
)
def test_a_clipboard_without_a_picture_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, status: int, said: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    clipboard(tmp_path, name, content, status)
    with pytest.raises(Rejected, match=said):
        clipboard_picture(tmp_path)


def test_in_a_command_a_path_stays_a_path_and_without_a_picture_the_chat_says_so(
    home: Home, folder: Path
) -> None:
    with chatting(home, PATH=os.defpath) as screen:
        screen.type(CTRL_V)
        screen.shows("The clipboard")
        screen.type("!wc -c ")
        screen.type(f"\x1b[200~{folder}/sign.png\x1b[201~")
        say(screen, "")
        screen.shows(f"{len(picture())} {folder}/sign.png"[:60])
        screen.shows("· exit code 0")


def test_what_is_dropped_and_pasted_goes_with_the_message(
    home: Home, folder: Path, model_server: ModelServer
) -> None:
    """Given a chat on whose terminal a document is dropped, and a clipboard with a picture."""
    programs = folder / "programs"
    programs.mkdir()
    clipboard(programs, "wl-paste", picture())
    with chatting(home, PATH=f"{programs}{os.pathsep}{os.defpath}") as screen:
        screen.type(f"\x1b[200~{folder}/a\\ plan.pdf\x1b[201~")
        screen.shows('a plan.pdf"')
        screen.type(CTRL_V)
        screen.shows("pasted-1.png")
        say(screen, "What is this?")
        screen.shows("· with a plan.pdf")
        screen.shows("· with pasted-1.png")
        happened(home, e.TurnCompleted, 1)
    with home.open_log() as log:
        (sent,) = [each for each in facts_of(log) if isinstance(each, e.TurnSubmitted)]
    assert [each.media_type for each in sent.attachments] == ["application/pdf", "image/png"]
