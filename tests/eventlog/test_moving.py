"""A log that was exported and imported is the same log; what is not whole is refused, whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from signal import SIGKILL
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Corrupt, Rejected
from hermes_jobs.kernel.log import copy_log
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.rows import row_hash
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.statements import EVENT
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.views.views import Views
from tests.e2e.invariants import history
from tests.eventlog.changes import append, write
from tests.eventlog.moving import bring_in, lines_of, live, looked_at
from tests.examples import examples
from tests.home import Home
from tests.services import postgres_schema
from tests.views.test_rows_follow_the_log import rows_of

Damage = Callable[[list[bytes]], list[bytes]]


def opened(folder: Path, name: str = "events") -> SqlEventLog:
    return open_log(sqlite_url(folder / f"{name}.db"))


def told(lines: list[bytes]) -> list[bytes]:
    """What an export says, without where it was made."""
    return lines[1:-1]


def all_rows(log: SqlEventLog, folder: Path) -> object:
    """All rows of views, but for the log's id."""
    views = Views(log, folder)
    views.catch_up()
    views.close()
    return {name: rows for name, rows in rows_of(folder).items() if name != "checkpoint"}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(8))
def test_an_import_equals_its_export(seed: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        here, there = opened(folder, "here"), opened(folder, "there")
        live(here, Random(seed), 100)
        came = bring_in(there, lines_of(here))
        assert came.num_events == here.last_position()
        assert told(lines_of(there)) == told(lines_of(here))
        assert verify(there).is_sound, verify(there).findings
        assert there.steps() == here.steps()
        assert all_rows(there, folder / "there") == all_rows(here, folder / "here")
        assert bring_in(there, lines_of(here)).streams == ()
        assert there.last_position() == here.last_position()
        here.close()
        there.close()


@pytest.mark.postgres
def test_a_log_moves_to_postgresql_and_back(tmp_path: Path) -> None:
    here, back = opened(tmp_path, "here"), opened(tmp_path, "back")
    live(here, Random(3), 150)
    with postgres_schema() as url:
        there = open_log(url)
        bring_in(there, lines_of(here))
        assert verify(there).is_sound, verify(there).findings
        assert told(lines_of(there)) == told(lines_of(here))
        bring_in(back, lines_of(there))
        there.close()
    assert told(lines_of(back)) == told(lines_of(here))
    here.close()
    back.close()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """An export of such a log as `source`."""
    log = opened(tmp_path_factory.mktemp("lived"))
    _live(log)
    found = lines_of(log)
    log.close()
    return found


def _live(log: SqlEventLog) -> None:
    live(log, Random(7), 80)
    log.append(append(write("session-zz", "one", "two")))


@pytest.fixture
def source(tmp_path: Path) -> SqlEventLog:
    log = opened(tmp_path, "source")
    _live(log)
    return log


def test_streams_come_in_behind_those_that_are_there(log: SqlEventLog, source: SqlEventLog) -> None:
    log.append(
        append(write("session-mine", "mine"), keys=(UniqueKey(scope="turn", key="key of aa0", digest="x"),))
    )
    bring_in(log, lines_of(source))
    assert [each.position for each in history(log)] == list(range(1, source.last_position() + 2))
    assert verify(log).is_sound, verify(log).findings
    first = log.key("turn", "key of aa0")
    assert first is not None
    assert first.stream == "session-mine", "a key that was used here stays as it is"
    for theirs in (source.key("turn", "key of bb1"), source.key("turn", "key of bb0")):
        if theirs is not None:
            mine = log.key("turn", theirs.key)
            assert mine is not None
            assert mine.position == theirs.position + 1
    source.close()


def broken_off(log: SqlEventLog, lines: list[bytes], after: int) -> None:
    """An import that ends after so many of its writes."""
    writes = count()

    def until_then(act: Callable[[Any], Any]) -> Any:
        if next(writes) == after:
            raise InterruptedError
        return SqlEventLog.change_tables(log, act)

    with looked_at(log, lines) as (_, source), pytest.MonkeyPatch.context() as patched:
        patched.setattr(copy_log, "BATCH_LINES", 20)
        patched.setattr(log, "change_tables", until_then)
        with pytest.raises(InterruptedError):
            copy_log.copy_log(source, log, lambda inner: None)


def test_others_write_while_streams_come_in_and_see_them_when_they_are_whole(
    log: SqlEventLog, source: SqlEventLog
) -> None:
    lines = lines_of(source)
    broken_off(log, lines, after=2)
    assert log.last_position() == 40
    assert (log.streams(), log.steps(), log.head("session-aa"), log.read("session-aa")) == ([], [], None, ())
    log.append(append(write("session-mine", "mine")))
    with pytest.raises(Rejected, match="session-aa is still coming in"):
        log.append(append(write("session-aa", "into the middle")))
    with pytest.raises(Rejected, match="is still coming in"):
        lines_of(log)
    assert lines_of(log, ["session-mine"])
    assert {finding.stream for finding in verify(log).findings} == {"session-aa", "session-bb"}
    came = bring_in(log, lines)
    assert came.num_events == source.last_position()
    assert log.last_position() == source.last_position() + 1
    assert verify(log).is_sound, verify(log).findings
    assert log.steps() == source.steps()
    assert [each.hash for each in log.read("session-aa")] == [e.hash for e in source.read("session-aa")]
    assert bring_in(log, lines).streams == ()
    source.close()


def test_parts_of_two_exports_are_not_mixed(log: SqlEventLog, source: SqlEventLog, tmp_path: Path) -> None:
    broken_off(log, lines_of(source), after=2)
    other = opened(tmp_path, "other")
    live(other, Random(8), 80)
    with pytest.raises(Rejected, match="is here already, with other content"):
        bring_in(log, lines_of(other))
    assert log.last_position() == 40
    other.close()
    source.close()


def test_a_stream_that_begins_here_while_it_should_come_in_stays_as_it_is(
    log: SqlEventLog, source: SqlEventLog
) -> None:
    with looked_at(log, lines_of(source)) as (_, looked):
        log.append(append(write("session-zz", "another")))
        with pytest.raises(Rejected, match="session-zz has come into being here meanwhile"):
            copy_log.copy_log(looked, log, lambda inner: None)
    assert [head.stream for head in log.streams()] == ["session-zz"]
    source.close()


@pytest.mark.slow
def test_an_import_survives_a_kill_at_every_one_of_its_writes(source: SqlEventLog, tmp_path: Path) -> None:
    home, file = Home(tmp_path, {}), tmp_path / "export.jsonl"
    lines = lines_of(source)
    file.write_bytes(b"".join(lines))
    number, code = 0, -SIGKILL
    while code == -SIGKILL:
        number += 1
        with home.launch("tests.eventlog.dying_import", str(number), str(file)) as running:
            code = running.end().code
        with home.open_log() as log:
            assert len(log.streams()) == (0 if code == -SIGKILL else len(source.streams()))
    assert code == 0
    assert number > 3
    with home.open_log() as log:
        assert told(lines_of(log)) == told(lines)
        assert verify(log).is_sound, verify(log).findings
    assert not (home.path / "run" / "import").exists()
    source.close()


def test_chosen_streams_come_alone(log: SqlEventLog, source: SqlEventLog) -> None:
    assert bring_in(log, lines_of(source, ["session-aa"])).streams == ("session-aa",)
    assert [head.stream for head in log.streams()] == ["session-aa"]
    brought = bring_in(log, lines_of(source), "session-b").streams
    assert "session-bb" in brought
    assert all(stream.startswith("session-b") for stream in brought)
    assert verify(log).is_sound, verify(log).findings
    assert list(log.read("session-bb")) == [
        each
        for each in log.read("session-bb")
        if each.hash in {theirs.hash for theirs in source.read("session-bb")}
    ]
    source.close()


def test_a_stream_that_has_gone_on_here_stays_as_it_is(log: SqlEventLog, source: SqlEventLog) -> None:
    lines = lines_of(source)
    bring_in(log, lines)
    log.append(append(write("session-zz", "three")))
    assert bring_in(log, lines).streams == ()
    assert log.last_position() == source.last_position() + 1
    source.close()


def test_a_stream_with_other_content_is_refused(log: SqlEventLog, source: SqlEventLog) -> None:
    log.append(append(write("session-zz", "another")))
    with pytest.raises(Rejected, match="session-zz is here already, with other content"):
        bring_in(log, lines_of(source))
    assert log.last_position() == 1
    assert log.steps() == []
    source.close()


def number_of(lines: list[bytes], kind: str, at: int = -1) -> int:
    """The index of a line of that kind."""
    return [number for number, line in enumerate(lines) if json.loads(line)["kind"] == kind][at]


def signed(lines: list[bytes]) -> list[bytes]:
    """The lines with an end that fits what was done to them."""
    end = json.loads(lines[-1])
    end["sha256"] = sha256(b"".join(lines[:-1])).hexdigest()
    end["events"] = sum(json.loads(line)["kind"] == "event" for line in lines)
    return [*lines[:-1], json.dumps(end).encode()]


def edited(kind: str, old: bytes, new: bytes) -> Damage:
    def edit(lines: list[bytes]) -> list[bytes]:
        at = number_of(lines, kind)
        assert old in lines[at]
        return signed([*lines[:at], lines[at].replace(old, new), *lines[at + 1 :]])

    return edit


def without(kind: str, at: int = -1) -> Damage:
    def drop(lines: list[bytes]) -> list[bytes]:
        number = number_of(lines, kind, at)
        return signed([*lines[:number], *lines[number + 1 :]])

    return drop


DAMAGES: dict[str, tuple[Damage, str]] = {
    "an empty file": (lambda lines: [], "Line 1 of the export: it is missing"),
    "no end": (lambda lines: lines[:-1], "it is missing; the file stops before its end"),
    "a torn line": (lambda lines: [*lines[:4], lines[4][:20]], "Line 5 of the export: it cannot be read"),
    "a foreign line": (
        lambda lines: [*lines[:2], b'{"hello": 1}\n', *lines[2:]],
        "Line 3 of the export: it cannot be read",
    ),
    "no text": (
        lambda lines: [*lines[:2], b"\xff\xfe\n", *lines[2:]],
        "Line 3 of the export: it cannot be read",
    ),
    "no header": (lambda lines: lines[1:], "Line 1 of the export: an export begins with its header"),
    "something after the end": (lambda lines: [*lines, lines[1]], "no line may follow the end"),
    "a line out of its place": (
        lambda lines: [lines[0], lines[number_of(lines, "event", -2)], *lines[1:]],
        "Line 3 of the export: position 1 follows",
    ),
    "a missing line": (lambda lines: [*lines[:-2], lines[-1]], "what came before it is not what was written"),
    "changed data": (edited("event", b'"two"', b'"2"'), "version 2 of session-zz is not what was written"),
    "a changed type": (
        edited("event", b"SessionTitled", b"SessionTilted"),
        "version 2 of session-zz is not what was written",
    ),
    "a missing event": (without("event", -2), "version 2 of session-zz follows on version 0"),
    "a missing step": (without("step"), "due steps do not follow from its events"),
    "a newer format": (edited("header", b'"format":1', b'"format":3'), "has format 3"),
}


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_an_incomplete_export_is_refused_and_nothing_is_imported(
    log: SqlEventLog, lines: list[bytes], damage: Damage, sentence: str
) -> None:
    with pytest.raises(Rejected) as refused:
        bring_in(log, damage(list(lines)))
    assert sentence in str(refused.value)
    assert (log.last_position(), log.steps(), log.streams()) == (0, [], [])
    assert log.result("aa0-1-0") is None


def test_a_newer_event_is_left_to_a_newer_build(log: SqlEventLog, source: SqlEventLog) -> None:
    with source._database.write_lock() as begin:
        connection = begin(True)
        connection.execute("UPDATE events SET schema = 99 WHERE stream = 'session-zz' AND version = 2")
        rows = connection.execute("SELECT * FROM events WHERE stream = 'session-zz'").fetchall()
        [first, second] = (dict(zip(EVENT, row, strict=True)) for row in rows)
        connection.execute(
            "UPDATE events SET hash = :hash WHERE stream = 'session-zz' AND version = 2",
            {"hash": row_hash(first["hash"], second)},
        )
        connection.commit()
    with pytest.raises(Rejected, match="written by a newer hermes-jobs"):
        bring_in(log, lines_of(source))
    assert log.last_position() == 0
    source.close()


def test_a_damaged_log_is_not_exported(source: SqlEventLog) -> None:
    with source._database.write_lock() as begin:
        connection = begin(True)
        connection.execute("UPDATE events SET data = replace(data, 'one', '1')")
        connection.commit()
    with pytest.raises(Corrupt, match="Run `hermes-jobs log events verify`"):
        lines_of(source)
    source.close()


def test_a_log_that_has_lost_the_last_events_of_a_stream_is_not_exported(source: SqlEventLog) -> None:
    with source._database.write_lock() as begin:
        connection = begin(True)
        newest = "SELECT max(version) FROM events AS other WHERE other.stream = events.stream"
        connection.execute(f"DELETE FROM events WHERE stream = 'session-zz' AND version = ({newest})")
        connection.commit()
    with pytest.raises(Corrupt, match="session-zz has lost its last events"):
        lines_of(source)
    source.close()


def test_an_export_is_of_one_moment(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(append(write("session-a", *(str(number) for number in range(2000)))))
    lines = export_log(log, version="test", made_at="now")
    first = [next(lines) for _ in range(5)]
    log.append(append(write("session-a", "later")))
    rest = list(lines)
    assert len(first) + len(rest) == 2000 + 2
    log.close()
