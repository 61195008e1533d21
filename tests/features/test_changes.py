"""`changed`: what a caller has seen of files, compared with what is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_jobs.features.conditions.changes import MAX_FILES, Seen, SeenStore, compare, decode

NOW = 1_800_000_000_000_000_000


def look(folder: Path, before: Seen, *names: str) -> tuple[Seen, dict[str, str]]:
    after, found = compare(before, names, str(folder), NOW)
    return after, {os.path.relpath(path, folder): word for path, word in found.items()}


def test_new_changed_and_gone_files_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("a")
    (tmp_path / "b.py").write_text("b")
    seen, found = look(tmp_path, Seen(), "docs", "*.py")
    assert found == {"docs/a.md": "new", "b.py": "new"}
    seen, found = look(tmp_path, seen, "docs", "*.py")
    assert not found
    (tmp_path / "docs" / "a.md").write_text("A")
    (tmp_path / "b.py").unlink()
    seen, found = look(tmp_path, seen, "docs", "*.py")
    assert found == {"docs/a.md": "changed", "b.py": "gone"}
    assert not look(tmp_path, seen, "docs", "*.py")[1]


def test_a_touched_file_with_the_same_content_has_not_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    seen, _ = look(tmp_path, Seen(), "a")
    os.utime(tmp_path / "a", (1, 1))
    assert not look(tmp_path, seen, "a")[1]


def test_a_write_of_equal_size_in_the_same_tick_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    os.utime(file, ns=(NOW, NOW))
    seen, _ = look(tmp_path, Seen(), "a")
    file.write_text("b")
    os.utime(file, ns=(NOW, NOW))
    assert look(tmp_path, seen, "a")[1] == {"a": "changed"}


def test_repositories_and_their_like_are_left_out(tmp_path: Path) -> None:
    for folder in (".git", "node_modules", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("x")
    assert look(tmp_path, Seen(), ".")[1] == {"src/x": "new"}


def test_more_files_than_it_compares_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_jobs.features.conditions.changes.MAX_FILES", 1)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(Exception, match="more than 1 files"):
        look(tmp_path, Seen(), ".")
    assert MAX_FILES > 1


def test_the_state_that_the_log_names_outlives_one_that_was_written_in_vain(tmp_path: Path) -> None:
    store = SeenStore(tmp_path)
    accepted = store.keep("schedule-p1", b"{}", beside="")
    store.keep("schedule-p1", b'{"": []}', beside=accepted)
    assert store.read("schedule-p1", accepted) == b"{}"
    assert (store.read("schedule-p1", ""), store.read("schedule-p2", accepted)) == (b"", b"")


def test_a_state_that_cannot_be_read_is_none() -> None:
    assert decode(b"\xff") == decode(b"") == {}
