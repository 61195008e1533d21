"""`send -f`: files that go along with a text."""

from __future__ import annotations

import pytest

from hermes_jobs.interfaces.cli.turns.text import MAX_BYTES
from tests.home import Home
from tests.model_server import ModelServer

A = "a.txt:\n```\nfirst\n```"
FENCED = "docs/b.md:\n`````\n````py\nx\n````\n`````"


@pytest.mark.parametrize(
    ("arguments", "stdin", "text"),
    [
        (("Sum up", "-f", "a.txt", "-f", "docs/b.md"), None, f"Sum up\n\n{A}\n\n{FENCED}"),
        (("-f", "docs/b.md", "Sum up", "-f", "a.txt"), "piped", f"Sum up\n\n{FENCED}\n\n{A}\n\npiped"),
        (("-f", "a.txt", "-f", "docs/b.md"), None, f"{A}\n\n{FENCED}"),
        (("Sum up", "-f", "-"), "piped", "Sum up\n\npiped"),
        (("Sum up", "-f", "-", "-f", "a.txt"), "piped", f"Sum up\n\n{A}\n\npiped"),
        (("Sum up", "-f", "bom.txt"), None, "Sum up\n\nbom.txt:\n```\nmarked\n```"),
        (("Sum up", "-f", "empty"), None, "Sum up\n\nempty:\n```\n```"),
    ],
)
def test_each_file_follows_the_text_under_its_name(
    home: Home, model_server: ModelServer, arguments: tuple[str, ...], stdin: str | None, text: str
) -> None:
    (home.work / "docs").mkdir()
    (home.work / "a.txt").write_text("first")
    (home.work / "docs/b.md").write_text("````py\nx\n````\n")
    (home.work / "bom.txt").write_bytes(b"\xef\xbb\xbfmarked\n")
    (home.work / "empty").touch()
    ran = home.run("send", "-q", *arguments, stdin=stdin)
    assert ran.code == 0, ran
    assert model_server.requests[0].last_user_text == text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x89PNG\0", "data is a binary file (it has a NUL at byte 4)"),
        ("Grüße".encode("latin-1"), "data is not UTF-8 text (byte 2).\nIf it has another encoding"),
        (
            b"a" * MAX_BYTES,
            f"data is too large: files and piped input may have {MAX_BYTES:,} bytes together.",
        ),
    ],
    ids=["binary", "latin-1", "too large"],
)
def test_an_unsuitable_file_is_named_and_nothing_is_recorded(home: Home, content: bytes, told: str) -> None:
    (home.work / "one.txt").write_text("1")
    (home.work / "data").write_bytes(content)
    ran = home.run("send", "Look", "-f", "one.txt", "-f", "data")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not home.path.exists()


def test_a_mentioned_file_is_attached_and_a_missing_one_stays_text(
    home: Home, model_server: ModelServer
) -> None:
    (home.work / "notes.txt").write_text("Buy tea.\n")
    sent = home.run("send", "Look at @notes.txt, @gone.txt and @property. Ask bob@example.com")
    assert sent.code == 0
    assert "· with notes.txt (1 line)" in sent.err
    assert "· there is no file gone.txt; it goes as you typed it" in sent.err
    text = model_server.requests[-1].messages[-1]["content"]
    assert text == (
        "Look at @notes.txt, @gone.txt and @property. Ask bob@example.com\n\nnotes.txt:\n```\nBuy tea.\n```"
    )
    assert "property" not in sent.err
    assert "example" not in sent.err


def test_a_mention_in_piped_input_attaches_nothing(home: Home, model_server: ModelServer) -> None:
    (home.work / "notes.txt").write_text("Buy tea.\n")
    home.run("send", "-", stdin="Look at @notes.txt")
    assert model_server.requests[-1].messages[-1]["content"] == "Look at @notes.txt"
