"""What a few characters mean: ids, their beginnings, titles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.tables import select_delivery
from hermes_jobs.features.reviews.tables import select_review
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import append, new_log


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    """Two sessions, `ab1` with a title and `ab2`; turns `t1` and `t10`, and one of a review."""
    log = new_log(tmp_path)
    opening = e.Opening(kind="review")
    facts: list[tuple[str, e.SessionEvent]] = [
        ("session-ab1", e.TurnSubmitted(turn="t1", text="one", source="cli", session="ab1")),
        ("session-ab1", e.SessionTitled(session="ab1", title="Straße")),
        ("session-ab2", e.TurnSubmitted(turn="t10", text="two", source="cli", session="ab2")),
        ("session-rev", e.TurnSubmitted(turn="u1", text="r", source="x", session="rev", opening=opening)),
    ]
    append(log, facts)
    views = Views(log, tmp_path / "views")
    yield views
    views.close()
    log.close()


@pytest.mark.parametrize(("given", "turn"), [("t1", "t1"), ("t10", "t10"), ("u", "u1")])
def test_a_whole_id_or_a_unique_beginning_names_a_turn(given: str, turn: str, views: Views) -> None:
    assert views.find_turn(given) == turn


@pytest.mark.parametrize("given", ["t1-1", "t1-1-0", "t1-prefetch", "t1-1-0~2", "t1-compress-1"])
def test_a_step_s_id_as_flower_shows_it_names_its_turn(given: str, views: Views) -> None:
    assert views.find_turn(given) == "t1"


@pytest.mark.parametrize(("given", "session"), [("ab1", "ab1"), ("r", "rev"), ("STRASSE", "ab1")])
def test_an_id_a_beginning_or_a_title_names_a_session(given: str, session: str, views: Views) -> None:
    assert views.find_session(given) == session


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ("t", "ambiguous", "t1 “one”, t10 “two”"),
        ("t11", "unknown_turn", "t1"),
        ("t-1", "unknown_turn", "t1"),
        ("", "unknown_turn", ""),
        ("%", "unknown_turn", ""),
    ],
)
def test_an_ambiguous_turn_is_refused_with_the_candidates(
    given: str, kind: str, told: str, views: Views
) -> None:
    with pytest.raises(Rejected) as refused:
        views.find_turn(given)
    assert refused.value.kind == kind
    assert told in refused.value.message


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ("ab", "ambiguous", "ab1 “Straße”, ab2 “two”"),
        ("Strase", "unknown_session", "Straße"),
        ("", "unknown_session", ""),
    ],
)
def test_an_ambiguous_session_is_refused_with_the_candidates(
    given: str, kind: str, told: str, views: Views
) -> None:
    with pytest.raises(Rejected) as refused:
        views.find_session(given)
    assert refused.value.kind == kind
    assert told in refused.value.message


def test_sessions_of_reviews_are_left_out_unless_asked_for(views: Views) -> None:
    assert [session.id for session in views.sessions()] == ["ab2", "ab1"]
    assert [session.id for session in views.sessions(hidden=True)] == ["rev", "ab2", "ab1"]


def test_turns_of_reviews_are_left_out_unless_asked_for(views: Views) -> None:
    assert [turn.id for turn in views.turns()] == ["t10", "t1"]
    assert [turn.id for turn in views.turns(hidden=True)] == ["u1", "t10", "t1"]
    assert [turn.id for turn in views.turns(session="rev")] == ["u1"]


@pytest.mark.parametrize(
    ("given", "turn"), [("last", "t10"), ("last~0", "t10"), ("last~", "t1"), ("last~1", "t1")]
)
def test_last_is_the_newest_turn_that_is_listed(given: str, turn: str, views: Views) -> None:
    assert views.find_turn(given) == turn


def test_last_is_the_session_used_last_and_in_one_the_newest_of_its_turns(views: Views) -> None:
    assert [views.find_session(given) for given in ("last", "last~1")] == ["ab2", "ab1"]
    assert views.find_turn("last", session="rev") == "u1"


@pytest.mark.parametrize(
    ("given", "session", "told", "hint"),
    [
        (
            "last~2",
            None,
            "'last~2' names nothing: there are 2 turns.",
            "`last` is the newest, `last~1` the oldest.",
        ),
        ("last~1", "ab1", "'last~1' names nothing: there is 1 turn in this session.", ""),
    ],
)
def test_too_high_a_number_is_refused_with_the_count(
    given: str, session: str | None, told: str, hint: str, views: Views
) -> None:
    with pytest.raises(Rejected) as refused:
        views.find_turn(given, session=session)
    assert (refused.value.kind, refused.value.message, refused.value.hint) == ("unknown_turn", told, hint)


def test_where_nothing_is_there_is_no_last(views: Views) -> None:
    for what, find in (
        ("schedule", views.find_schedule),
        ("review", lambda name: views.read(select_review, name)),
        ("delivery", lambda name: views.read(select_delivery, name)),
    ):
        with pytest.raises(Rejected, match=f"'last' names nothing: there is no {what} yet") as refused:
            find("last")
        assert refused.value.kind == f"unknown_{what}"
