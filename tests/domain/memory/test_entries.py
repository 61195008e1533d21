"""What is known of entries, and where each is: in prompts, recalled, or left out."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_jobs.features.memory import events as e
from hermes_jobs.features.memory.rules.entries import (
    EXPIRED,
    Entry,
    Recorded,
    Since,
    Uses,
    entries_with_history,
    in_order,
    placed,
    with_uses,
)
from hermes_jobs.features.memory.rules.memory import Limits
from tests.domain.memory.remembering import EVIDENCE, added, folded

TEA, MILK, DOG = "User drinks tea", "User drinks milk", "Has a dog"
DAYS = [f"2026-01-{day:02d}T00:00:00.000000Z" for day in range(1, 32)]


def known(*facts: e.MemoryEvent) -> tuple[Entry, ...]:
    """The entries after these facts, one a day."""
    writes = [Recorded(number, fact, DAYS[number - 1]) for number, fact in enumerate(facts, start=1)]
    return entries_with_history(folded(facts), writes)


def confirmed(text: str) -> e.MemoryConfirmed:
    return e.MemoryConfirmed(target="memory", content=text, author="turn")


def texts(entries: Sequence[Entry]) -> list[str]:
    return [each.text for each in entries]


def test_an_entry_has_its_origin_and_the_usual_kind_of_its_target() -> None:
    user, memory = known(added(TEA, "user"), added(DOG))[::-1]
    assert (user.kind, memory.kind) == ("identity", "episodic")
    assert (user.evidence, user.version, user.written_at) == (EVIDENCE, 1, DAYS[0])


def test_a_replacement_is_a_new_fact_with_the_old_ones_kind_and_tags() -> None:
    first = e.MemoryAdded(target="memory", content=TEA, author="turn", kind="identity", tags=("drinks",))
    (entry,) = known(
        first, confirmed(TEA), e.MemoryReplaced(target="memory", old=TEA, content=MILK, author="turn")
    )
    assert (entry.kind, entry.tags, entry.version, entry.confirmations) == ("identity", ("drinks",), 3, 0)


def test_confirmations_are_counted_and_the_last_one_is_known() -> None:
    (entry,) = known(added(TEA), confirmed(TEA), confirmed(TEA))
    assert (entry.confirmations, entry.version, entry.touched_at) == (2, 1, DAYS[2])


def test_undoing_a_removal_restores_the_entrys_details() -> None:
    removed = e.MemoryRemoved(target="memory", old=TEA, author="turn")
    back = e.MemoryAdded(target="memory", content=TEA, author="user", undoes=3)
    assert known(added(TEA), confirmed(TEA), removed, back) == known(added(TEA), confirmed(TEA))


def test_another_kind_is_taken_back_too() -> None:
    other = e.MemoryReplaced(target="memory", old=TEA, content=TEA, author="user", kind="identity")
    back = e.MemoryReplaced(target="memory", old=TEA, content=TEA, author="user", undoes=2)
    (entry,) = known(added(TEA), other, back)
    assert entry.kind == "episodic"


def test_confirmed_entries_stay_in_prompts_before_newer_ones() -> None:
    found = placed(known(added(TEA), confirmed(TEA), added(MILK), added(DOG)), Limits(memory=len(TEA)))
    assert found.in_prompt("memory") == (TEA,)
    assert texts(found.recalled) == [MILK, DOG]
    assert texts(in_order(found)) == [TEA, MILK, DOG]


def test_an_identity_entry_comes_first_however_old_it_is() -> None:
    first = e.MemoryAdded(target="memory", content=TEA, author="turn", kind="identity")
    assert placed(known(first, added(MILK)), Limits(memory=20)).in_prompt("memory") == (TEA,)


def test_a_working_entry_is_in_prompts_of_its_own_lineage_until_it_expires() -> None:
    working = e.MemoryAdded(target="memory", content=TEA, author="turn", evidence=EVIDENCE, kind="working")
    (entry,) = known(working)
    assert placed([entry], Limits(), lineage="s1").in_prompt("memory") == (TEA,)
    assert placed([entry], Limits(), lineage="s2").left_out == {entry: "it is of one session alone"}
    late = placed([entry], Limits(), lineage="s1", since=Since(working=DAYS[5]))
    assert late.left_out == {entry: "it was of one session, and has expired"}


def test_recalled_entries_expire_unless_they_are_used() -> None:
    entries = known(added(TEA), added(MILK), added(DOG))
    since = Since(episodic=DAYS[20])
    assert placed(entries, Limits(memory=10), since=since).left_out == dict.fromkeys(entries[:2], EXPIRED)
    used = with_uses(entries, {2: Uses(1, DAYS[25])})
    found = placed(used, Limits(memory=10), since=since)
    assert (texts(found.recalled), found.in_prompt("memory")) == ([MILK], (DOG,))
