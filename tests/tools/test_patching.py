"""Changing a part of a file: the one place that is meant, and nothing else."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.file_writer import NO_SNAPSHOTS, FileWriter
from hermes_jobs.text.diff import DIFF_CHARS, short_diff
from hermes_jobs.text.patch import patched

from .support import Desk

POEM = "".join(f"line {n}\n" for n in range(1, 21))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def test_the_only_occurrence_is_replaced_and_the_change_is_shown(desk):
    (desk.work / "a.txt").write_text(POEM)
    assert desk.patch("a.txt", "line 10\n", "line ten\nand a half\n") == (
        "Changed a.txt in 1 place:\n"
        "@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n"
        "-line 10\n+line ten\n+and a half\n line 11\n line 12\n line 13"
    )
    assert (desk.work / "a.txt").read_text() == POEM.replace("line 10\n", "line ten\nand a half\n")


def test_an_empty_new_text_deletes(desk):
    (desk.work / "a.txt").write_text("one two")
    desk.patch("a.txt", " two", "")
    assert (desk.work / "a.txt").read_text() == "one"


def test_several_occurrences_are_counted_with_their_lines_and_nothing_is_changed(desk):
    (desk.work / "a.txt").write_text("x\ny\nx\n")
    content = desk.patch("a.txt", "x", "z")
    assert content.startswith("Error: old_string occurs 2 times, in the lines 1, 3. Give more of the text")
    assert (desk.work / "a.txt").read_text() == "x\ny\nx\n"


def test_overlapping_occurrences_are_several(desk):
    (desk.work / "a.txt").write_text("aaa")
    assert "occurs 2 times" in desk.patch("a.txt", "aa", "b")


def test_all_occurrences_are_replaced_where_that_is_asked_for(desk):
    (desk.work / "a.txt").write_text("x\ny\nx\n")
    content = desk.patch("a.txt", "x", "z", replace_all=True)
    assert content == "Changed a.txt in 2 places:\n@@ -1,4 +1,4 @@\n-x\n+z\n y\n-x\n+z\n "
    assert (desk.work / "a.txt").read_text() == "z\ny\nz\n"


def test_a_text_that_differs_in_blanks_alone_is_shown_with_its_line_numbers(desk):
    (desk.work / "a.py").write_text("def f():\n\treturn  1\n\ndef g():\n\treturn 2\n")
    content = desk.patch("a.py", "def g():\n    return 2", "")
    assert (
        "These lines differ from it in blanks alone:\n    3  \n    4  def g():\n    5  \treturn 2" in content
    )


def test_the_text_that_is_most_like_it_is_shown_with_its_line_numbers(desk):
    (desk.work / "a.py").write_text(POEM + "total = compute(values, rate)\nprint(total)\n")
    content = desk.patch("a.py", "total = compute(value, rates)\nprint(total)", "")
    assert "The nearest there is:\n   20  line 20\n   21  total = compute(values, rate)\n" in content


def test_where_nothing_is_like_it_the_advice_is_to_read(desk):
    (desk.work / "a.txt").write_text("1\n2\n")
    assert desk.patch("a.txt", "a whole sentence", "").endswith(
        "Nothing in the file is like it: read the file."
    )


def test_missing_text_of_only_line_ends_is_an_error(desk):
    (desk.work / "a.txt").write_text("1\n2\n")
    assert "does not occur" in desk.patch("a.txt", "\n\n\n", "")


def test_equal_texts_are_refused(desk):
    (desk.work / "a.txt").write_text("1")
    assert "nothing to change" in desk.patch("a.txt", "1", "1")
    assert desk.ask("patch_file", path="a.txt", old_string="", new_string="x").invalid


def test_crlf_line_endings_are_kept_though_the_model_writes_plain_ones(desk):
    (desk.work / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    assert "\n-two\n+2\n+and\n" in desk.patch("a.txt", "one\ntwo\n", "one\n2\nand\n")
    assert (desk.work / "a.txt").read_bytes() == b"one\r\n2\r\nand\r\nthree\r\n"


def test_the_mode_and_bytes_that_are_no_utf_8_are_kept(desk):
    path = desk.work / "a.sh"
    path.write_bytes(b"\xef\xbb\xbf# caf\xe9\necho 1\n")
    path.chmod(0o750)
    desk.patch("a.sh", "echo 1", "echo ä")
    assert path.read_bytes() == b"\xef\xbb\xbf# caf\xe9\n" + "echo ä\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [each.name for each in desk.work.iterdir()] == ["a.sh"]


def test_binary_missing_and_outside_files_are_refused(desk):
    (desk.work / "a.bin").write_bytes(b"a\0b")
    assert "is not a text file" in desk.patch("a.bin", "a", "b")
    assert "does not exist" in desk.patch("gone", "a", "b")
    assert "is outside the folders" in desk.patch("../secret", "a", "b")
    assert "is a folder" in desk.patch(".", "a", "b")


def test_a_file_that_changes_between_reading_and_writing_is_left_alone(desk):
    path = desk.work / "a.txt"
    path.write_text("mine\n")
    seen = path.stat()
    path.write_text("theirs, and longer\n")
    with pytest.raises(Rejected, match="was changed by somebody else meanwhile"):
        FileWriter(NO_SNAPSHOTS).replace(str(path), b"ours\n", expected=seen)
    assert path.read_text() == "theirs, and longer\n"
    assert list(desk.work.iterdir()) == [path]


def test_a_diff_is_bounded_also_for_one_enormous_line(desk):
    assert len(short_diff("\n".join("a" * 3_000), "\n".join("b" * 3_000))) < DIFF_CHARS + 100
    assert len(short_diff("a" * 1_000_000, "b" * 1_000_000)) < 1_000
    assert short_diff("\n".join("a" * 9_000), "\n".join("b" * 9_000)).startswith("(9,000 lines became 9,000")


@given(st.lists(st.sampled_from(["a", "b", "ab", "\n", "\r\n", " ", "ä"]), max_size=30), st.data())
def test_replacing_one_place_changes_that_place_alone(parts, data):
    text = "".join(parts) + "§\n" + "".join(reversed(parts))
    new = data.draw(st.sampled_from(["", "x", "x\n", "§§"]))
    changed = patched(text, "§", new, replace_all=False)
    before, _, after = text.partition("§")
    assert changed.text.startswith(before)
    assert changed.text.endswith(after)
    assert len(changed.text) - len(text) == len(changed.text[len(before) :]) - len(after) - 1
    with pytest.raises(Rejected):
        patched(text + "§", "§", new, replace_all=False)


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("four\nfive", "FOUR\nFIVE", b"one\ntwo\nthree\nFOUR\r\nFIVE\r\nsix\n"),
        ("three\nfour\n", "3\n4\n", b"one\ntwo\n3\n4\r\nfive\r\nsix\n"),
        ("four\nfive\nsix", "4\n4a\n4b\n5", b"one\ntwo\nthree\n4\r\n4a\r\n4b\r\n5\n"),
        ("four\nfive", "", b"one\ntwo\nthree\n\r\nsix\n"),
    ],
)
def test_in_a_file_of_mixed_line_endings_each_line_keeps_its_own(desk, old, new, after):
    (desk.work / "mixed.txt").write_bytes(b"one\ntwo\nthree\nfour\r\nfive\r\nsix\n")
    assert desk.patch("mixed.txt", old, new).startswith("Changed mixed.txt in 1 place")
    assert (desk.work / "mixed.txt").read_bytes() == after


def test_a_complete_file_written_over_one_with_crlf_keeps_them_and_says_so(desk):
    (desk.work / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    told = desk.write("dos.txt", "1\n2\n3\n")
    assert told == "Replaced dos.txt: 9 bytes, 3 lines. Its lines end with CRLF, as before."
    assert (desk.work / "dos.txt").read_bytes() == b"1\r\n2\r\n3\r\n"


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a" * 1_000_000, "a" * 500_000),
        ("a" * 1_000_000, "a" * 500_000 + "b"),
        ("a\n" * 500_000, "a\n" * 250_000 + "b"),
        (("a" * 99 + "\n") * 10_000, ("a" * 98 + "b\n") * 100),
        (("ab" * 150 + "\n") * 3_000, ("ba" * 150 + "\n") * 40),
    ],
    ids=["one letter", "one letter and another", "short lines", "like lines", "mirrored lines"],
)
def test_a_text_that_is_not_there_once_is_told_in_proportion_to_the_file(text, old):
    began = time.thread_time()
    with pytest.raises(Rejected, match=r"does not occur|occurs more than 20 times"):
        patched(text, old, "x", replace_all=False)
    assert time.thread_time() - began < 5, "seconds, where reading the file takes a tenth of one"


def test_a_complete_file_keeps_a_byte_order_mark_and_says_so(desk):
    (desk.work / "a.csv").write_bytes(b"\xef\xbb\xbfone\r\n")
    told = desk.write("a.csv", "two\n")
    assert told.endswith("Its lines end with CRLF, as before. It begins with a byte-order mark, as before.")
    assert (desk.work / "a.csv").read_bytes() == b"\xef\xbb\xbftwo\r\n"


def test_a_complete_file_over_one_with_mixed_line_endings_says_that_they_are_gone(desk):
    (desk.work / "a.txt").write_bytes(b"one\r\ntwo\n")
    told = desk.write("a.txt", "1\n2\n")
    assert told.endswith("Some of its lines ended with CRLF before; all end with LF.")
    assert (desk.work / "a.txt").read_bytes() == b"1\n2\n"


def test_lines_that_end_with_a_carriage_return_alone_are_named_and_can_be_patched(desk):
    (desk.work / "mac.txt").write_bytes(b"one\rtwo\rthree\r")
    assert "carriage return alone" in desk.patch("mac.txt", "one\ntwo", "1\n2")
    desk.patch("mac.txt", "one\rtwo", "1\r2")
    assert (desk.work / "mac.txt").read_bytes() == b"1\r2\rthree\r"


SCREENSHOT = "Screenshot at 10.00\u202fAM.txt"  # as macOS names it


def test_a_name_with_a_blank_that_looks_like_a_plain_one_is_found_and_never_doubled(desk):
    (desk.work / SCREENSHOT).write_text("old\n")
    assert "old" in desk.read(SCREENSHOT.replace("\u202f", " "))
    desk.write(SCREENSHOT.replace("\u202f", " "), "new\n")
    assert [each.name for each in desk.work.iterdir()] == [SCREENSHOT]
    assert (desk.work / SCREENSHOT).read_text() == "new\n"


def test_what_is_not_seen_in_a_name_is_shown_as_an_escape(desk):
    (desk.work / "report\u200b final.txt").write_text("x")
    assert r"report\u200b final.txt" in desk.read("report final.txt")
