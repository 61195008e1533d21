"""The files of a home follow the log, and what people write into them is taken in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.features.memory.memory_files import SyncedMemory
from hermes_jobs.features.memory.rules.memory import entries_of
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.system import atomic_file
from tests.memory.homes import MOMENTS, in_processes, killed_at, remembering, write, write_many


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def home(folder: Path, log_url: str) -> Iterator[SyncedMemory]:
    with remembering(folder, log_url) as home:
        yield home


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "memories" / "MEMORY.md"


def test_a_write_is_in_the_file_at_once(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    write(home, "Two\nlines")
    assert file.read_text() == "One\n§\nTwo\nlines\n"
    assert file.stat().st_mode & 0o777 == 0o600
    write(home, "Likes tea", target="user")
    assert file.with_name("USER.md").read_text() == "Likes tea\n"


def test_nothing_is_left_beside_the_files(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    assert [each.name for each in file.parent.iterdir()] == ["MEMORY.md"]


def test_without_entries_there_is_no_file(home: SyncedMemory, file: Path) -> None:
    home.sync()
    assert not file.exists()


def test_an_edit_is_an_event_before_the_next_read(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    file.write_text("One\n§\nBy hand")
    assert home.sync().memory == ("One", "By hand")
    assert [each.event.author for each in home.writes()] == ["user", "hand_edit"]


def test_an_edit_is_an_event_before_the_next_write(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    file.write_text("One, by hand")
    write(home, "Two")
    assert file.read_text() == "One, by hand\n§\nTwo\n"
    assert [each.event.author for each in home.writes()] == ["user", "hand_edit", "user"]


def test_a_file_edited_before_a_write_and_saved_after_it_keeps_both(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    edited = file.read_text() + "§\nBy hand\n"
    write(home, "Two")
    file.write_text(edited)
    assert home.sync().memory == ("One", "Two", "By hand")
    assert entries_of(file.read_text()) == ("One", "Two", "By hand")


def test_a_save_is_an_edit_also_if_the_file_once_had_that_content(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    write(home, "Two")
    file.write_text("One\n")
    assert home.sync().memory == ("One",)
    assert file.read_text() == "One\n"
    assert [type(each.event).__name__ for each in home.writes()][2:] == ["MemoryRemoved"]


def test_a_restored_copy_with_its_old_time_is_no_edit(home: SyncedMemory, file: Path, tmp_path: Path) -> None:
    write(home, "One")
    copy = shutil.copy2(file, tmp_path / "copy")
    made_at = file.stat().st_mtime_ns - 10**9
    write(home, "Two")
    shutil.copy(copy, file)
    os.utime(file, ns=(made_at, made_at))
    assert home.sync().memory == ("One", "Two")
    assert len(home.writes()) == 2
    assert file.read_text() == "One\n§\nTwo\n"


def test_a_save_during_a_write_is_imported(
    home: SyncedMemory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, "One")
    in_one_step = atomic_file.atomic_swap

    def saved_just_before(ready: Path, path: Path) -> bool:
        monkeypatch.setattr(atomic_file, "atomic_swap", in_one_step)
        path.write_text("One\n§\nSaved at the last moment\n")
        return in_one_step(ready, path)

    monkeypatch.setattr(atomic_file, "atomic_swap", saved_just_before)
    write(home, "Two")
    assert home.sync().memory == ("One", "Two", "Saved at the last moment")
    assert entries_of(file.read_text()) == ("One", "Two", "Saved at the last moment")
    assert [each.name for each in file.parent.iterdir()] == ["MEMORY.md"]


def test_where_files_cannot_be_exchanged_one_takes_the_others_place(
    home: SyncedMemory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_file, "atomic_swap", lambda ready, path: False)
    write(home, "One")
    write(home, "Two")
    assert file.read_text() == "One\n§\nTwo\n"
    assert [each.name for each in file.parent.iterdir()] == ["MEMORY.md"]


def test_a_file_that_is_gone_is_written_again(home: SyncedMemory, file: Path) -> None:
    write(home, "One")
    file.unlink()
    assert home.sync().memory == ("One",)
    assert file.read_text() == "One\n"


def test_a_file_that_is_no_text_is_left_as_it_is(
    home: SyncedMemory, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(home, "One")
    file.write_bytes(b"\xff\xfe")
    write(home, "Two")
    assert file.read_bytes() == b"\xff\xfe"
    assert home.sync().memory == ("One", "Two")
    assert caplog.messages == ["MEMORY.md is left as it is: it is not UTF-8 text."]


def test_a_pipe_in_place_of_a_file_does_not_block(
    home: SyncedMemory, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.sync()
    os.mkfifo(file)
    write(home, "One")
    assert home.sync().memory == ("One",)
    assert caplog.messages == ["MEMORY.md is left as it is: it is not a file."]


def test_a_folder_that_cannot_be_used_loses_nothing(
    home: SyncedMemory, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file.parent.rmdir()
    file.parent.write_text("in the way")
    write(home, "One")
    assert home.sync().memory == ("One",)
    assert "cannot be used" in caplog.text
    file.parent.unlink()
    home.sync()
    assert file.read_text() == "One\n"


@pytest.mark.parametrize("end", ["MEMORY.md", "unmounted/MEMORY.md"], ids=["itself", "nowhere"])
def test_a_broken_link_does_not_affect_the_other_file(
    home: SyncedMemory, file: Path, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    write(home, "Likes tea", target="user")
    file.symlink_to(end)
    file.with_name("USER.md").write_text("Likes tea\n§\nBy hand\n")
    write(home, "One")
    memory = home.sync()
    assert (memory.memory, memory.user) == (("One",), ("Likes tea", "By hand"))
    assert [message.split(":")[0] for message in caplog.messages] == ["MEMORY.md cannot be used"]
    file.unlink()
    home.sync()
    assert file.read_text() == "One\n"


def test_a_linked_file_stays_a_link(home: SyncedMemory, file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles.md"
    elsewhere.write_text("By hand\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(elsewhere)
    write(home, "One")
    assert file.is_symlink()
    assert elsewhere.read_text() == "By hand\n§\nOne\n"


def test_two_homes_on_one_log_have_the_same_entries(home: SyncedMemory, tmp_path: Path, log_url: str) -> None:
    with remembering(tmp_path / "other", log_url) as other:
        write(home, "One")
        other_file = tmp_path / "other" / "memories" / "MEMORY.md"
        assert other.sync().memory == ("One",)
        other_file.write_text("One\n§\nFrom the other host\n")
        write(home, "Two")
        assert other.sync().memory == ("One", "Two", "From the other host")
        assert home.sync() == other.sync()
        assert other_file.read_text() == "One\n§\nTwo\n§\nFrom the other host\n"


@pytest.mark.slow
def test_eight_processes_that_write_at_once_lose_nothing(
    home: SyncedMemory, folder: Path, file: Path, log: SqlEventLog, log_url: str
) -> None:
    in_processes(write_many, folder, log_url, 8)
    wanted = {f"entry {number}.{count}" for number in range(8) for count in range(6)} | {"by hand"}
    assert set(entries_of(file.read_text())) == wanted
    assert set(home.sync().memory) == wanted
    assert len(home.writes()) == len(wanted)
    assert verify(log).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_next_use_repairs_a_killed_write(
    home: SyncedMemory, folder: Path, file: Path, log: SqlEventLog, log_url: str, moment: str
) -> None:
    write(home, "Before")
    assert killed_at(moment, folder, log_url) == -9
    write(home, "Later")
    memory = home.sync()
    committed = moment not in {"before the append", "before the commit"}
    assert memory.memory == (("Before", "The entry", "Later") if committed else ("Before", "Later"))
    assert entries_of(file.read_text()) == memory.memory
    assert [each.name for each in file.parent.iterdir()] == ["MEMORY.md"]
    assert verify(log).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_edit_is_taken_in_once_whenever_the_one_that_takes_it_in_is_killed(
    home: SyncedMemory, folder: Path, file: Path, log_url: str, moment: str
) -> None:
    write(home, "Before")
    edited = file.read_text() + "§\nBy hand\n"
    write(home, "Meanwhile")
    file.write_text(edited)
    killed_at(moment, folder, log_url)
    assert home.sync().memory[:3] == ("Before", "Meanwhile", "By hand")
    assert [each.event.author for each in home.writes()].count("hand_edit") == 1
