"""Taking writes back, and what led to an entry."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.memory import history
from hermes_jobs.features.memory.rules.provenance import Undo, provenance
from tests.domain.memory.remembering import added, decided, facts_of, folded, remembering

TEA, COFFEE = "User drinks tea", "User drinks coffee"
REPLACED = e.MemoryReplaced(target="memory", old=TEA, content=COFFEE, author="review")
REMOVED = e.MemoryRemoved(target="memory", old=TEA, author="turn")


def undo(facts: list[e.MemoryEvent], version: int) -> list[e.MemoryEvent]:
    changed = decided(facts, Undo(version, facts[version - 1]))
    assert changed.answer == f"Write {version} is undone."
    return [*facts, *facts_of(changed)]


def test_undoing_an_addition_removes_the_entry():
    after = undo(remembering(TEA, COFFEE), 1)
    assert folded(after).memory == (COFFEE,)
    assert after[-1] == e.MemoryRemoved(target="memory", old=TEA, author="user", undoes=1)


def test_undoing_a_removal_restores_the_entry():
    assert folded(undo([*remembering(TEA), REMOVED], 2)).memory == (TEA,)


def test_undoing_a_replacement_restores_the_old_text():
    assert folded(undo([*remembering(TEA), REPLACED], 2)).memory == (TEA,)


def test_a_replaced_entry_that_was_written_anew_is_not_there_twice():
    assert folded(undo([*remembering(TEA), REPLACED, added(TEA)], 2)).memory == (TEA,)


def test_taking_back_can_be_taken_back():
    once = undo([*remembering(TEA), REPLACED], 2)
    assert folded(undo(once, 3)).memory == (COFFEE,)


def test_a_write_is_taken_back_once():
    with pytest.raises(Rejected, match="Write 1 was undone before"):
        undo(undo(remembering(TEA), 1), 1)


def test_an_entry_changed_since_is_not_undone():
    with pytest.raises(Rejected, match="“User drinks tea” was changed or removed since"):
        undo([*remembering(TEA), REPLACED], 1)
    with pytest.raises(Rejected, match="“User drinks tea” is there again"):
        undo([*remembering(TEA), REMOVED, added(TEA)], 2)


def test_an_entry_beyond_the_prompts_limit_can_be_undone():
    facts = [*remembering("a" * 190), e.MemoryRemoved(target="memory", old="a" * 190, author="turn")]
    assert folded(undo([*facts, added("b" * 100)], 2)).memory == ("b" * 100, "a" * 190)


def test_a_confirmation_changed_nothing_and_is_not_taken_back():
    confirmed = e.MemoryConfirmed(target="memory", content=TEA, author="turn")
    with pytest.raises(Rejected, match="Write 2 changed nothing"):
        undo([*remembering(TEA), confirmed], 2)


def test_an_entry_is_followed_back_through_its_forms():
    facts = [added("other"), *remembering(TEA), REPLACED]
    assert provenance(COFFEE, "memory", facts) == ((2, facts[1]), (3, REPLACED))
    assert provenance(COFFEE, "user", facts) == ()


def test_the_memory_of_each_version_is_known():
    facts = [*remembering(TEA), REPLACED]
    assert [each.memory for each in history(facts)] == [(), (TEA,), (COFFEE,)]
    assert [each.version for each in history(facts)] == [0, 1, 2]
