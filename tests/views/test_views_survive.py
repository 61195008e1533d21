"""What may happen to the views' files, and that every answer is right after it."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from hermes_jobs.errors import NewerSchema
from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.views.sqlite import wording
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import append, new_log, plain_history
from tests.views.test_rows_follow_the_log import rows_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlEventLog]:
    log = new_log(tmp_path)
    append(log, plain_history(5))
    yield log
    log.close()


@pytest.fixture
def views(log: SqlEventLog, tmp_path: Path) -> Iterator[Views]:
    views = Views(log, tmp_path / "views")
    yield views
    views.close()


def child(home: Path, what: str, argument: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.views.children", str(home), what, str(argument)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def killed_while(home: Path, what: str, position: int) -> None:
    """A child is killed in the middle of a transaction, at that position."""
    process = child(home, what, position)
    assert said(process) == "stalled"
    process.kill()
    process.communicate()


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"rebuild.lock"}


def the_answers_are_right(views: Views, turns: int = 5) -> None:
    assert [turn.id for turn in views.turns(limit=99)] == [f"aa{n}" for n in reversed(range(turns))]
    assert {turn.answer for turn in views.turns(limit=99)} == {f"answer of aa{n}" for n in range(turns)}
    assert views.session("aa").num_messages == 2 * turns


def test_a_kill_in_the_middle_of_catching_up_leaves_whole_batches(
    log: SqlEventLog, views: Views, tmp_path: Path
) -> None:
    views.catch_up()
    at_first = views.status().generations
    append(log, plain_history(10, "bb"))
    killed_while(tmp_path, "catch_up", 55)
    (generation,) = views.status().generations
    assert generation.file == at_first[0].file
    assert generation.position == 50
    assert views.catch_up().position == log.last_position()
    incremental = rows_of(tmp_path / "views")
    views.rebuild()
    assert rows_of(tmp_path / "views") == incremental


def test_a_kill_in_the_middle_of_a_rebuild_leaves_the_old_generation_in_use(
    views: Views, tmp_path: Path
) -> None:
    views.catch_up()
    killed_while(tmp_path, "rebuild", 15)
    assert files_in(tmp_path / "views") >= {"generation-1.db", "generation-2.db"}
    assert [each.file for each in views.status().generations if each.current] == ["generation-1.db"]
    the_answers_are_right(views)
    views.rebuild()
    the_answers_are_right(views)
    assert [each.current for each in views.status().generations] == [True]
    assert not [name for name in files_in(tmp_path / "views") if name.startswith("generation-1.")]


def test_a_kill_in_the_middle_of_the_very_first_build_is_healed(views: Views, tmp_path: Path) -> None:
    killed_while(tmp_path, "catch_up", 15)
    the_answers_are_right(views)
    assert len(views.status().generations) == 1


@pytest.mark.slow
def test_processes_that_catch_up_at_once_take_each_event_in_once(
    log: SqlEventLog, views: Views, tmp_path: Path
) -> None:
    last = log.last_position() + len(plain_history(60, "bb"))
    racers = [child(tmp_path, "race", last) for _ in range(4)]
    assert [said(racer) for racer in racers] == ["ready"] * 4
    facts = plain_history(60, "bb")
    while facts:
        append(log, facts[:3])
        facts = facts[3:]
    assert [racer.wait(60) for racer in racers] == [0] * 4
    for racer in racers:
        racer.communicate()
    raced = rows_of(tmp_path / "views")
    views.rebuild()
    assert rows_of(tmp_path / "views") == raced


def garbage_within(views: Path) -> None:
    file = views / "generation-1.db"
    content = bytearray(file.read_bytes())
    content[4096:] = b"x" * (len(content) - 4096)
    file.write_bytes(content)


def other_schema(views: Path) -> None:
    connection = sqlite3.connect(views / "generation-1.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def no_table(views: Path) -> None:
    connection = sqlite3.connect(views / "generation-1.db")
    connection.execute("DROP TABLE turns")
    connection.commit()
    connection.close()


def garbage_for_a_pointer(views: Path) -> None:
    (views / "current").write_bytes(b"\xff../../etc/passwd\n")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the folder is gone": shutil.rmtree,
    "the pointer is gone": lambda views: (views / "current").unlink(),
    "the pointer is garbage": garbage_for_a_pointer,
    "the file is gone": lambda views: (views / "generation-1.db").unlink(),
    "the file is empty": lambda views: (views / "generation-1.db").write_bytes(b""),
    "the file is not a database": lambda views: (views / "generation-1.db").write_bytes(
        b"no database " * 999
    ),
    "the file is damaged within": garbage_within,
    "the file is of another schema": other_schema,
    "a table is missing": no_table,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_views_are_built_again_by_whoever_reads(
    damage: Callable[[Path], object], log: SqlEventLog, tmp_path: Path
) -> None:
    first = Views(log, tmp_path / "views")
    the_answers_are_right(first)
    first.close()
    damage(tmp_path / "views")
    second = Views(log, tmp_path / "views")
    the_answers_are_right(second)
    assert len(second.status().generations) == 1
    second.close()


def test_only_its_owner_may_read_the_views(views: Views, tmp_path: Path) -> None:
    the_answers_are_right(views)

    for file in (tmp_path / "views").glob("generation-*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE])
def test_a_disk_without_room_for_the_views_is_named_as_the_reason(code: int) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code

    assert wording(error) == "their disk is full or faulty"


@pytest.mark.parametrize("turns_later", [0, 3, 9], ids=["shorter", "shorter than before", "longer"])
def test_a_log_that_was_restored_from_a_backup_is_followed_anew(turns_later: int, tmp_path: Path) -> None:
    log = new_log(tmp_path / "a")
    append(log, plain_history(2))
    log.close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")

    log = new_log(tmp_path / "a")
    append(log, plain_history(6, "bb"))
    views = Views(log, tmp_path / "views")
    assert len(views.turns()) == 8
    views.close()
    log.close()

    restored = new_log(tmp_path / "b")
    append(restored, plain_history(turns_later, "cc"))
    views = Views(restored, tmp_path / "views")
    assert {turn.lineage for turn in views.turns(limit=99)} == ({"aa", "cc"} if turns_later else {"aa"})
    assert len(views.turns(limit=99)) == 2 + turns_later
    views.close()
    restored.close()


def test_a_log_restored_to_as_many_other_events_is_followed_anew(tmp_path: Path) -> None:
    log = new_log(tmp_path / "a")
    log.close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for home in ("a", "b"):
        log = new_log(tmp_path / home)
        append(log, plain_history(3, home * 2))
        views = Views(log, tmp_path / "views")
        assert {turn.lineage for turn in views.turns()} == {home * 2}
        views.close()
        log.close()


def test_views_of_another_log_are_not_taken_for_ours(log: SqlEventLog, tmp_path: Path) -> None:
    other = new_log(tmp_path / "other")
    append(other, plain_history(5, "zz"))
    for each, lineage in ((other, "zz"), (log, "aa")):
        views = Views(each, tmp_path / "views")
        assert {turn.lineage for turn in views.turns()} == {lineage}
        views.close()
    other.close()


class Novelty(Event, frozen=True, kw_only=True):
    """A fact that only a newer build knows."""

    turn: str


def test_events_that_are_too_new_are_waited_for(log: SqlEventLog, views: Views, tmp_path: Path) -> None:
    newer = open_log(sqlite_url(tmp_path / "events.db"), codec=Codec({**EVENT_TYPES, "Novelty": Novelty}))
    novelty = StreamWrite(stream="session-aa", events=(Novelty(turn="aa0"),), expected=None)
    newer.append(
        Append(meta=EventMeta(worker="w"), recorded_at="2026-11-21T12:00:00.000000Z", writes=(novelty,))
    )
    append(newer, plain_history(1, "bb"))
    the_answers_are_right(views)
    status = views.status()
    assert status.generations[0].behind == 1 + len(plain_history(1))
    assert status.stopped is not None
    assert "Novelty" in status.stopped
    for look in (views.turn, views.find_turn):
        with pytest.raises(NewerSchema, match="Novelty was written by a newer hermes-jobs"):
            look("bb0")

    upgraded = Views(newer, tmp_path / "views")
    assert {turn.lineage for turn in upgraded.turns()} == {"aa", "bb"}
    assert upgraded.status().stopped is None
    upgraded.close()
    newer.close()


def test_readers_follow_to_a_new_generation_by_themselves(
    log: SqlEventLog, views: Views, tmp_path: Path
) -> None:
    the_answers_are_right(views)
    told: list[tuple[int, int]] = []
    other = Views(log, tmp_path / "views", progress=lambda position, last: told.append((position, last)))
    other.rebuild()
    assert told[-1] == (log.last_position(), log.last_position())
    the_answers_are_right(views)
    assert [each.file for each in views.status().generations] == ["generation-2.db"]
    other.close()


def test_threads_read_one_views_while_the_log_grows_and_is_rebuilt(log: SqlEventLog, views: Views) -> None:
    facts = plain_history(20, "bb")
    total = log.last_position() + len(facts)

    def read() -> None:
        seen = 0
        while seen < 25:
            turns = views.turns(limit=99)
            assert len(turns) >= seen
            seen = len(turns)

    with ThreadPoolExecutor(7) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        rebuilds = [pool.submit(views.rebuild) for _ in range(3)]
        while facts:
            append(log, facts[:4])
            facts = facts[4:]
        for each in (*readers, *rebuilds):
            each.result(timeout=60)
    assert views.catch_up().position == total
    assert len(views.status().generations) == 1


class Told:
    """The log, which tells when its id is asked for (by a look at the checkpoint) and when it is read."""

    def __init__(self, log: SqlEventLog) -> None:
        self._log = log
        self.asked: Callable[[], None] = lambda: None
        self.read: Callable[[Sequence[RecordedEvent]], None] = lambda found: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    @property
    def log_id(self) -> str:
        self.asked()
        return self._log.log_id

    def tail(self, after: int, limit: int) -> Sequence[RecordedEvent]:
        found = self._log.tail(after, limit)
        self.read(found)
        return found


def test_views_that_another_overtakes_do_not_take_a_log_that_grows_for_broken(
    log: SqlEventLog, tmp_path: Path
) -> None:
    logs = [Told(log), Told(log)]
    faster, slower = (Views(cast(EventLog, each), tmp_path / "views") for each in logs)
    slower.catch_up()
    append(log, plain_history(2, "bb"))
    reading, behind = threading.Event(), threading.Event()

    def wait_for_the_slower(found: Sequence[RecordedEvent]) -> None:
        reading.set()
        assert behind.wait(30)

    def grow_after_the_end_was_read(found: Sequence[RecordedEvent]) -> None:
        if not found:
            append(log, plain_history(1, "cc"))

    logs[0].read = wait_for_the_slower
    logs[1].asked = behind.set
    logs[1].read = grow_after_the_end_was_read
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(faster.catch_up)
        assert reading.wait(30)  # and holds the lock on the views
        assert slower.catch_up().position == first.result(timeout=30).position
    faster.close()
    slower.close()
