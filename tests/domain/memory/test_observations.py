"""Observations of a model's answer: each is taken or refused for itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.entries import Recorded, entries_with_history, placed
from hermes_jobs.features.memory.rules.memory import Limits
from hermes_jobs.features.memory.rules.observations import (
    MOST,
    SUPERSEDED,
    Observation,
    PortionTurn,
    Written,
    names_of,
    observations,
    of_sessions,
    written,
)
from hermes_jobs.kernel.streams.decision import DecisionResult
from tests.domain.memory.remembering import added, facts_of, folded

TURNS = tuple(
    PortionTurn(
        id=turn, session="s1", at=f"{day}T12:00:00Z", day=day, version=version, prompt="Hm.", answer="Yes."
    )
    for turn, day, version in (("t1", "2026-11-20", 5), ("t2", "2026-11-21", 9))
)
FACT = "Anna lives in Bern."


def answer(**others: Any) -> dict[str, Any]:
    return {"text": FACT, "date": "2026-11-20", "about": ["Anna"], "turns": ["t1"], **others}


def observed(*sessions: str) -> list[e.MemoryEvent]:
    """An observation of each session, `Fact of SESSION`."""
    return [
        e.MemoryAdded(
            target="memory",
            content=f"Fact of {session}",
            author="consolidation",
            evidence=e.Evidence(session=session, turn="t1"),
            kind="episodic",
            tags=("observation", session, "shared"),
            observed="2026-11-20",
            observed_in=("t1",),
        )
        for session in sessions
    ]


def test_an_observation_has_its_day_turns_and_subject() -> None:
    (found,), refused = observations([answer(turns=["t2", "t1", "t2"])], TURNS)
    assert (found.text, found.day, found.turns, found.session) == (FACT, "2026-11-20", ("t2", "t1"), "s1")
    assert (found.about, found.number, refused) == (("Anna",), 1, ())


def test_without_a_date_it_is_of_the_day_of_its_last_turn() -> None:
    (found,), _ = observations([answer(date=None, turns=["t1", "t2"])], TURNS)
    assert found.day == "2026-11-21"


@pytest.mark.parametrize(
    ("given_answer", "kind"),
    [
        ("Anna lives in Bern.", "malformed"),
        (answer(about="Anna"), "malformed"),
        (answer(text=""), "no_text"),
        (answer(text=7), "no_text"),
        (answer(text="a\nb"), "long"),
        (answer(text="x" * 301), "long"),
        (answer(turns=[]), "no_evidence"),
        (answer(turns=None), "no_evidence"),
        (answer(turns=["t1", "t9"]), "unknown_turn"),
        (answer(turns=[["t1"]]), "unknown_turn"),
        (answer(date="yesterday"), "bad_date"),
        (answer(date=20261120), "bad_date"),
        (answer(date="2026-11-22"), "bad_date"),
    ],
)
def test_an_invalid_one_is_refused_and_the_others_are_taken(given_answer: object, kind: str) -> None:
    found, refused = observations([given_answer, answer()], TURNS)
    assert [each.number for each in found] == [2]
    assert [(each.number, each.kind) for each in refused] == [(1, kind)]


def test_no_more_than_the_most_are_taken() -> None:
    found, refused = observations([answer(text=f"Fact {number}") for number in range(MOST + 2)], TURNS)
    assert len(found) == MOST
    assert [each.kind for each in refused] == ["too_many"] * 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "date", "about", "turns", "x"]), inner, max_size=4)
    ),
)


@given(st.lists(JSON, max_size=30))
def test_each_observation_is_accepted_or_refused_once(answers: list[object]) -> None:
    found, refused = observations(answers, TURNS)
    numbers = [*(each.number for each in found), *(each.number for each in refused)]
    assert sorted(numbers) == list(range(1, len(answers) + 1))
    for each in found:
        assert each.turns
        assert set(each.turns) <= {"t1", "t2"}
        assert each.day <= "2026-11-21"


def test_a_refused_secret_leaves_no_word_of_it() -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    found, _ = observations([answer(text=f"The key is {secret}."), answer(about=[secret[:39]])], TURNS)
    outcome = written(lambda stream: folded([]), found, 2_000, "o1")
    assert outcome.writes == ()
    assert [each.kind for each in outcome.refused] == ["memory_scan", "memory_scan"]
    assert not any(secret[:12] in each.why for each in outcome.refused)


def test_no_prompt_has_an_observation_unless_a_person_wants_it() -> None:
    facts = [*observed("s1"), added("Likes tea")]
    promoted = e.MemoryReplaced(
        target="memory", old="Fact of s1", content="Fact of s1", author="user", kind="identity"
    )
    for events, whole, recalled in (
        (facts, ("Likes tea",), ["Fact of s1"]),
        ([*facts, promoted], ("Fact of s1", "Likes tea"), []),
    ):
        writes = [Recorded(at, fact, f"2026-11-{at:02d}") for at, fact in enumerate(events, start=1)]
        found = placed(entries_with_history(folded(events), writes), Limits(memory=2_000, user=1_000))
        assert (found.in_prompt("memory"), [each.text for each in found.recalled]) == (whole, recalled)


def test_an_observation_keeps_its_day_when_it_is_changed() -> None:
    changed = e.MemoryReplaced(target="memory", old="Fact of s1", content="Another", author="user")
    events = [*observed("s1"), changed]
    writes = [Recorded(at, fact, f"2026-12-{at:02d}") for at, fact in enumerate(events, start=1)]
    (entry,) = entries_with_history(folded(events), writes)
    assert (entry.text, entry.day, entry.is_observation) == ("Another", "2026-11-20", True)


def test_observations_of_a_session_are_found_except_those_also_saved_elsewhere() -> None:
    saved = e.MemoryConfirmed(target="memory", content="Fact of s2", author="user")
    facts = [*observed("s1", "s2", "s3"), saved]
    assert of_sessions(facts, {"s1", "s2"}) == {"Fact of s1"}
    assert names_of(facts, {"Fact of s1"}) == {"s1"}


def said(text: str, day: str, *, hour: int = 12, number: int = 1, slot: str = "") -> Observation:
    at = f"{day}T{hour:02}:00:00Z"
    return Observation(number=number, text=text, day=day, turns=("t1",), session="s1", said_at=at, slot=slot)


def consolidated(*answers: Observation | tuple[Observation, ...]) -> tuple[list[e.MemoryEvent], Written]:
    """The writes of answers that were read in that order, and what the last one came to."""
    facts: list[e.MemoryEvent] = []
    outcome = Written((), 0, 0, ())
    for each in answers:
        found = each if isinstance(each, tuple) else (each,)
        outcome = written(lambda stream: folded(facts), found, 2_000, "o1")  # noqa: B023 - called at once
        facts = [*facts, *facts_of(DecisionResult(writes=outcome.writes))]
    return facts, outcome


BERN, YORK = "The user lives in Bern.", "The user has moved to York."


def test_the_later_of_two_that_cannot_both_hold_takes_the_place_of_the_earlier_one() -> None:
    facts, outcome = consolidated(said(BERN, "2026-11-20"), said(YORK, "2026-11-25"))
    assert folded(facts).memory == (YORK,)
    replaced = facts[-1]
    assert isinstance(replaced, e.MemoryReplaced)
    assert (replaced.old, replaced.observed, replaced.observed_in) == (BERN, "2026-11-25", ("t1",))
    assert (outcome.saved, outcome.refused) == (1, ())
    writes = [Recorded(at, fact, f"2026-12-{at:02d}") for at, fact in enumerate(facts, start=1)]
    (entry,) = entries_with_history(folded(facts), writes)
    assert (entry.text, entry.day, entry.is_observation) == (YORK, "2026-11-25", True)


def test_an_older_fact_that_is_read_later_is_refused_with_the_reason() -> None:
    facts, outcome = consolidated(said(YORK, "2026-11-25"), said(BERN, "2026-11-20"))
    assert folded(facts).memory == (YORK,)
    assert [each.kind for each in outcome.refused] == [SUPERSEDED]


def test_of_one_day_the_hour_decides_and_of_one_moment_both_stay() -> None:
    facts, _ = consolidated(said(YORK, "2026-11-20", hour=17), said(BERN, "2026-11-20", hour=9))
    assert folded(facts).memory == (YORK,)
    facts, _ = consolidated((said(BERN, "2026-11-20"), said(YORK, "2026-11-20", number=2)))
    assert folded(facts).memory == (BERN, YORK)


def test_a_later_statement_about_an_earlier_day_keeps_both() -> None:
    late = said(BERN, "2024-01-01")
    late = Observation(
        **{**{name: getattr(late, name) for name in late.__struct_fields__}, "said_at": "2026-12-01"}
    )
    facts, _ = consolidated(said(YORK, "2026-11-25"), late)
    assert folded(facts).memory == (YORK, BERN)


def test_a_change_of_mind_within_one_answer_keeps_the_later() -> None:
    facts, outcome = consolidated((said(YORK, "2026-11-25", number=1), said(BERN, "2026-11-20", number=2)))
    assert folded(facts).memory == (YORK,)
    assert (outcome.saved, len(facts)) == (2, 2)


def test_a_slot_that_the_model_names_counts_as_one_that_rules_read() -> None:
    oat = said("Drinks oat milk.", "2026-11-20", slot="Maya: milk")
    soy = said("Went off oat milk, takes soy.", "2026-11-24", slot="maya:  Milk")
    assert folded(consolidated(oat, soy)[0]).memory == (soy.text,)
    facts, _ = consolidated(oat, said("Has a dog.", "2026-11-24", slot="Maya: dog"))
    assert len(folded(facts).memory) == 2


def test_a_slot_used_twice_in_an_answer_is_ignored() -> None:
    found, _ = observations(
        [answer(slot="Maya: likes"), answer(slot="maya: likes"), answer(slot="Maya: town")], TURNS
    )
    assert [each.slot for each in found] == ["", "", "Maya: town"]
    found, _ = observations([answer(slot="x" * 81), answer(slot=7), answer(slot=None)], TURNS)
    assert [each.slot for each in found] == ["", "", ""]


def test_entries_of_a_person_are_never_replaced() -> None:
    own = e.MemoryAdded(target="memory", content="I live in Leeds", author="user")
    first, _ = consolidated(said(BERN, "2026-11-20"))
    kept = e.MemoryReplaced(target="memory", old=BERN, content=BERN, author="user", kind="identity")
    facts = [own, *first, kept]
    outcome = written(lambda stream: folded(facts), [said(YORK, "2026-11-25")], 2_000, "o1")
    assert [type(each) for each in facts_of(DecisionResult(writes=outcome.writes))] == [e.MemoryAdded]


def test_a_newer_observation_replaces_all_older_ones_of_its_slot() -> None:
    both = [
        *consolidated(said(BERN, "2026-11-20"))[0],
        *consolidated(said("I live in Leeds", "2026-11-21"))[0],
    ]
    outcome = written(lambda stream: folded(both), [said(YORK, "2026-11-25")], 2_000, "o1")
    facts = facts_of(DecisionResult(writes=outcome.writes))
    assert folded([*both, *facts]).memory == (YORK,)
    removed = facts[-1]
    assert isinstance(removed, e.MemoryRemoved)
    assert removed.why == f"“{YORK}” takes its place"


def test_a_slot_is_forgotten_with_its_observation() -> None:
    facts, _ = consolidated(said("Drinks oat milk.", "2026-11-20", slot="Maya: milk"))
    assert names_of(facts, {"Drinks oat milk."}) == {"Maya: milk"}
