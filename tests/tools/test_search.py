"""Searching in files: what is found, what is left out, paging, and that no pattern hangs a worker."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall

from .support import Desk, Switch, processes_with, wait_until

CATASTROPHE = "(a|aa)+$"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


@pytest.fixture
def tree(desk: Desk) -> Desk:
    for path, text in {
        "a.py": "import os\n\ndef f():\n    return os.name\n",
        "src/b.py": "import sys\nimport os\n",
        "src/c.ts": "import os\n",
        "src/deep/d.tsx": "// import os\n",
        "README.md": "Nothing to import.\n",
    }.items():
        (desk.work / path).parent.mkdir(parents=True, exist_ok=True)
        (desk.work / path).write_text(text)
    return desk


# --- what is found -------------------------------------------------------------------------------


def test_matching_lines_come_under_their_file_with_their_numbers(tree):
    assert tree.search(r"^import \w+$", glob="*.py") == (
        "[matching lines 1–3; 2 files searched]\na.py\n1: import os\n\nsrc/b.py\n1: import sys\n2: import os"
    )


def test_files_counts_and_names_are_other_views_of_the_same(tree):
    assert tree.search("import os", mode="files").splitlines()[1:] == [
        "a.py",
        "src/b.py",
        "src/c.ts",
        "src/deep/d.tsx",
    ]
    assert tree.search("import", mode="count", glob="*.py").splitlines()[1:] == ["a.py: 1", "src/b.py: 2"]
    assert tree.search(r"\.tsx?$", mode="names").splitlines() == [
        "[files 1–2; 5 files searched]",
        "src/c.ts",
        "src/deep/d.tsx",
    ]


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("*.{ts,tsx}", ["src/c.ts", "src/deep/d.tsx"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.ts*", ["src/c.ts", "src/deep/d.tsx"]),
        ("deep/", ["src/deep/d.tsx"]),
        ("!src/", ["README.md", "a.py"]),
    ],
)
def test_a_glob_narrows_the_search(tree, glob, found):
    assert tree.search("", mode="names", glob=glob).splitlines()[1:] == found


def test_lines_around_a_match_are_shown_once_and_gaps_are_marked(desk):
    (desk.work / "a.txt").write_text("".join(f"{'x' if n in (2, 4, 9) else 'o'}{n}\n" for n in range(1, 11)))
    assert desk.search("x", context=1).splitlines()[1:] == [
        "a.txt", "1- o1", "2: x2", "3- o3", "4: x4", "5- o5", "--", "8- o8", "9: x9", "10- o10",
    ]  # fmt: skip


def test_case_may_be_ignored(tree):
    assert "no matching lines" in tree.search("IMPORT")
    assert "matching lines 1–6" in tree.search("IMPORT", ignore_case=True)


def test_a_path_may_be_a_folder_or_one_file(tree):
    assert tree.search("import", path="src/deep").splitlines()[1:] == ["src/deep/d.tsx", "1: // import os"]
    assert tree.search("os", path="src/b.py").splitlines()[1:] == ["src/b.py", "2: import os"]


def test_nothing_found_says_how_much_was_searched(tree):
    assert tree.search("nowhere") == "[no matching lines; 5 files searched]"


def test_windows_line_ends_and_broken_utf_8_do_not_matter(desk):
    (desk.work / "a.txt").write_bytes(b"one\r\ncaf\xe9 two\r\n")
    assert desk.search("(one|two)$").splitlines()[1:] == ["a.txt", "1: one", "2: caf� two"]


def test_a_byte_order_mark_is_no_part_of_the_first_line(desk):
    (desk.work / "a.txt").write_text("one\n", encoding="utf-8-sig")
    assert desk.search("^one").splitlines()[1:] == ["a.txt", "1: one"]


def test_escape_sequences_and_odd_names_come_through_as_text(desk):
    (desk.work / "1: ä\nb.txt").write_text("\x1b[31mred\x1b[0m\n")
    assert desk.search("red").splitlines()[1:] == ["1: ä", "b.txt", "1: \x1b[31mred\x1b[0m"]


# --- pages ---------------------------------------------------------------------------------------


def test_results_are_paged_and_every_page_names_the_next(desk):
    (desk.work / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 8)))
    assert desk.search("line", limit=3) == (
        "[matching lines 1–3; there are more: continue with offset=3]\na.txt\n1: line 1\n2: line 2\n3: line 3"
    )
    assert desk.search("line", limit=3, offset=6).splitlines() == [
        "[matching lines 7–7; 1 file searched]",
        "a.txt",
        "7: line 7",
    ]
    assert desk.search("line", offset=7) == "[no more matching lines; 1 file searched]"


def test_pages_together_hold_every_result_once_and_none_is_over_50_000_characters(desk):
    for name in ("a", "b", "c"):
        (desk.work / name).write_text("".join(f"{name}{n:06d}{'x' * 200}\n" for n in range(600)))
    seen: list[str] = []
    while True:
        content = desk.search("x", offset=len(seen), limit=2_000)
        assert len(content) <= 50_000
        seen += [line.split(": ")[1][:7] for line in content.splitlines() if ": " in line and "xx" in line]
        if "continue with" not in content:
            break
        assert f"continue with offset={len(seen)}]" in content
    assert seen == [f"{name}{n:06d}" for name in ("a", "b", "c") for n in range(600)]


def test_of_a_very_long_line_the_part_around_the_match_is_shown(desk):
    (desk.work / "min.js").write_text("a" * 400_000 + "NEEDLE" + "b" * 400_000)
    content = desk.search("NEEDLE")
    assert "1: …" + "a" * 100 + "NEEDLE" in content
    assert len(content) < 500


# --- what is left out ----------------------------------------------------------------------------


def test_files_ignored_by_git_are_left_out_by_the_nearest_rule(tree):
    (tree.work / ".gitignore").write_text("*.py\n/src/deep/\n")
    (tree.work / "src" / ".gitignore").write_text("!b.py\n")
    (tree.work / ".git").mkdir()
    (tree.work / ".git" / "config").write_text("import os\n")
    assert tree.search("import os", mode="files").splitlines()[1:] == ["src/b.py", "src/c.ts"]
    assert tree.search("import os", mode="files", path="src").splitlines()[1:] == ["src/b.py", "src/c.ts"]


def test_a_named_file_is_searched_although_git_ignores_it(tree):
    (tree.work / ".gitignore").write_text("src/\na.py\n")
    assert tree.search("import os", mode="files", path="src").splitlines()[1:] == [
        "src/b.py",
        "src/c.ts",
        "src/deep/d.tsx",
    ]
    assert tree.search("import os", mode="files", path="a.py").splitlines()[1:] == ["a.py"]


def test_binaries_are_passed_over_and_large_files_are_named(desk):
    (desk.work / "a.bin").write_bytes(b"needle\0")
    (desk.work / "b.log").write_text("needle\n" + "x" * 6_000_000)
    (desk.work / "c.txt").write_text("needle\n")
    content = desk.search("needle", mode="files")
    assert content.splitlines() == [
        "[files with matches 1–1; 1 file searched]",
        "[not searched, as over 5 MB: b.log; name one as path to search it]",
        "c.txt",
    ]
    assert desk.search("needle", mode="files", path="b.log").splitlines()[1:] == ["b.log"]


def test_pipes_and_unreadable_files_do_not_block(desk):
    os.mkfifo(desk.work / "pipe")
    (desk.work / "a.txt").write_text("x")
    assert desk.search("x", mode="files").splitlines()[1:] == ["a.txt"]
    assert "no matching lines" in desk.search("x", path="pipe")


def test_symbolic_links_are_not_followed(desk):
    (desk.work.parent / "outside").mkdir()
    (desk.work.parent / "outside" / "secret").write_text("needle")
    (desk.work / "folder").symlink_to(desk.work.parent / "outside")
    (desk.work / "file").symlink_to(desk.work.parent / "outside" / "secret")
    (desk.work / ".gitignore").symlink_to(desk.work.parent / "outside" / "secret")
    assert "no matching lines" in desk.search("needle")
    assert "is outside the folders" in desk.search("needle", path="folder")
    assert "is outside the folders" in desk.search("needle", path="..")


def test_the_homes_secrets_are_not_searched_even_inside_the_roots(tmp_path):
    desk = Desk(tmp_path.resolve(), roots=(str(tmp_path),))
    for name in (".env", "config.yaml", "events.db", "views/main.db"):
        (desk.home / name).parent.mkdir(exist_ok=True)
        (desk.home / name).write_text("needle")
    (desk.work / "hard").hardlink_to(desk.home / ".env")
    (desk.home / "SOUL.md").write_text("needle")
    content = desk.search("needle", path=str(tmp_path), mode="files")
    assert content.splitlines()[1:] == []


def test_results_that_were_kept_apart_can_be_searched(desk):
    (desk.home / "results").mkdir()
    (desk.home / "results" / "t1-1-0.txt").write_text("needle\n")
    assert "1: needle" in desk.search("needle", path=str(desk.home / "results"))


# --- patterns that cannot be ---------------------------------------------------------------------


def test_an_invalid_pattern_is_explained(tree):
    outcome = tree.ask("search_files", pattern="a(b")
    assert not outcome.ok
    assert outcome.content == (
        "Error: the pattern is not a valid regular expression: "
        "missing ), unterminated subpattern at position 1."
    )
    assert "is not a valid regular expression" in tree.search("a{99999999999999999999}")


def test_missing_and_outside_paths_are_reported(tree):
    assert tree.search("a", path="gone") == "Error: gone does not exist."
    for wrong in ({"mode": "lines"}, {"limit": 0}, {"offset": -1}, {"context": 99}):
        assert tree.ask("search_files", pattern="a", **wrong).invalid


def test_a_catastrophic_pattern_is_stopped_and_earlier_hits_are_shown(tmp_path):
    desk = Desk(tmp_path.resolve(), seconds=1)
    (desk.work / "a.txt").write_text("aa\n")
    (desk.work / "b.txt").write_text("a" * 5_000 + "b\n")
    outcome = desk.ask("search_files", pattern=CATASTROPHE)
    assert outcome.content.splitlines() == [
        "[matching lines 1–1; 2 files searched]",
        "[stopped after 1 s, in b.txt: the rest was not searched. "
        "Simplify the pattern, or narrow path or glob.]",
        "a.txt",
        "1: aa",
    ]
    assert not processes_with(str(desk.work))


def test_a_cancel_ends_a_search_at_once(desk):
    (desk.work / "b.txt").write_text("a" * 5_000 + "b\n")
    switch = Switch()
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(desk.ask("search_files", switch, pattern=CATASTROPHE))
    )
    thread.start()
    wait_until(lambda: bool(processes_with(str(desk.work))), "the search to begin")
    switch.fire()
    thread.join(15)
    assert outcomes[0].interrupted
    assert not processes_with(str(desk.work))


def test_a_search_goes_after_the_writes_in_the_folder(desk):
    calls = [
        ToolCall("x", "write_file", '{"path": "sub/a", "content": ""}'),
        ToolCall("y", "search_files", '{"pattern": "x"}'),
    ]
    plan = desk.tools.plan("t", calls, str(desk.work))
    assert [(each.effect, each.after) for each in plan] == [("write", ()), ("read", ("t-0",))]
