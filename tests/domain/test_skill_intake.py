"""What a person did to a skill's files, as facts: edits, removals, and what is only stale."""

from __future__ import annotations

import pytest

from hermes_jobs.features.skills import events as e
from hermes_jobs.features.skills.rules.import_edits import FolderFiles, import_edits
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Files, Skill, evolve, history

STREAM = "skill-tidy"
FRONT = "---\nname: tidy\ndescription: {}\n---\n"
ONE = FRONT.format("one") + "a\nb\nc\n"
TWO = FRONT.format("one") + "a\nb\nc\nby the agent\n"


def text(content: str) -> e.SkillFile:
    return e.SkillFile(content)


def created(files: Files | None = None) -> e.SkillCreated:
    return e.SkillCreated(name="tidy", content=ONE, files=files or {}, author="turn")


def edited(content: str) -> e.SkillEdited:
    return e.SkillEdited(name="tidy", content=content, author="turn")


def facts_after(
    facts: list[e.SkillEvent],
    found: dict[str, str] | None,
    *,
    laid_out: int | None = None,
    category: str = "",
) -> tuple[e.SkillWritten, ...]:
    """What is taken in where those facts stand in the log and these files lie there."""
    past = history(STREAM, facts)
    lies = (
        None
        if found is None
        else FolderFiles(category=category, files={p: text(c) for p, c in found.items()})
    )
    return import_edits(past[-1], lies, past=past, laid_out=None if laid_out is None else past[laid_out])


def after(facts: list[e.SkillEvent], found: dict[str, str], *, laid_out: int | None = None) -> Skill:
    skill = history(STREAM, facts)[-1]
    for fact in facts_after(facts, found, laid_out=laid_out):
        assert fact.author == "hand_edit"
        skill = evolve(skill, fact)
    return skill


def test_files_as_the_log_has_them_are_no_edit():
    assert facts_after([created()], {MAIN_FILE: ONE}, laid_out=1) == ()


def test_a_folder_that_was_dropped_there_is_one_new_skill():
    (fact,) = facts_after([], {MAIN_FILE: ONE, "forms.md": "x"}, category="home")
    assert fact == e.SkillCreated(
        name="tidy", content=ONE, category="home", files={"forms.md": text("x")}, author="hand_edit"
    )


def test_a_file_that_the_log_once_had_is_stale():
    assert facts_after([created(), edited(TWO)], {MAIN_FILE: ONE}, laid_out=1) == ()
    assert facts_after([created(), edited(TWO)], {MAIN_FILE: ONE}) == ()


def test_the_stale_folder_of_a_deleted_skill_is_no_new_skill():
    deleted = e.SkillDeleted(name="tidy", author="user")
    assert facts_after([created(), edited(TWO), deleted], {MAIN_FILE: ONE}, laid_out=1) == ()


def test_an_edited_file_of_a_deleted_skill_brings_the_skill_back():
    deleted = e.SkillDeleted(name="tidy", author="user")
    (fact,) = facts_after([created(), deleted], {MAIN_FILE: f"{ONE}mine\n"}, laid_out=1)
    assert isinstance(fact, e.SkillCreated)
    assert fact.content == f"{ONE}mine\n"


def test_concurrent_changes_of_person_and_agent_are_both_kept():
    mine = ONE.replace("a\n", "a, by hand\n")
    skill = after([created(), edited(TWO)], {MAIN_FILE: mine}, laid_out=1)
    assert skill.main == FRONT.format("one") + "a, by hand\nb\nc\nby the agent\n"


def test_a_front_matter_field_keeps_the_persons_value():
    theirs = TWO.replace("description: one", "description: the agent's")
    mine = ONE.replace("description: one", "description: mine")
    assert after([created(), edited(theirs)], {MAIN_FILE: mine}, laid_out=1).main == TWO.replace(
        "description: one", "description: mine"
    )


def test_an_imported_edit_is_not_imported_twice():
    mine = FRONT.format("one") + "a\nby hand\nc\n"
    facts: list[e.SkillEvent] = [created(), edited(FRONT.format("one") + "a\nby the agent\nc\n")]
    taken = facts_after(facts, {MAIN_FILE: mine}, laid_out=1)
    assert len(taken) == 1
    assert facts_after([*facts, *taken], {MAIN_FILE: mine}, laid_out=1) == ()


def test_each_edited_added_and_removed_file_is_one_fact():
    files = {"references/a": text("a\n"), "references/b": text("b\n"), "references/c": text("c\n")}
    found = {MAIN_FILE: ONE, "references/a": "a\nmore\n", "references/c": "c\n", "references/d": "d\n"}
    facts = facts_after([created(files)], found, laid_out=1)
    assert [(type(each).__name__, getattr(each, "path", "")) for each in facts] == [
        ("SkillFileWritten", "references/a"),
        ("SkillFileRemoved", "references/b"),
        ("SkillFileWritten", "references/d"),
    ]


def test_a_file_that_was_not_written_there_yet_was_not_removed():
    written = e.SkillFileWritten(name="tidy", path="references/a", content="a", author="turn")
    assert facts_after([created(), written], {MAIN_FILE: ONE}, laid_out=1) == ()
    assert facts_after([created(), written], {MAIN_FILE: ONE}) == ()
    (fact,) = facts_after([created(), written], {MAIN_FILE: ONE}, laid_out=2)
    assert isinstance(fact, e.SkillFileRemoved)


def test_a_removed_file_that_was_changed_elsewhere_is_written_again():
    written = e.SkillFileWritten(name="tidy", path="references/a", content="a", author="turn")
    changed = e.SkillFileWritten(name="tidy", path="references/a", content="b", author="turn")
    assert facts_after([created(), written, changed], {MAIN_FILE: ONE}, laid_out=2) == ()


def test_a_folder_that_is_gone_is_a_deleted_skill_where_it_lay_there_as_it_is():
    assert facts_after([created()], None) == ()
    assert facts_after([created(), edited(TWO)], None, laid_out=1) == ()
    (fact,) = facts_after([created()], None, laid_out=1)
    assert isinstance(fact, e.SkillDeleted)


def test_skill_md_alone_is_written_again_where_it_is_gone():
    assert facts_after([created({"assets/a": text("x")})], {"assets/a": "x"}, laid_out=1) == ()


def test_of_two_binary_forms_the_persons_is_kept():
    old = e.SkillFile("AAAA", base64=True)
    agents = e.SkillFileWritten(name="tidy", path="assets/a", content="BBBB", base64=True, author="turn")
    past = history(STREAM, [created({"assets/a": old}), agents])
    mine = {MAIN_FILE: text(ONE), "assets/a": e.SkillFile("CCCC", base64=True)}
    (fact,) = import_edits(past[-1], FolderFiles(category="", files=mine), past=past, laid_out=past[1])
    assert isinstance(fact, e.SkillFileWritten)
    assert fact.content == "CCCC"


@pytest.mark.parametrize(
    ("laid_out", "category", "moved"),
    [(1, "work", "work"), (None, "work", "work"), (None, "", None), (1, "", None), (2, "", "")],
)
def test_a_folder_in_a_new_place_was_moved_by_hand(
    laid_out: int | None, category: str, moved: str | None
) -> None:
    went = e.SkillEdited(name="tidy", content=ONE, category="home", author="turn")
    facts = facts_after([created(), went], {MAIN_FILE: ONE}, laid_out=laid_out, category=category)
    assert [fact.category for fact in facts if isinstance(fact, e.SkillEdited)] == (
        [] if moved is None else [moved]
    )
