"""Which past turns a verification asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.verified_turns import PastTurn, VerifiedTurns
from hermes_jobs.kernel import events as e
from hermes_jobs.settings import load
from tests.written_home import WrittenHome


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    home = WrittenHome(tmp_path)
    yield home
    home.close()


def talk(home: WrittenHome, session: str, turn: str, text: str, at: int) -> PastTurn:
    """A turn that was answered in the minute `at`."""
    home.recorded_at = f"2026-11-21T12:{at:02}:00.000000Z"
    home.submit(session, turn, text)
    begins = home.session(session).started is None
    started = e.SessionStarted(
        session=session, kind="conversation", source="cli", model="m", system_prompt="p"
    )
    home.prefetch(session, started if begins else None)
    home.reply(session, "Yes.")
    home.record(session)
    return PastTurn(id=turn, stream=f"session-{session}", text=text, ended_at=home.recorded_at)


def chosen(home: WrittenHome, mode: e.VerifyMode, others: list[PastTurn]) -> list[tuple[str, bool]]:
    """The turns by their ids, and whether they are unrelated."""
    application = Application(load(home.environ), home.environ)
    try:
        version = home.session("s1").version
        request = replay_events.VerificationRequested(
            experiment="verify-v1", review="v1", session="s1", at=version, mode=mode
        )
        turns = VerifiedTurns(application.log, application.engine().sessions, lambda: others)
        found = turns.of(request, ["Likes green tea."])
        assert found == turns.of(request, ["Likes green tea."])
        assert all(len(turn.calls) == 1 for turn in found)
        return [(turn.turn, turn.unrelated) for turn in found]
    finally:
        application.close()


def test_turns_that_share_words_come_first_among_those_read_and_last_among_the_others(
    home: WrittenHome,
) -> None:
    others = [
        talk(home, "s2", "o1", "Which green paint?", 1),
        talk(home, "s3", "o2", "How far is the moon?", 2),
    ]
    for at, text in enumerate(("I like green tea", "What time is it?", "And now?"), start=3):
        talk(home, "s1", f"t{at}", text, at)
    late = talk(home, "s4", "o3", "Much later?", 30)
    others = [late, *reversed(others)]
    assert chosen(home, "cheap", others) == [("t3", False), ("o2", True)]
    assert chosen(home, "full", others) == [
        ("t3", False),
        ("t5", False),
        ("t4", False),
        ("o2", True),
        ("o1", True),
    ]


def test_other_conversations_alone_verify_nothing(home: WrittenHome) -> None:
    other = talk(home, "s2", "o1", "How far is the moon?", 1)
    home.submit("s1", "t1")
    assert chosen(home, "cheap", [other]) == []


def test_without_other_conversations_those_that_were_read_are_asked(home: WrittenHome) -> None:
    talk(home, "s1", "t1", "I like green tea", 1)
    assert chosen(home, "full", []) == [("t1", False)]
