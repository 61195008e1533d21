"""The inbox: what is listed, read once, and how deliveries stand."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from hermes_jobs.features.deliveries.events import (
    DeliveryEvent,
    DeliveryFailed,
    DeliveryPlaced,
    DeliveryRequested,
    DeliverySent,
    stream_of,
)
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from tests.processes import ROOT
from tests.written_home import WrittenHome

AT = "2026-11-21T12:00:00.000000Z"


def write(home: WrittenHome, delivery: str, *facts: DeliveryEvent) -> None:
    stream = stream_of(delivery)
    head = home.log.head(stream)
    change = StreamWrite(stream=stream, events=facts, expected=head.version if head else 0)
    home.log.append(Append(meta=EventMeta(worker="w1"), recorded_at=AT, writes=(change,)))


def requested(home: WrittenHome, delivery: str, target: str = "cli", text: str = "Good morning.") -> None:
    fact = DeliveryRequested(
        delivery=delivery, target=target, text=text, turn="t1", session="s1", source="schedule:h1"
    )
    write(home, delivery, fact)


@pytest.fixture
def filled(home: WrittenHome) -> WrittenHome:
    """Two answers to read, one that failed elsewhere, one that is tried again, one that was sent."""
    home.submit("s1", "t1")
    requested(home, "dfirst", text="The first\x1b[2J answer")
    requested(home, "dsecond", text="The second answer")
    requested(home, "dlost", "webhook:https://example.com/hook", "A lost answer")
    write(home, "dlost", DeliveryFailed(delivery="dlost", attempt=1, message="It answered 404."))
    requested(home, "dlater", "file:/srv/a.md", "A later answer")
    again = DeliveryFailed(delivery="dlater", attempt=3, message="No such folder.", retry_at=1.8e9)
    write(home, "dlater", again)
    requested(home, "dsent", "telegram:12", "A sent answer")
    write(home, "dsent", DeliveryPlaced(delivery="dsent", part=0, receipt="7"))
    write(home, "dsent", DeliverySent(delivery="dsent", attempt=1, receipt="7"))
    return home


def test_an_empty_inbox_says_so(home: WrittenHome) -> None:
    assert "Nothing unread." in home.run("inbox", "list").err
    assert "Nothing unread." in home.run("inbox", "read").err
    assert home.run("inbox", "list", "--json").json == []
    assert home.run("inbox", "read", "--json").json == []


def test_the_inbox_lists_unread_and_failed_deliveries(filled: WrittenHome) -> None:
    listed = filled.run("inbox", "list", "--json").json
    assert [(each["delivery"], each["status"]) for each in listed] == [
        ("dlost", "failed"),
        ("dsecond", "unread"),
        ("dfirst", "unread"),
    ]
    assert [each["delivery"] for each in filled.run("inbox", "list", "-n", "1", "--json").json] == ["dlost"]
    assert "It answered 404." in filled.run("inbox", "list").out


def test_all_deliveries_are_listed_with_how_they_stand(filled: WrittenHome) -> None:
    listed = {each["delivery"]: each for each in filled.run("inbox", "list", "--all", "--json").json}
    assert listed["dsent"]["status"] == "sent"
    assert listed["dsent"]["receipt"] == "7"
    later = listed["dlater"]
    assert (later["status"], later["attempts"], later["retry_at"]) == ("waiting", 3, 1.8e9)


def test_read_answers_are_shown_again_only_on_request(filled: WrittenHome) -> None:
    first = filled.run("inbox", "read", "-n", "1")
    assert "The first answer" in first.out
    assert "second" not in first.out
    rest = filled.run("inbox", "read")
    assert rest.out.index("The second answer") < rest.out.index("A lost answer")
    assert "could not be delivered to webhook:https://example.com/hook: It answered 404." in rest.err
    assert filled.run("inbox", "read").out == ""
    assert "The first answer" in filled.run("inbox", "read", "dfi").out
    states = {e["delivery"]: e["status"] for e in filled.run("inbox", "list", "--all", "--json").json}
    assert states["dfirst"] == states["dsecond"] == states["dlost"] == "read"
    assert states["dlater"] == "waiting"


def test_read_as_json_marks_too(filled: WrittenHome) -> None:
    read = filled.run("inbox", "read", "dsecond", "dfirst", "--json").json
    assert [each["text"] for each in read] == ["The second answer", "The first\x1b[2J answer"]
    assert [each["delivery"] for each in filled.run("inbox", "list", "--json").json] == ["dlost"]


def test_an_unknown_or_ambiguous_id_is_a_usage_error(filled: WrittenHome) -> None:
    unknown = filled.run("inbox", "read", "nosuch")
    assert (unknown.code, unknown.out) == (2, "")
    assert "There is no delivery 'nosuch'" in unknown.err
    several = filled.run("inbox", "read", "dl")
    assert several.code == 2
    assert "fits several deliveries" in several.err


def test_a_turn_shows_how_its_deliveries_stand(filled: WrittenHome) -> None:
    shown = filled.run("turns", "show", "t1").out
    assert "To file:/srv/a.md" in shown
    assert "3 attempts failed, next try Fri 15 Jan" in shown
    assert "No such folder." in shown
    assert "failed, and left in the inbox: It answered 404." in shown
    filled.run("inbox", "read")
    assert "failed, and read in the inbox: It answered 404." in filled.run("turns", "show", "t1").out


@pytest.mark.slow
def test_a_send_on_a_terminal_ends_with_a_line_on_unread_answers(filled: WrittenHome) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "send", "Hello"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HERMES_JOBS_HOME": str(filled.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ):
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            told = b""
            while b"inbox read" not in told:
                told += terminal.read(65_536)
    assert b"You have 3 unread answers: hermes-jobs inbox read" in told


def test_a_view_that_is_built_again_says_the_same(filled: WrittenHome) -> None:
    filled.run("inbox", "read", "dfirst")
    before = filled.run("inbox", "list", "--all", "--json").json
    assert filled.run("views", "rebuild").code == 0
    assert filled.run("inbox", "list", "--all", "--json").json == before
