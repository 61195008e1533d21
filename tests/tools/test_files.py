"""Reading in pages, writing whole, and staying inside the roots."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.path_policy import verify_opened
from hermes_jobs.tools.tool import ToolFailed
from tests.examples import examples

from .support import Desk

HEADER = re.compile(r"\[lines ([\d,]+)–([\d,]+)(?: of ([\d,]+))?(.*)\]")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


# --- reading -------------------------------------------------------------------------------------


def test_a_short_file_comes_whole_under_its_line_numbers(desk):
    (desk.work / "a.txt").write_text("one\ntwo\n")
    assert desk.read("a.txt") == "[lines 1–2 of 2]\none\ntwo\n"


def test_a_page_says_how_to_read_the_next(desk):
    (desk.work / "a.txt").write_text("1\n2\n3\n4")
    assert desk.read("a.txt", limit=2) == "[lines 1–2 of 4; continue with offset=3]\n1\n2\n"
    assert desk.read("a.txt", offset=3, limit=2) == "[lines 3–4 of 4]\n3\n4"


def test_a_page_holds_at_most_50_000_characters(desk):
    (desk.work / "a.txt").write_text("äöü 7890\n" * 20_000)
    content = desk.read("a.txt", limit=100_000)
    assert 49_000 < len(content) <= 50_000
    assert content.splitlines()[0] == "[lines 1–5,522 of 20,000; continue with offset=5523]"


def test_a_line_longer_than_a_page_is_read_in_parts(desk):
    line = "".join(f"{n:09d}." for n in range(12_000))
    (desk.work / "a.txt").write_text(f"first\n{line}\nlast\n")
    assert desk.read("a.txt") == "[lines 1–1 of 3; continue with offset=2]\nfirst\n"
    part = desk.read("a.txt", offset=2)
    assert "line 2 is longer than a page: continue with offset=2, column=49701]" in part
    rest = desk.read("a.txt", offset=2, column=49_701)
    end = desk.read("a.txt", offset=2, column=99_401)
    assert "".join(each.split("\n", 1)[1] for each in (part, rest, end)) == f"{line}\nlast\n"


def test_a_name_in_another_unicode_form_is_the_file_that_is_there(desk):
    stored, asked = "cafe\u0301/re\u0301sume\u0301.txt", "caf\u00e9/r\u00e9sum\u00e9.txt"
    file = desk.work / stored
    file.parent.mkdir()
    file.write_text("one\n")
    assert desk.read(asked).endswith("one\n")
    desk.write(asked, "two\n")
    assert [found.relative_to(desk.work).as_posix() for found in desk.work.rglob("*.txt")] == [stored]
    (desk.work / asked).parent.mkdir()
    (desk.work / asked).write_text("three\n")
    assert (desk.read(stored)[-4:], desk.read(asked)[-6:]) == ("two\n", "three\n")


def test_an_offset_behind_the_end_says_where_the_file_ends(desk):
    (desk.work / "a.txt").write_text("1\n2\n")
    assert desk.read("a.txt", offset=9) == "Error: a.txt ends with line 2; offset 9 is behind it."
    assert desk.read("a.txt", offset=3) == "Error: a.txt ends with line 2; offset 3 is behind it."


def test_an_empty_file_says_so(desk):
    (desk.work / "a.txt").touch()
    assert desk.read("a.txt") == "[the file is empty]"


@pytest.mark.parametrize("arguments", [{"offset": 0}, {"limit": 0}, {"offset": -1}, {"offset": "x"}])
def test_a_page_that_cannot_be_is_an_invalid_call(desk, arguments):
    assert desk.ask("read_file", path="a", **arguments).invalid


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"%PDF-1.7", "PDF document"),
        (b"SQLite format 3\0", "SQLite database"),
        ("text".encode("utf-16"), "UTF-16 text"),
        (b"abc\0def", "binary data"),
    ],
)
def test_a_binary_file_is_refused_with_its_size_and_kind(desk, data, kind):
    (desk.work / "a.bin").write_bytes(data)
    content = desk.read("a.bin")
    assert content.startswith(f"Error: a.bin is not a text file: {kind}")
    assert content.endswith(f", {len(data)} bytes.")


def test_bytes_that_are_no_utf_8_are_shown_as_such(desk):
    (desk.work / "a.txt").write_bytes(b"caf\xe9\n")
    assert desk.read("a.txt").endswith("caf�\n")


def test_a_missing_file_is_answered_with_the_nearest_names(desk):
    (desk.work / "readme.md").touch()
    assert desk.read("readme.txt") == "Error: readme.txt does not exist. Nearest in that folder: readme.md."
    assert desk.read("zzz").endswith("It holds: readme.md.")
    assert "nor does its folder" in desk.read("no/where.txt")


def test_reading_a_folder_lists_it(desk):
    (desk.work / "sub" / "deep").mkdir(parents=True)
    (desk.work / "sub" / "a.txt").touch()
    assert desk.read("sub") == "Error: sub is a folder. It holds: a.txt, deep/."


def test_a_pipe_is_refused_without_waiting_for_a_writer(desk):
    os.mkfifo(desk.work / "pipe")
    assert "is not a regular file" in desk.read("pipe")


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1), st.integers(1, 5))
def test_paging_through_a_file_gives_exactly_its_text(desk, text, limit):
    path = desk.work / "any.txt"
    path.write_text(text, newline="")
    offset, pages, header = 1, [], ""
    while offset:
        header, page = desk.read("any.txt", offset=offset, limit=limit).split("\n", 1)
        pages.append(page)
        match = re.search(r"offset=(\d+)", header)
        offset = int(match[1]) if match else 0
    assert "".join(pages) == text
    last = HEADER.fullmatch(header)
    assert last
    assert int(last[3]) == text.count("\n") + (not text.endswith("\n"))


# --- writing -------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_folders_and_says_how_much(desk):
    assert desk.write("new/deep/a.txt", "ä\nb") == "Created new/deep/a.txt: 4 bytes, 2 lines."
    assert (desk.work / "new/deep/a.txt").read_text() == "ä\nb"
    assert desk.write("new/deep/a.txt", "c\n") == "Replaced new/deep/a.txt: 2 bytes, 1 line."
    assert [each.name for each in (desk.work / "new/deep").iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["x" * 255, "\u6f22" * 85])
def test_a_name_may_be_as_long_as_the_system_takes(desk, name):
    assert desk.write(name, "old").startswith("Created")
    assert desk.patch(name, "old", "new").startswith("Changed")
    assert (desk.work / name).read_text() == "new"


def test_a_file_keeps_its_mode(desk):
    path = desk.work / "run.sh"
    path.touch(0o640)
    path.chmod(0o750)
    desk.write("run.sh", "#!/bin/sh\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_a_symbolic_link_stays_and_its_target_is_written(desk):
    (desk.work / "real.txt").write_text("old")
    (desk.work / "link.txt").symlink_to("real.txt")
    desk.write("link.txt", "new")
    assert (desk.work / "link.txt").is_symlink()
    assert (desk.work / "real.txt").read_text() == "new"


def test_an_unwritable_file_is_reported_and_unchanged(desk):
    (desk.work / "sub").mkdir()
    (desk.work / "a.txt").write_text("old")
    assert "is a folder: it cannot be written" in desk.write("sub")
    assert "cannot be written" in desk.write("a.txt/b.txt")
    assert "cannot be written: File name too long" in desk.write("x" * 300)
    assert (desk.work / "a.txt").read_text() == "old"


def test_a_reader_sees_the_old_text_or_the_new_never_a_part(desk):
    texts = ["a" * 300_000, "b" * 300_000]
    desk.write("a.txt", texts[0])
    program = """
