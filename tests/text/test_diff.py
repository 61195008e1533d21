"""Unified diffs: what git and patch would read, in full for a file and short for a model."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.diff import DIFF_LINES, changed_lines, file_diff

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "-\n", "+x\n"]), max_size=30).map("".join)


def test_a_changed_file_is_shown_with_three_lines_around_the_change() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 21))
    assert file_diff("poem.txt", before, before.replace("line 10\n", "line ten\n")) == [
        "--- a/poem.txt",
        "+++ b/poem.txt",
        "@@ -7,7 +7,7 @@",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+line ten",
        " line 11",
        " line 12",
        " line 13",
    ]


def test_added_and_removed_files_are_shown() -> None:
    assert file_diff("a", None, "x\n") == ["--- /dev/null", "+++ b/a", "@@ -0,0 +1,1 @@", "+x"]
    assert file_diff("a", "x\n", None) == ["--- a/a", "+++ /dev/null", "@@ -1,1 +0,0 @@", "-x"]
    assert file_diff("a", None, "") == ["--- /dev/null", "+++ b/a"]
    assert file_diff("a", "x", "x") == []


def test_a_missing_newline_at_the_end_is_shown() -> None:
    assert file_diff("a", "x", "x\n")[2:] == ["@@ -1,1 +1,1 @@", "-x", "\\ No newline at end of file", "+x"]


def test_added_and_removed_lines_are_counted() -> None:
    assert changed_lines(file_diff("a", "x\n-- \n", "x\nz\n++ \n+\n")) == (3, 1)


def test_of_too_many_changes_only_the_counts_are_shown() -> None:
    many = DIFF_LINES + 1
    assert file_diff("a", "x\n" * many, "y\n" * many)[2:] == [
        f"({many:,} lines became {many:,}, from line 1 on.)"
    ]
    assert changed_lines(file_diff("a", None, "y\n" * many)) == (many, 0)


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch(1) here")
@given(before=TEXTS, after=TEXTS, cut=st.booleans())
def test_patch_makes_the_new_file_of_the_old_one(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, cut: bool
) -> None:
    after = after.removesuffix("\n") if cut else after
    if before in ("", after) or not after:
        return
    file: Path = tmp_path_factory.mktemp("patched") / "file"
    file.write_text(before)
    diff = "\n".join(file_diff("file", before, after)) + "\n"
    subprocess.run(["patch", "-s", "-p1"], cwd=file.parent, input=diff, text=True, check=True)
    assert file.read_text() == after
