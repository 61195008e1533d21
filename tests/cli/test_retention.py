"""`retention.days`: conversations that nobody has used for so long are deleted, by whoever keeps house."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from tests.home import Ran
from tests.written_home import WrittenHome

LONG_AGO = "2020-01-01T12:00:00.000000Z"
SAID = "zanzibar"


@pytest.fixture
def old(home: WrittenHome) -> WrittenHome:
    """A home with an answered conversation of long ago, `aa`, and one that waits for a person, `bb`."""
    home.environ["HERMES_JOBS_MODEL"] = "rehearsal"
    home.recorded_at = LONG_AGO
    home.submit("aa", "t1", f"Tell me of {SAID}.")
    prompt = f"Be brief about {SAID}."
    home.prefetch(
        "aa",
        e.SessionStarted(session="aa", kind="conversation", source="cli", model="m", system_prompt=prompt),
    )
    home.reply("aa", f"{SAID} is an island.")
    home.record("aa")
    home.submit("bb", "t2", text=f"{SAID} again")
    home.prefetch("bb")
    home.reply("bb", "May I?", "terminal", approval=True)
    return home


def sent(home: WrittenHome, days: int | None) -> Ran:
    """A `send` in a new session, with that retention."""
    kept = {} if days is None else {"HERMES_JOBS_RETENTION__DAYS": str(days)}
    ran = home.run("send", "Hello", **kept)
    assert ran.code == 0, ran
    return ran


def said(home: WrittenHome, session: str) -> str:
    return home.run("sessions", "show", session, "--json").out


def test_an_old_conversation_goes_and_one_that_waits_stays(old: WrittenHome) -> None:
    sent(old, 30)
    listed = old.run("sessions", "list", "--json").json
    assert "aa" not in [each["session"] for each in listed]
    assert SAID not in said(old, "aa")
    assert SAID in said(old, "bb")
    assert old.run("sessions", "search", "island", "--json").json == []
    assert old.run("events", "verify").code == 0
    facts = old.run("events", "--stream", "forgetting-", "--json").out
    assert '"cause":"retention"' in facts
    assert '"by":"retention"' in facts
    assert "Not used for 30 days (retention.days)." in facts


@pytest.mark.parametrize("days", [None, 100_000])
def test_without_a_limit_or_before_it_nothing_goes(old: WrittenHome, days: int | None) -> None:
    sent(old, days)
    assert SAID in said(old, "aa")


def test_a_conversation_stays_as_long_as_its_fork_and_goes_with_it(old: WrittenHome) -> None:
    fork = old.run("sessions", "fork", "aa", "--json").json["session"]
    sent(old, 30)
    assert SAID in said(old, "aa"), "the fork was made just now"
    old.run("sessions", "delete", fork, "--yes")
    (old.path / "run" / "housekept").unlink()
    sent(old, 30)
    assert SAID not in said(old, "aa")
    assert old.run("events", "verify").code == 0


def test_a_sub_agent_that_waits_for_its_place_stays(old: WrittenHome) -> None:
    payer = e.Payer(turn="t9", stream="session-rr")
    place = e.Delegation(turn="t3", parent="rr", parent_turn="t9", call="t9-1-0", payers=(payer,))
    text = e.TurnSubmitted(
        turn="t3",
        text=f"Look for {SAID}",
        source="parent:rr",
        session="cc",
        opening=e.Opening(kind="child", delegation=place),
        held=True,
    )
    waits = e.ChildrenQueued(
        children=(e.QueuedChild(session="cc", root="t9"),), per_root=0, per_home=0
    )  # no place is left
    writes = (
        StreamWrite(stream="session-cc", events=(text,), expected=0),
        StreamWrite(stream="children", events=(waits,), expected=0),
    )
    old.log.append(Append(meta=EventMeta(worker="w1"), recorded_at=LONG_AGO, writes=writes))
    sent(old, 30)
    assert SAID in said(old, "cc")
    assert SAID not in said(old, "aa")


def test_send_keeps_house_once_a_day(old: WrittenHome) -> None:
    sent(old, 100_000)
    sent(old, 30)
    assert SAID in said(old, "aa"), "it was looked today"
