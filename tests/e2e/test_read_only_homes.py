"""A home on a disk that cannot be written: it can be read, exported and backed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home
from tests.small_disk import mounted


@pytest.mark.slow
def test_a_home_that_cannot_be_written_can_be_read_exported_and_backed_up(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    home = Home(tmp_path, {"HERMES_JOBS_MODEL": "rehearsal", "TMPDIR": str(copies)})
    with mounted(home.path, "64m") as disk:
        turn = home.send("hello")
        assert home.run("memory", "add", "user", "Likes tea.").code == 0
        assert disk.mount("remount,ro")
        shown = home.run("turns", "show", turn["turn"], "--json")
        assert shown.code == 0, shown
        assert shown.json["status"] == "completed"
        assert "its disk is read-only. This command reads a copy of it." in shown.err
        for words in (["sessions", "list"], ["sessions", "search", "hello"], ["events"], ["usage"]):
            ran = home.run(*words)
            assert ran.code == 0, (words, ran)
        assert "Likes tea." in home.run("memory", "show").out
        for command, name in (("export", "all.jsonl"), ("backup", "all.zip")):
            ran = home.run(command, str(tmp_path / name))
            assert ran.code == 0, ran
        for words in (["send", "more"], ["memory", "add", "user", "Likes coffee."]):
            refused = home.run(*words)
            assert refused.code == 2, (words, refused)
            assert "cannot be written" in refused.err
    other = Home(tmp_path / "other", {"HERMES_JOBS_MODEL": "rehearsal"})
    assert other.run("import", "--yes", str(tmp_path / "all.zip")).code == 0
    assert "Likes tea." in other.run("memory", "show").out
    assert not list(copies.glob("hermes-jobs-*")), "no copy is left"
