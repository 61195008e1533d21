"""`sessions export` as Markdown and as a page: the whole conversation, and nothing that acts or leaks."""

from __future__ import annotations

import gzip

import pytest

from tests.home import Home
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

ATTACK = "<script>alert(1)</script> [a](javascript:alert(2))"


@pytest.fixture
def session(home: Home, model_server: ModelServer) -> str:
    """A conversation with a call whose output holds a fence, and markup in what was said."""
    call = AskedCall(name="terminal", arguments={"command": "printf '```\\n<b>out</b>\\n'"})
    model_server.follow([Answer(text="I look.", tool_calls=(call,)), Answer(text=f"**Done.** {ATTACK}")])
    session: str = home.send("Show me\nthe fence")["session"]
    return session


def test_markdown_has_the_texts_and_outputs_in_fences_that_they_cannot_close(
    home: Home, session: str
) -> None:
    exported = home.run("sessions", "export", session, "--format", "md")
    assert (exported.code, exported.err) == (0, "")
    title, about, *_ = [line for line in exported.out.splitlines() if line]
    assert title == "# Show me the fence"
    assert about.startswith(f"Session {session}: ")
    assert "## You, " in exported.out
    assert "\n\nShow me\nthe fence\n\n## Assistant, " in exported.out
    assert "\n````\n```\n<b>out</b>\n" in exported.out
    assert exported.out.rstrip().endswith(ATTACK)
    without = home.run("sessions", "export", session, "--format", "md", "--no-tools").out
    assert "<details>" not in without
    assert "I look." in without


def test_a_page_has_it_too_and_nothing_of_it_acts(home: Home, session: str) -> None:
    page = home.work / "talk.html"
    done = home.run("sessions", "export", session, "-o", str(page))
    assert (done.code, done.out, done.err) == (0, "", f"Wrote {page}.\n")
    text = page.read_text()
    assert "<strong>Done.</strong>" in text
    assert "&lt;b&gt;out&lt;/b&gt;" in text
    assert "<script" not in text
    assert 'href="javascript' not in text
    assert page.stat().st_mode & 0o777 == 0o600
    again = home.run("sessions", "export", session, "-o", str(page))
    assert (again.code, "is there already" in again.err) == (2, True)


def test_the_ending_of_the_name_says_the_format(home: Home, session: str) -> None:
    for name, begins in (("a.md.gz", b"# Show me"), ("a.HTM.gz", b"<!doctype html>"), ("a.jsonl.gz", b'{"')):
        file = home.work / name
        assert home.run("sessions", "export", "last", "-o", str(file)).code == 0
        assert gzip.decompress(file.read_bytes()).startswith(begins), name
    plain = home.work / "a.md"
    assert home.run("sessions", "export", session, "-o", str(plain), "--format", "jsonl").code == 0
    assert plain.read_bytes().startswith(b'{"')


def test_a_fork_is_exported_with_its_earlier_history(home: Home) -> None:
    one = home.send("One")
    home.send("-c", "Two")
    fork = home.run("sessions", "fork", one["session"], "--at", one["turn"]).out.strip()
    home.send("-s", fork, "Three")
    exported = home.run("sessions", "export", fork, "--format", "md").out
    asked = [part.split("\n\n")[1] for part in exported.split("## You, ")[1:]]
    assert asked == ["One", "Three"]


def test_a_secret_that_was_said_before_it_was_one_is_not_exported(home: Home) -> None:
    later = "correct-horse-battery-staple-0123456789"
    session = home.send(f"Say {later}")["session"]
    for form in ("md", "html"):
        out = home.run("sessions", "export", session, "--format", form, OPENAI_API_KEY=later).out
        assert "Say " in out
        assert later not in out