import sys
seen = set()
while True:
    with open(sys.argv[1]) as file:
        text = file.read()
    assert len(text) == 300_000 and len(set(text)) == 1, len(text)
    if text[0] not in seen:
        seen.add(text[0])
        print(text[0], flush=True)
"""
    reader = subprocess.Popen(
        [sys.executable, "-c", program, str(desk.work / "a.txt")], stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout
    try:
        assert reader.stdout.readline() == "a\n"
        for round_ in range(30):
            desk.write("a.txt", texts[round_ % 2])
        desk.write("a.txt", texts[1])
        assert reader.stdout.readline() == "b\n"
        assert reader.poll() is None
    finally:
        reader.kill()
        reader.communicate()


# --- the roots -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../secret", "~/secret", "sub/../../secret", "link", "folder/secret"]
)
def test_a_path_outside_the_roots_is_refused_naming_them(desk, path):
    (desk.work.parent / "secret").write_text("hidden")
    (desk.work / "link").symlink_to(desk.work.parent / "secret")
    (desk.work / "folder").symlink_to(desk.work.parent)
    for content in (desk.read(path), desk.write(path)):
        assert content.startswith(f"Error: {path} ")
        assert f"outside the folders that files may be used in: {desk.work}." in content
    assert (desk.work.parent / "secret").read_text() == "hidden"


def test_a_link_out_of_the_roots_is_named_with_where_it_leads(desk):
    (desk.work / "link").symlink_to("/etc/hostname")
    assert "link (it leads to /etc/hostname) is outside" in desk.read("link")


def test_a_dangling_link_out_of_the_roots_makes_no_file(desk):
    (desk.work / "link").symlink_to(desk.work.parent / "new")
    assert "is outside" in desk.write("link")
    assert not (desk.work.parent / "new").exists()


def test_results_and_skills_of_the_home_can_be_read_but_not_written(desk):
    (desk.home / "results").mkdir()
    (desk.home / "results" / "t1-1-0.txt").write_text("long\n")
    assert desk.read(desk.home / "results" / "t1-1-0.txt").endswith("long\n")
    assert "is outside" in desk.write(desk.home / "results" / "t1-1-0.txt")
    assert "is outside" in desk.read(desk.home / "SOUL.md")


PRIVATE = [".env", "config.yaml", "events.db", "events.db-wal", "events.db.lock", "views/main.db", "views"]


@pytest.mark.parametrize("name", PRIVATE)
def test_the_homes_own_files_are_off_limits_even_inside_the_roots(tmp_path, name):
    desk = Desk(tmp_path.resolve(), roots=(str(tmp_path),))
    (desk.home / "views").mkdir()
    if name != "views":
        (desk.home / name).write_text("secret")
    (desk.work / "link").symlink_to(desk.home / name)
    for path in (desk.home / name, "link", f"../home/{name}"):
        assert "belongs to hermes-jobs itself" in desk.read(path)
        assert "belongs to hermes-jobs itself" in desk.write(path)


def test_a_hard_link_to_the_homes_secrets_is_off_limits_too(desk):
    (desk.home / ".env").write_text("secret")
    (desk.work / "innocent.txt").hardlink_to(desk.home / ".env")
    assert "belongs to hermes-jobs itself" in desk.read("innocent.txt")


def test_files_of_these_names_elsewhere_are_ordinary(desk):
    (desk.work / ".env").write_text("A=1\n")
    (desk.work / "config.yaml").write_text("a: 1\n")
    assert desk.read(".env").endswith("A=1\n")
    assert desk.read("config.yaml").endswith("a: 1\n")


def test_roots_may_be_several_and_begin_with_a_tilde(tmp_path):
    desk = Desk(tmp_path.resolve(), roots=("~/one", str(tmp_path / "two")))
    assert "Created" in desk.write("~/one/a.txt")
    assert "Created" in desk.write(tmp_path / "two" / "a.txt")
    assert "is outside" in desk.write("a.txt")


def test_a_missing_working_folder_is_named(desk):
    desk.work.rmdir()
    assert f"the working folder {desk.work} does not exist" in desk.read("a.txt")
    assert f"the working folder {desk.work} does not exist" in desk.write("a.txt")
    assert not desk.work.exists()


def test_a_path_that_no_system_takes_is_an_error(desk):
    assert "Error" in desk.read("a\0b")
    assert "Error" in desk.read("")


def test_a_folder_swapped_for_a_link_between_check_and_open_is_noticed(desk):
    (desk.work / "sub").mkdir()
    (desk.work / "sub" / "a.txt").write_text("inside")
    checked = str(desk.work / "sub" / "a.txt")
    (desk.work / "sub").rename(desk.work / "moved")
    (desk.work.parent / "other").mkdir()
    (desk.work.parent / "other" / "a.txt").write_text("outside")
    (desk.work / "sub").symlink_to(desk.work.parent / "other")
    descriptor = os.open(checked, os.O_RDONLY)
    try:
        with pytest.raises(ToolFailed, match="was replaced by a link"):
            verify_opened(descriptor, checked)
    finally:
        os.close(descriptor)


def test_reading_is_a_read_and_writing_a_write(desk):
    calls = [
        ToolCall("x", "read_file", '{"path": "a"}'),
        ToolCall("y", "write_file", '{"path": "a", "content": ""}'),
    ]
    plan = desk.tools.plan("t", calls, str(desk.work))
    assert [(each.effect, each.after) for each in plan] == [("read", ()), ("write", ("t-0",))]
