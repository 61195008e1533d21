"""The memory's curator: what it proposes, what is done of it, and taking that back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.curation import (
    Curate,
    MemoryProposal,
    UndoCuration,
    curations,
    proposals,
)
from hermes_jobs.features.memory.rules.entries import NEVER, Recorded, Since, entries_with_history, placed
from hermes_jobs.features.memory.rules.memory import Limits
from tests.domain.memory.remembering import added, decided, facts_of, folded
from tests.text.test_polarity import OPPOSITES

LIMITS = Limits()
TEA, SAME = "Maya drinks oat milk in her tea", "maya drinks  Oat milk in her tea."
MORE = "Maya drinks oat milk in her tea and coffee"
TUESDAY, THURSDAY = "The gym at Aireside is on Tuesdays", "The gym at Aireside is on Thursdays"


def proposed(
    facts: Sequence[e.MemoryEvent], limits: Limits = LIMITS, since: Since = NEVER
) -> tuple[MemoryProposal, ...]:
    writes = [Recorded(at, fact, f"2026-01-{at:02d}") for at, fact in enumerate(facts, start=1)]
    return proposals(placed(entries_with_history(folded(facts), writes), limits, since=since))


def curated(facts: Sequence[e.MemoryEvent], wanted: Sequence[MemoryProposal]) -> list[e.MemoryEvent]:
    return [*facts, *facts_of(decided(facts, Curate(wanted, len(facts), "c1", "curator")))]


def told(found: Sequence[MemoryProposal]) -> list[tuple[str, str]]:
    return [(each.rule, each.entry.text) for each in found]


def test_entries_equal_but_for_case_blanks_and_full_stops_are_merged() -> None:
    (found,) = proposed([added(TEA), added("Has a dog"), added(SAME)])
    assert (found.rule, found.entry.text, found.is_safe) == ("same", TEA, True)
    assert found.why == f"it says the same as “{SAME}”"


def test_of_two_that_are_the_same_the_persons_own_is_kept() -> None:
    mine = e.MemoryAdded(target="memory", content=TEA, author="user")
    assert told(proposed([mine, added(SAME)])) == [("same", SAME)]
    both = [mine, e.MemoryAdded(target="memory", content=SAME, author="hand_edit")]
    (found,) = proposed(both)
    assert not found.is_safe


def test_an_entry_whose_words_another_has_is_contained_and_left_to_a_person() -> None:
    (found,) = proposed([added(TEA), added(MORE)])
    assert (found.rule, found.entry.text, found.is_safe) == ("contained", TEA, False)


def test_the_older_of_two_that_share_most_words_may_be_contradicted() -> None:
    (found,) = proposed([added(TUESDAY), added(THURSDAY), added("Has a dog")])
    assert (found.rule, found.entry.text, found.is_safe) == ("contradicted", TUESDAY, False)
    assert THURSDAY in found.why
    assert "2026-01-02" in found.why


def test_unrelated_entries_are_kept() -> None:
    assert proposed([added(TEA), added(TUESDAY), added("Has a dog"), added("Has a cat")]) == ()


def test_expired_entries_are_removed_and_surplus_ones_move_to_recall() -> None:
    old = [added("Ships are painted red"), added("The museum lends drawings")]
    found = proposed(old, Limits(memory=30), Since(episodic="2026-01-30"))
    assert told(found) == [("expired", "Ships are painted red")]
    crowd = [added("Speaks German at home", "user"), added("Lives in a small house", "user")]
    (moved,) = proposed(crowd, Limits(user=25))
    assert (moved.rule, moved.entry.text) == ("crowded", "Speaks German at home")
    assert proposed(curated(crowd, [moved]), Limits(user=25)) == ()


def test_each_change_has_its_reason_and_one_undo_reverts_all() -> None:
    facts = [added(TEA), added(SAME), added("Speaks German", "user"), added(TUESDAY), added(f"{TUESDAY}.")]
    after = curated(facts, proposed(facts))
    assert folded(after).memory == (SAME, f"{TUESDAY}.")
    assert curations(after) == {"c1": (6, 7)}
    assert isinstance(after[5], e.MemoryRemoved)
    assert after[5].why == f"it says the same as “{SAME}”"

    back = [*after, *facts_of(decided(after, UndoCuration(after)))]

    assert set(folded(back).memory) == set(folded(facts).memory)
    with pytest.raises(Rejected, match="nothing that the curator did"):
        decided(back, UndoCuration(back))


def test_an_undo_skips_entries_added_since() -> None:
    facts = [added(TEA), added(SAME), added(TUESDAY), added(f"{TUESDAY}.")]
    after = [*curated(facts, proposed(facts)), added(TEA)]
    done = decided(after, UndoCuration(after))
    assert [fact.content for fact in facts_of(done) if isinstance(fact, e.MemoryAdded)] == [TUESDAY]
    assert "1 could not be" in str(done.answer)


def test_proposals_for_another_version_are_refused_whole() -> None:
    facts = [added(TEA), added(SAME)]
    with pytest.raises(Rejected, match="The memory has changed since"):
        decided([*facts, added("Has a dog")], Curate(proposed(facts), len(facts), "c1", "curator"))


def test_of_two_that_fill_one_slot_the_older_is_perhaps_contradicted() -> None:
    facts = [added("Dentist: Weber"), added("Has a dog"), added("The user's dentist is Keller")]
    (found,) = proposed(facts)
    assert (found.rule, found.entry.text, found.is_safe) == ("contradicted", "Dentist: Weber", False)
    assert found.why == "does “The user's dentist is Keller”, of 2026-01-03, replace it?"


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposites_are_a_question_about_the_older_and_never_contained(one: str, other: str) -> None:
    for older, newer in ((one, other), (other, one)):
        found = proposed([added(older), added("Has a dog"), added(newer)])
        assert {(each.rule, each.entry.text) for each in found} <= {("contradicted", older)}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user no longer prefers tea.", "The user prefers tea."),
        ("The user prefers tea.", "The user no longer prefers tea."),
        ("Server A is production", "Server A is not production"),
        ("Server A is not production", "Server A is production"),
    ],
)
def test_the_newer_of_two_opposites_holds_and_the_older_is_asked_about(older: str, newer: str) -> None:
    (found,) = proposed([added(older), added(newer)])
    assert (found.rule, found.entry.text, found.is_safe) == ("contradicted", older, False)
    assert found.why == f"does “{newer}”, of 2026-01-02, replace it?"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maya drinks green tea", "Maya's brother drinks green tea"),
        ("Bert reports to Anna", "Anna reports to Bert"),
        ("The backup runs on Sundays", "Tom doubts that the backup runs on Sundays"),
        ("The user drinks tea", "The user drinks tea, which is not true"),
    ],
)
def test_common_words_alone_do_not_prove_that_one_entry_contains_the_other(one: str, other: str) -> None:
    for facts in ([added(one), added(other)], [added(other), added(one)]):
        assert "contained" not in {each.rule for each in proposed(facts)}


def test_an_entry_that_was_confirmed_after_its_opposite_is_the_newer_one() -> None:
    confirmed = e.MemoryConfirmed(target="memory", content="Server A is production", author="turn")
    facts: list[e.MemoryEvent] = [added("Server A is production"), added("Server A is not production")]
    facts.append(confirmed)
    (found,) = proposed(facts)
    assert found.entry.text == "Server A is not production"


def test_a_sentence_that_denies_a_value_fills_no_slot() -> None:
    assert proposed([added("My dentist is Keller"), added("My dentist is no longer Weber")]) == ()
