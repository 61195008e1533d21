"""Names of skills and paths in them: what is read, what is written, what is refused."""

from __future__ import annotations

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.names import (
    checked_name,
    checked_path,
    is_ignored,
    is_read,
    is_written,
    unknown_skill,
)


@pytest.mark.parametrize(
    ("name", "read", "written"),
    [
        ("pdf-tools", True, True),
        ("a1", True, True),
        ("pdf_tools.v2", True, False),
        ("a--b", True, False),
        ("a-", True, False),
        ("-a", False, False),
        (".hidden", False, False),
        ("Big", False, False),
        ("a b", False, False),
        ("a/b", False, False),
        ("..", False, False),
        ("größe", False, False),
        ("", False, False),
        ("x" * 64, True, True),
        ("x" * 65, False, False),
        ("a\n", False, False),
    ],
)
def test_more_names_are_read_than_written(name, read, written):
    assert (is_read(name), is_written(name)) == (read, written)
    if written:
        assert checked_name(name) == name
    else:
        with pytest.raises(Rejected, match="cannot be the name"):
            checked_name(name)


@pytest.mark.parametrize(
    "path", ["references/a.md", "scripts/deep/down/run.sh", "assets/a b.txt", "templates/ä"]
)
def test_files_lie_in_the_four_folders(path):
    assert checked_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "SKILL.md",
        "a.md",
        "references",
        "references/",
        "/etc/passwd",
        "/references/a",
        "../references/a",
        "references/../../a",
        "references/..",
        "references//a",
        "references/./a",
        "scripts\\..\\a",
        "scripts/a\\b",
        "scripts/a\0b",
        "scripts/a\nb",
        "scripts/\u202ea",
        "scripts/.hidden",
        "scripts/.git/config",
        "scripts/__pycache__/a",
        "scripts/a~",
        "~/scripts/a",
        "other/a",
        "scripts/" + "x" * 300,
    ],
)
def test_every_other_path_is_refused(path):
    with pytest.raises(Rejected, match="is not a path in a skill") as refused:
        checked_path(path)
    assert refused.value.hint


def test_files_left_by_editors_and_tools_are_no_part_of_a_skill():
    left = [".git", ".DS_Store", "#a#", "a~", "a.swp", "__pycache__", "a.pyc", "node_modules"]
    assert all(map(is_ignored, left))
    assert not any(map(is_ignored, ["a.md", "SKILL.md", "scripts", "a#b"]))


def test_an_unknown_name_is_answered_with_the_nearest():
    refused = unknown_skill("code-reviw", ["code-review", "tidy"])
    assert (refused.kind, "code-review" in refused.message) == ("unknown_skill", True)
