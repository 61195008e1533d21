"""The home's skills: files follow the log on every host, and what people do to them becomes events."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import events as e
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.skills.hosts import Host, skill_text


@pytest.fixture
def host(log: SqlEventLog, tmp_path: Path) -> Host:
    return Host(log, tmp_path / "one")


@pytest.fixture
def other(log: SqlEventLog, tmp_path: Path) -> Host:
    return Host(log, tmp_path / "two")


def types(host: Host, name: str) -> list[str]:
    return [type(fact).__name__ for fact in host.facts(name)]


# --- the log's writes as files ---------------------------------------------------------------


def test_a_written_skill_is_on_disk_at_once(host):
    host.create("tidy", "1. Tidy.", category="home")
    host.ask("write_file", "tidy", path="scripts/run.sh", content="#!/bin/sh\necho hi\n")
    host.ask("write_file", "tidy", path="references/deep/a.md", content="a\n")
    host.ask("patch", "tidy", old_string="1. Tidy.", new_string="1. Tidy well.")
    assert host.files() == {
        "home/tidy/SKILL.md": skill_text("tidy", "1. Tidy well.").encode(),
        "home/tidy/scripts/run.sh": b"#!/bin/sh\necho hi\n",
        "home/tidy/references/deep/a.md": b"a\n",
    }
    assert (host.root / "home/tidy/scripts/run.sh").stat().st_mode & 0o777 == 0o700
    assert (host.root / "home/tidy/SKILL.md").stat().st_mode & 0o777 == 0o600
    assert types(host, "tidy") == ["SkillCreated", "SkillFileWritten", "SkillFileWritten", "SkillPatched"]


def test_removed_files_and_deleted_skills_leave_no_empty_folders(host):
    host.create("tidy", category="home")
    host.ask("write_file", "tidy", path="references/deep/a.md", content="a\n")
    host.ask("remove_file", "tidy", path="references/deep/a.md")
    assert not (host.root / "home/tidy/references").exists()
    host.ask("delete", "tidy")
    assert not (host.root / "home").exists()


def test_a_skill_moves_with_its_files(host):
    host.create("tidy", category="home")
    host.put("home/tidy/.notes", "a person's own")
    host.ask("edit", "tidy", content=skill_text("tidy"), category="work")
    assert list(host.files()) == ["work/tidy/SKILL.md"]
    assert host.read("work/tidy/.notes") == "a person's own"


def test_every_host_lays_out_the_same_files(host, other):
    host.create("tidy")
    host.put("pdf/SKILL.md", skill_text("pdf"))
    host.put("pdf/assets/logo.png", b"\x89PNG\x00\xff")
    host.home.sync()
    other.home.sync()
    other.ask("patch", "tidy", old_string="Do it.", new_string="Do it well.")
    host.home.sync()
    assert host.files() == other.files()
    assert sorted(host.files()) == ["pdf/SKILL.md", "pdf/assets/logo.png", "tidy/SKILL.md"]
    other.ask("delete", "pdf")
    host.home.sync()
    assert list(host.files()) == list(other.files()) == ["tidy/SKILL.md"]


def test_a_home_that_lost_its_skills_gets_them_back(host):
    host.create("tidy")
    shutil.rmtree(host.root)
    host.home.sync()
    assert list(host.files()) == ["tidy/SKILL.md"]
    assert types(host, "tidy") == ["SkillCreated"]


# --- what people do --------------------------------------------------------------------------


def test_a_folder_from_elsewhere_is_taken_in_whole(host):
    host.put("tools/pdf_tools/SKILL.md", "---\nname: PDF\ndescription: Use when: asked\n---\nRead forms.md\n")
    host.put("tools/pdf_tools/forms.md", "forms\n")
    host.put("tools/pdf_tools/assets/a.bin", b"\0\1")
    host.put("tools/pdf_tools/__pycache__/a.pyc", b"\0")
    host.put("tools/pdf_tools/.git/config", "x")
    skills = host.home.sync()
    assert sorted(skills["pdf_tools"].files) == ["SKILL.md", "assets/a.bin", "forms.md"]
    assert skills["pdf_tools"].category == "tools"
    (fact,) = host.facts("pdf_tools")
    assert isinstance(fact, e.SkillCreated)
    assert fact.author == "hand_edit"
    assert host.home.problems == ()


def test_an_edit_by_hand_before_the_agents_write_and_saved_after_it_is_kept_with_it(host):
    host.create("tidy", "1. Tidy.\n2. Rest.\n3. Look.")
    opened = host.read("tidy/SKILL.md")
    host.ask("patch", "tidy", old_string="1. Tidy.", new_string="1. Tidy well.")
    host.put("tidy/SKILL.md", opened.replace("3. Look.", "3. Look twice."))
    host.home.sync()
    assert host.read("tidy/SKILL.md") == skill_text("tidy", "1. Tidy well.\n2. Rest.\n3. Look twice.")
    assert types(host, "tidy") == ["SkillCreated", "SkillPatched", "SkillEdited"]
    assert host.agrees()


def test_edits_on_two_hosts_at_once_are_both_kept(host, other):
    host.create("tidy", "1. Tidy.\n2. Rest.\n3. Look.")
    other.home.sync()
    host.put("tidy/SKILL.md", host.read("tidy/SKILL.md").replace("1. Tidy.", "1. Here."))
    other.put("tidy/SKILL.md", other.read("tidy/SKILL.md").replace("3. Look.", "3. There."))
    host.home.sync()
    other.home.sync()
    host.home.sync()
    assert host.read("tidy/SKILL.md") == skill_text("tidy", "1. Here.\n2. Rest.\n3. There.")
    assert host.files() == other.files()


STEPS = "1. Tidy.\n2. Rest.\n3. Look."


def in_place(host, text):
    host.put("tidy/SKILL.md", text)


def by_renaming(host, text):
    draft = host.put("draft.md", text)
    draft.replace(host.root / "tidy/SKILL.md")


SAVES = pytest.mark.parametrize("save", [in_place, by_renaming])


@SAVES
def test_a_line_of_the_agents_that_a_person_deleted_stays_deleted(host, save):
    host.create("tidy", STEPS)
    host.ask("patch", "tidy", old_string="3. Look.", new_string="3. Look.\n4. Sing.")
    save(host, host.read("tidy/SKILL.md").replace("\n4. Sing.", ""))
    host.home.sync()
    assert host.read("tidy/SKILL.md") == skill_text("tidy", STEPS)
    assert types(host, "tidy") == ["SkillCreated", "SkillPatched", "SkillEdited"]
    assert host.agrees()


@SAVES
def test_a_line_that_the_agent_adds_while_the_file_is_open_in_an_editor_stays(host, save):
    host.create("tidy", STEPS)
    opened = host.read("tidy/SKILL.md")
    host.ask("patch", "tidy", old_string="1. Tidy.", new_string="0. Breathe.\n1. Tidy.")
    save(host, opened.replace("\n3. Look.", ""))
    host.home.sync()
    assert host.read("tidy/SKILL.md") == skill_text("tidy", "0. Breathe.\n1. Tidy.\n2. Rest.")
    assert host.agrees()


@SAVES
def test_a_line_changed_by_both_is_kept_in_both_forms_as_a_conflict(host, save):
    host.create("tidy", STEPS)
    opened = host.read("tidy/SKILL.md")
    host.ask("patch", "tidy", old_string="1. Tidy.", new_string="1. Tidy well.")
    save(host, opened.replace("1. Tidy.", "1. Tidy fast."))
    host.home.sync()
    both = "1. Tidy well.\n1. Tidy fast.\n2. Rest.\n3. Look."
    assert host.read("tidy/SKILL.md") == skill_text("tidy", both)
    assert host.facts("tidy")[-1].conflict
    assert host.home.cached_skill("tidy").conflicts == (3,)


def test_a_file_beside_skill_md_is_read_and_patched_like_any_other(host):
    host.create("tidy")
    host.put("tidy/forms.md", "How forms work.")
    host.home.sync()
    host.ask("patch", "tidy", path="forms.md", old_string="work", new_string="are filled in")
    assert host.read("tidy/forms.md") == "How forms are filled in."
    host.ask("write_file", "tidy", path="forms.md", content="Anew.")
    assert host.read("tidy/forms.md") == "Anew."
    with pytest.raises(Rejected, match="is not a path in a skill"):
        host.ask("write_file", "tidy", path="other.md", content="x")
    with pytest.raises(Rejected, match="has no file"):
        host.ask("patch", "tidy", path="other.md", old_string="a", new_string="b")
    with pytest.raises(Rejected, match="is not a path in a skill"):
        host.ask("remove_file", "tidy", path="../draft/SKILL.md")
    host.ask("remove_file", "tidy", path="forms.md")
    assert not (host.root / "tidy/forms.md").exists()


def test_a_support_file_is_merged_by_the_same_rule(host):
    host.create("tidy")
    host.ask("write_file", "tidy", path="references/a.md", content="one\ntwo\nthree\n")
    host.read("tidy/references/a.md")
    host.ask("write_file", "tidy", path="references/a.md", content="zero\none\ntwo\nthree\n")
    host.put("tidy/references/a.md", "one\ntwo\n")
    host.home.sync()
    assert host.read("tidy/references/a.md") == "zero\none\ntwo\n"


def test_a_restored_copy_with_its_old_time_is_no_edit(host):
    host.create("tidy")
    file = host.root / "tidy/SKILL.md"
    old, made_at = file.read_bytes(), file.stat().st_mtime_ns - 10**9
    host.ask("patch", "tidy", old_string="Do it.", new_string="Do it well.")
    host.put("tidy/SKILL.md", old)
    os.utime(file, ns=(made_at, made_at))
    host.home.sync()
    assert "well" in host.read("tidy/SKILL.md")
    assert types(host, "tidy") == ["SkillCreated", "SkillPatched"]


def test_a_skill_deleted_by_hand_is_deleted_everywhere_and_can_be_restored(host, other):
    host.create("tidy")
    host.ask("write_file", "tidy", path="assets/a", content="x")
    other.home.sync()
    shutil.rmtree(other.root / "tidy")
    assert other.home.sync() == {}
    assert host.home.sync() == {}
    assert (host.files(), types(host, "tidy")[-1]) == ({}, "SkillDeleted")
    host.shelf.undo("tidy")
    other.home.sync()
    assert host.files() == other.files()
    assert sorted(host.files()) == ["tidy/SKILL.md", "tidy/assets/a"]


def test_a_support_file_deleted_by_hand_is_gone(host):
    host.create("tidy")
    host.ask("write_file", "tidy", path="assets/a", content="x")
    (host.root / "tidy/assets/a").unlink()
    host.home.sync()
    assert types(host, "tidy")[-1] == "SkillFileRemoved"
    assert host.agrees()


def test_a_folder_moved_by_hand_is_a_moved_skill(host, other):
    host.create("tidy", category="home")
    other.home.sync()
    (host.root / "work").mkdir()
    (host.root / "home/tidy").rename(host.root / "work/tidy")
    assert host.home.sync()["tidy"].category == "work"
    other.home.sync()
    assert host.files() == other.files()
    assert list(host.files()) == ["work/tidy/SKILL.md"]


def test_a_file_in_lower_case_is_taken_for_the_main_one(host):
    host.put("tidy/skill.md", skill_text("tidy"))
    assert host.home.sync()["tidy"].main == skill_text("tidy")
    host.ask("patch", "tidy", old_string="Do it.", new_string="Do it well.")
    assert list(host.files()) == ["tidy/SKILL.md"]


def test_undo_takes_back_a_hand_edit_and_the_file_with_it(host):
    host.create("tidy")
    host.put("tidy/SKILL.md", skill_text("tidy", "Nonsense."))
    host.home.sync()
    host.shelf.undo("tidy")
    assert host.read("tidy/SKILL.md") == skill_text("tidy")
    assert host.agrees()


# --- what cannot be used ---------------------------------------------------------------------


def problems(host: Host) -> dict[str, str]:
    host.home.sync()
    return {problem.path: problem.reason for problem in host.home.problems}


def test_files_that_are_no_skills_are_kept_and_reported(host):
    host.put("Big Name/SKILL.md", skill_text("big"))
    host.put("broken/SKILL.md", "no front matter")
    host.put("README.md", "about these")
    host.put("notes/todo.txt", "not a skill")
    host.put("a/twice/SKILL.md", skill_text("twice"))
    host.put("b/twice/SKILL.md", skill_text("twice", "other"))
    host.put("binary/SKILL.md", b"\xff\xfe")
    before = host.files()
    told = problems(host)
    assert host.files() == before
    assert "lower-case" in told["Big Name"]
    assert "front matter" in told["broken"]
    assert "another skill of that name, a/twice" in told["b/twice"]
    assert "not UTF-8" in told["binary/SKILL.md"]
    assert sorted(told) == ["Big Name", "b/twice", "binary/SKILL.md", "broken"]
    assert [skill.name for skill in host.home.all_known()] == ["twice"]


def test_too_large_files_are_left_out_unchanged(host):
    host.create("tidy")
    host.put("tidy/assets/huge.bin", b"x" * (1024 * 1024 + 1))
    host.put("tidy/SKILL.md", skill_text("tidy", "x" * 100_001))
    assert sorted(problems(host)) == ["tidy/SKILL.md", "tidy/assets/huge.bin"]
    assert types(host, "tidy") == ["SkillCreated"]
    assert len(host.read("tidy/SKILL.md")) > 100_000
    with pytest.raises(Rejected, match="cannot be written: it has more than 100,000"):
        host.ask("patch", "tidy", old_string="Do it.", new_string="x")


def test_links_are_not_followed_neither_to_read_nor_to_write(host, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    host.create("tidy")
    (host.root / "tidy/references").symlink_to(outside)
    (host.root / "tidy/assets").mkdir()
    (host.root / "tidy/assets/secret").symlink_to(outside / "secret")
    (host.root / "linked").symlink_to(outside)
    told = problems(host)
    assert sorted(told) == ["linked", "tidy/assets/secret", "tidy/references"]
    assert types(host, "tidy") == ["SkillCreated"]
    for path in ("references/a.md", "assets/secret", "assets/secret/x"):
        with pytest.raises(Rejected, match="it is a link"):
            host.ask("write_file", "tidy", path=path, content="x")
    assert [file.name for file in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def test_a_link_elsewhere_does_not_lead_another_hosts_write_out(host, other, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    host.create("tidy")
    other.home.sync()
    (other.root / "tidy/references").symlink_to(outside)
    host.ask("write_file", "tidy", path="references/a.md", content="x")
    assert "tidy/references" in problems(other)
    assert list(outside.iterdir()) == []
    (other.root / "tidy/references").unlink()
    other.home.sync()
    assert host.files() == other.files()


def test_a_folder_that_cannot_be_written_is_a_problem_of_this_host_alone(host, other):
    host.create("tidy")
    other.root.write_text("in the way")
    assert list(other.home.sync()) == ["tidy"]
    assert [problem.path for problem in other.home.problems] == ["."]
    other.root.unlink()
    other.home.sync()
    assert host.files() == other.files()


def test_a_link_to_itself_keeps_no_skill_from_being_taken_in(host):
    host.create("tidy", category="home")
    for loop in ("loop", "home/loop"):
        (host.root / loop).symlink_to("loop")
    host.put("pdf/SKILL.md", skill_text("pdf"))
    assert list(host.home.sync()) == ["pdf", "tidy"]
    assert host.home.problems == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_category_that_cannot_be_read_loses_no_skill_and_hides_no_other(host):
    host.create("tidy", category="home")
    host.put("pdf/SKILL.md", skill_text("pdf"))
    (host.root / "home").chmod(0)
    try:
        assert list(host.home.sync()) == ["pdf", "tidy"]
        assert types(host, "tidy") == ["SkillCreated"]
        assert "home" in problems(host)
    finally:
        (host.root / "home").chmod(0o700)
    assert problems(host) == {}


def test_a_pipe_does_not_block(host):
    host.create("tidy")
    os.mkfifo(host.root / "tidy/pipe")
    assert problems(host) == {"tidy/pipe": "it is not a plain file"}


def test_a_folder_of_skills_cannot_become_one(host):
    host.create("tidy", category="home")
    host.put("home/SKILL.md", skill_text("home"))
    assert problems(host) == {"home/SKILL.md": "its folder is a category of other skills"}
    assert types(host, "tidy") == ["SkillCreated"]
    for action, name, request in (
        ("create", "home", {"content": skill_text("home")}),
        ("create", "other", {"content": skill_text("other"), "category": "single"}),
        ("edit", "tidy", {"content": skill_text("tidy"), "category": "single"}),
    ):
        host.put("single/SKILL.md", skill_text("single"))
        with pytest.raises(Rejected, match=r"cannot be a|lies in the way"):
            host.ask(action, name, **request)
    assert host.home.sync()["tidy"].category == "home"


def test_a_new_skill_does_not_replace_a_persons_unfinished_folder(host):
    host.put("draft/SKILL.md", "not yet a skill")
    with pytest.raises(Rejected, match="lies in the way: draft"):
        host.create("draft")
    assert host.files() == {"draft/SKILL.md": b"not yet a skill"}


# --- crashes ---------------------------------------------------------------------------------


def test_a_host_that_died_between_append_and_files_puts_them_right(host, other, monkeypatch):
    host.create("tidy", "1. Tidy.\n2. Rest.\n3. Look.")
    other.home.sync()
    mine = host.read("tidy/SKILL.md").replace("3. Look.", "3. Look twice.")
    other.ask("patch", "tidy", old_string="1. Tidy.", new_string="1. Tidy well.")
    host.put("tidy/SKILL.md", mine)
    with monkeypatch.context() as dying:
        dying.setattr(host.home, "_write_files", lambda *_: (_ for _ in ()).throw(OSError(5, "died")))
        host.home.sync()
    assert host.read("tidy/SKILL.md") == mine
    again = Host(host.log, host.root.parent)
    again.home.sync()
    assert types(host, "tidy") == ["SkillCreated", "SkillPatched", "SkillEdited"]
    assert again.read("tidy/SKILL.md") == skill_text("tidy", "1. Tidy well.\n2. Rest.\n3. Look twice.")


def test_leftovers_of_an_unfinished_write_do_no_harm(host):
    host.create("tidy")
    host.put(".unfinished", "half a fi")
    host.ask("patch", "tidy", old_string="Do it.", new_string="Do it well.")
    assert host.agrees()


def test_a_manifest_of_another_log_or_a_broken_one_counts_for_nothing(host):
    host.create("tidy")
    for content in ("{", '{"log": "other", "skills": {"tidy": {"version": 1}, "gone": {"version": 2}}}'):
        host.put(".laid-out.json", content)
        again = Host(host.log, host.root.parent)
        assert list(again.home.sync()) == ["tidy"]
    assert types(host, "tidy") == ["SkillCreated"]
