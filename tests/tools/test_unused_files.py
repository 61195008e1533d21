"""Files of commands that nothing has used for long are deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_jobs.runtime.housekeeping import DAY, KEPT_DAYS, remove_unused

NOW = 1_800_000_000.0


@pytest.mark.parametrize(("kind", "days"), KEPT_DAYS.items())
def test_what_was_last_used_longer_ago_is_deleted_and_nothing_else(
    tmp_path: Path, kind: str, days: int
) -> None:
    for name, age in {"old": days * DAY + 60, "new": days * DAY - 60}.items():
        folder = tmp_path / kind / name
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        os.utime(folder, (NOW - age, NOW - age))
    (tmp_path / "results").mkdir()
    remove_unused(tmp_path, NOW)
    assert [path.name for path in (tmp_path / kind).iterdir()] == ["new"]
    assert (tmp_path / "results").is_dir()
