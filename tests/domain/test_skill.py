"""A skill as state: what its facts come to, and how each write is taken back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import events as e
from hermes_jobs.features.skills.rules.skill import (
    MAIN_FILE,
    UNDOABLE,
    Files,
    Skill,
    changes,
    evolve,
    history,
    undone,
)

STREAM = "skill-tidy"
CREATED = e.SkillCreated(name="tidy", content="one", category="home", author="turn")


def folded(*facts: e.SkillEvent) -> Skill:
    return history(STREAM, facts)[-1]


def proposed(path: str = "", *, new_string: str = "") -> e.SkillProposed:
    asked = e.SkillRequest(action="patch", path=path, new_string=new_string)
    return e.SkillProposed(name="tidy", request=asked, rules=("a rule",), author="review")


def test_a_created_skill_has_its_files_and_category():
    skill = folded(CREATED, e.SkillFileWritten(name="tidy", path="scripts/a.sh", content="x", author="turn"))
    assert (skill.name, skill.category, skill.version, skill.exists) == ("tidy", "home", 2, True)
    assert skill.files == {MAIN_FILE: e.SkillFile("one"), "scripts/a.sh": e.SkillFile("x")}


def test_a_deleted_skill_has_neither_files_nor_proposals():
    skill = folded(CREATED, proposed(), e.SkillDeleted(name="tidy", author="user"))
    assert (skill.exists, skill.files, skill.proposals, skill.main) == (False, {}, (), "")


def test_an_edit_can_move_it_and_else_leaves_it_where_it_lies():
    stays = folded(CREATED, e.SkillEdited(name="tidy", content="two", author="turn"))
    moves = folded(CREATED, e.SkillEdited(name="tidy", content="two", category="", author="turn"))
    assert (stays.category, moves.category) == ("home", "")


def test_a_proposal_waits_until_it_is_decided_and_a_newer_one_for_the_file_replaces_it():
    waiting = folded(CREATED, proposed(new_string="a"), proposed("scripts/x"), proposed(new_string="b"))
    assert [(each.version, each.path) for each in waiting.proposals] == [(3, "scripts/x"), (4, MAIN_FILE)]
    assert waiting.proposals[1].before == e.SkillFile("one")
    denied = evolve(waiting, e.SkillDenied(name="tidy", proposal=3, by="user"))
    assert [each.version for each in denied.proposals] == [4]
    assert evolve(denied, e.SkillApproved(name="tidy", proposal=4, by="user")).proposals == ()


def test_undo_goes_back_write_by_write_to_before_the_beginning():
    facts: list[e.SkillEvent] = [
        CREATED,
        e.SkillPatched(
            name="tidy", path=MAIN_FILE, old_string="one", new_string="two", content="two", author="turn"
        ),
        e.SkillFileWritten(name="tidy", path="assets/a", content="x", author="turn"),
        e.SkillDeleted(name="tidy", author="turn"),
    ]
    skill = folded(*facts)
    taken_back = []
    for _ in facts:
        fact = undone(skill)
        taken_back.append((type(fact).__name__, fact.undoes))
        skill = evolve(skill, fact)
    assert taken_back == [
        ("SkillCreated", 4),
        ("SkillFileRemoved", 3),
        ("SkillEdited", 2),
        ("SkillDeleted", 1),
    ]
    with pytest.raises(Rejected, match="nothing to undo"):
        undone(skill)


def test_an_undone_skill_can_be_written_and_undone_again():
    skill = folded(CREATED)
    skill = evolve(skill, undone(skill))
    skill = evolve(skill, e.SkillCreated(name="tidy", content="other", author="turn"))
    fact = undone(skill)
    assert (type(fact), fact.undoes) == (e.SkillDeleted, 3)


def test_only_so_many_writes_are_kept_to_be_undone():
    edits = [e.SkillEdited(name="tidy", content=str(n), author="turn") for n in range(UNDOABLE + 5)]
    assert len(folded(CREATED, *edits).past) == UNDOABLE


FILES = st.dictionaries(
    st.sampled_from(["scripts/a", "scripts/b", "assets/c"]), st.builds(e.SkillFile, st.text(max_size=3))
)
CONTENTS = st.one_of(st.none(), st.tuples(st.text(max_size=3), FILES))


@given(st.lists(st.tuples(CONTENTS, st.sampled_from(["", "home", "work"])), max_size=8))
def test_changes_lead_from_any_files_to_any_others_and_undo_leads_back(states: Sequence) -> None:
    skill, reached = Skill(stream=STREAM), []
    for contents, category in states:
        files: Files = {} if contents is None else {**contents[1], MAIN_FILE: e.SkillFile(contents[0])}
        for fact in changes(skill, files, author="hand_edit", category=category):
            reached.append((skill.files, skill.category))
            skill = evolve(skill, fact)
        assert skill.files == files
        assert skill.category == (category if files else "")
        assert changes(skill, files, author="hand_edit", category=category) == ()
    for before in reversed(reached):
        skill = evolve(skill, undone(skill))
        assert (skill.files, skill.category) == before
