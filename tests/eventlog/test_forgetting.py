"""Texts are removed from the log; everything else stays, and the log stays verifiable."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.forgetting.patterns import Pattern, literal
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.repository import StreamRepository
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.forget import erase_remains, find, forget
from hermes_jobs.kernel.log.log import StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.decision import LargeResult
from hermes_jobs.kernel.streams.forgetting import KEY_SCOPE, NEWEST, Removal, deleted
from hermes_jobs.kernel.streams.streams import fold, initial_state
from hermes_jobs.kernel.streams.texts import texts_of
from tests.eventlog.changes import META, MOMENT, append, claim, due, key, step, titles, write
from tests.eventlog.moving import bring_in, lines_of, live
from tests.eventlog.test_verify import change
from tests.examples import examples

FACT = e.TextsForgotten(forgetting="f1", cause="pattern", by="user", why="A test.")


def pattern(text: str) -> Removal:
    replace = Pattern(literal(text))
    return Removal(text=replace, found=replace.found)


def remove(log: SqlEventLog, removal: Removal, name: str = "f1", *, force: bool = False) -> int:
    fact = e.TextsForgotten(forgetting=name, cause="pattern", by="user")
    return forget(log, removal, find(log, removal), fact, meta=META, recorded_at=MOMENT, force=force)


def rows(log: SqlEventLog) -> list[dict[str, Any]]:
    with log.snapshot() as connection:
        found = connection.execute("SELECT * FROM events ORDER BY position").fetchall()
    names = ("position", "stream", "version", "type", "data", "meta", "schema", "recorded_at", "hash")
    return [dict(zip(names, row, strict=True)) for row in found]


def test_a_text_is_gone_and_the_chain_still_verifies(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one secret", "two"), keys=(key("Secret key"),)))
    log.append(
        append(
            write("session-b", "three"), results=(LargeResult(call="t1-1-0", content="all of the SECRET"),)
        )
    )
    before = rows(log)
    position = remove(log, pattern("secret"))

    assert position == 4
    assert titles(log.tail(0, 3)) == ["one [redacted]", "two", "three"]
    assert log.result("t1-1-0") == "all of the [redacted]"
    assert log.key("turn", "Secret key") is None
    [recorded] = log.read("forgetting-f1")
    fact = recorded.event
    assert isinstance(fact, e.TextsForgotten)
    assert (fact.cause, fact.by, fact.results) == ("pattern", "user", ("t1-1-0",))
    assert [(name, [each.version for each in found]) for name, found in fact.tombstones.items()] == [
        ("session-a", [1])
    ]
    unchanged = ("position", "stream", "version", "type", "meta", "recorded_at", "hash")
    assert [[row[name] for name in unchanged] for row in rows(log)[:3]] == [
        [row[name] for name in unchanged] for row in before
    ]
    report = verify(log)
    assert (report.findings, report.num_forgotten) == ((), 1)


def test_nothing_is_recorded_where_nothing_is_found_and_a_second_time(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one secret")))
    assert remove(log, pattern("nowhere")) == 0
    assert remove(log, pattern("secret")) == 2
    assert remove(log, pattern("secret"), "f2") == 0
    assert log.last_position() == 2


def test_events_appended_between_search_and_removal_are_removed_too(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one secret")))
    wanted = pattern("secret")
    found = find(log, wanted)
    log.append(append(write("session-a", "two secrets", "three")))
    forget(log, wanted, found, FACT, meta=META, recorded_at=MOMENT)
    assert titles(log.read("session-a")) == [
        "one [redacted]",
        "two [redacted]s",
        "three",
    ]
    assert verify(log).is_sound


def test_an_event_that_was_redacted_twice_verifies(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "my secret word is xyzzy", "then")))
    remove(log, pattern("secret"))
    remove(log, pattern("xyzzy"), "f2")
    assert titles(log.read("session-a")) == [
        "my [redacted] word is [redacted]",
        "then",
    ]
    report = verify(log)
    assert (report.findings, report.num_forgotten) == ((), 1)


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE events SET data = \'{"session":"s","title":"forged"}\' WHERE position = 1',
        'UPDATE events SET data = \'{"session":"s","title":"forged"}\' WHERE position = 2',
        "UPDATE events SET recorded_at = 'earlier' WHERE position = 1",
    ],
)
def test_a_tombstone_covers_only_its_replacement(log: SqlEventLog, statement: str) -> None:
    log.append(append(write("session-a", "one secret", "two")))
    remove(log, pattern("secret"))
    change(log, statement)
    assert [each.stream for each in verify(log).findings] == ["session-a"]


def test_a_forged_tombstone_is_found(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one secret", "two")))
    remove(log, pattern("secret"))
    change(log, "UPDATE events SET data = replace(data, '[[1,', '[[2,') WHERE position = 3")
    assert {each.stream for each in verify(log).findings} == {"session-a", "forgetting-f1"}


def test_it_is_refused_while_work_is_under_way_there_unless_it_is_forced(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one secret")))
    log.append(due(step("s1")))
    remove(log, pattern("one"))
    log.append(claim("s1"))
    with pytest.raises(Rejected, match="session-a"):
        remove(log, pattern("secret"), "f2")
    assert log.read("session-a")[0].event == e.SessionTitled(session="s", title="[redacted] secret")
    assert remove(log, pattern("secret"), "f2", force=True)


def test_a_stream_that_goes_as_a_whole_may_have_no_work_due(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one"), write("session-b", "two")))
    log.append(due(step("s1")))
    with pytest.raises(Rejected):
        remove(log, Removal(text=deleted, streams=frozenset({"session-a"})))
    remove(log, Removal(text=deleted, streams=frozenset({"session-b"})))
    assert titles(log.tail(0, 2)) == ["one", "[deleted]"]


def test_a_cached_state_is_folded_again(log: SqlEventLog) -> None:
    added = memory_events.MemoryAdded(target="user", content="Has a secret", author="user")
    log.append(append(StreamWrite(stream="memory", events=(added,), expected=None)))
    states = StreamRepository(log)
    assert states.state("memory").user == ("Has a secret",)  # type: ignore[attr-defined]
    remove(log, pattern("secret"))
    assert states.state("memory").user == ("Has a [redacted]",)  # type: ignore[attr-defined]
    assert states.load_at("memory", 1).user == ("Has a [redacted]",)  # type: ignore[attr-defined]


def test_entries_that_become_equal_stay_distinct(log: SqlEventLog) -> None:
    entries = ("PIN 1234", "PIN 5678", "PIN none")
    added = [memory_events.MemoryAdded(target="user", content=entry, author="user") for entry in entries]
    facts = [*added, memory_events.MemoryRemoved(target="user", old="PIN 5678", author="user")]
    log.append(append(StreamWrite(stream="memory", events=tuple(facts), expected=None)))
    replace = Pattern(re.compile(r"\d{4}"))
    remove(log, Removal(text=replace, found=replace.found))
    memory = fold(initial_state("memory"), [each.event for each in log.read("memory")])
    assert memory.user == ("PIN [redacted]", "PIN none")  # type: ignore[attr-defined]


def test_an_export_of_a_part_takes_its_tombstones_along(log: SqlEventLog, tmp_path: Path) -> None:
    log.append(append(write("session-a", "one secret", "two"), write("session-b", "three secrets")))
    remove(log, pattern("secret"))
    other = open_log(sqlite_url(tmp_path / "other.db"))
    came = bring_in(other, lines_of(log, ["session-a"]), "session-")
    assert came.streams == ("session-a", "forgetting-f1")
    report = verify(other)
    assert (report.findings, report.num_forgotten) == ((), 1)
    assert bring_in(other, lines_of(log)).known == ("session-a", "forgetting-f1")
    other.close()


def test_an_export_changed_by_hand_is_refused(log: SqlEventLog, tmp_path: Path) -> None:
    log.append(append(write("session-a", "one secret", "two")))
    lines = lines_of(log)
    changed = [line.replace(b"one secret", b"one forgery") for line in lines[:-1]]
    end = lines[-1]
    other = open_log(sqlite_url(tmp_path / "other.db"))
    with pytest.raises(Rejected):
        bring_in(other, [*changed, end])
    other.close()


def test_the_database_keeps_nothing_of_it(tmp_path: Path) -> None:
    """SQLite: not in pages that are free, and not in the WAL. Other connections are open meanwhile."""
    file = tmp_path / "events.db"
    log, other = open_log(sqlite_url(file)), open_log(sqlite_url(file))
    for number in range(300):
        log.append(append(write(f"session-{number % 7}", f"{'x' * number} zanzibar {'y' * (300 - number)}")))
        log.append(append(results=(LargeResult(call=f"t{number}-1-0", content="zanzibar" * number),)))
    other.read("session-1")
    assert b"zanzibar" in _bytes(tmp_path)
    remove(log, pattern("zanzibar"))
    assert erase_remains(log)
    assert b"zanzibar" not in _bytes(tmp_path)
    assert other.read("session-1")[0].event == log.read("session-1")[0].event
    assert erase_remains(log)
    log.close()
    other.close()


def test_a_reader_of_the_old_state_holds_the_erasing_up_and_the_next_one_does_it(tmp_path: Path) -> None:
    log = open_log(sqlite_url(tmp_path / "events.db"))
    log.append(append(write("session-a", "zanzibar")))
    reading = open_log(sqlite_url(tmp_path / "events.db"))
    with reading.snapshot() as connection:
        connection.execute("SELECT count(*) FROM events").fetchone()
        remove(log, pattern("zanzibar"))
        assert not erase_remains(log)
    assert erase_remains(log)
    assert b"zanzibar" not in _bytes(tmp_path)
    log.close()
    reading.close()


def test_erasing_works_on_every_database(log: SqlEventLog) -> None:
    log.append(
        append(write("session-a", "zanzibar"), results=(LargeResult(call="t1-1-0", content="zanzibar"),))
    )
    assert erase_remains(log)
    remove(log, pattern("zanzibar"))
    assert erase_remains(log)
    assert verify(log).is_sound


def _bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@settings(max_examples=examples(30))
@given(seed=st.integers(0, 2**32), times=st.integers(1, 80), wanted=st.lists(st.integers(0, 12), max_size=3))
def test_whatever_is_redacted_the_rest_is_as_it_was(seed: int, times: int, wanted: list[int]) -> None:
    with TemporaryDirectory() as folder:
        log = open_log(sqlite_url(Path(folder) / "events.db"))
        live(log, Random(seed), times)
        before, states = rows(log), {each.stream: _state(log, each.stream) for each in log.streams()}
        accounts = _accounts(log)
        for at, number in enumerate(wanted):
            remove(log, pattern(f"text {number}"), f"f{at}", force=True)
        erase_remains(log)

        assert verify(log).is_sound
        after = rows(log)
        for old, new in zip(before, after, strict=False):
            assert all(old[name] == new[name] for name in old if name not in {"data", "schema"})
            is_matched = any(f"text {number}" in old["data"] for number in wanted)
            assert old["data"] == new["data"] or is_matched
        for number in wanted:
            assert f"text {number}".encode() not in _bytes(Path(folder))
            texts = (text for each in log.tail(0, 10**6) for text in texts_of(each.event))
            assert all(f"text {number}" not in text for text in texts)
        assert _accounts(log) == accounts
        assert all(_state(log, stream).version == state.version for stream, state in states.items())
        _moves_to_another_log(log, folder)
        log.close()


def _moves_to_another_log(log: SqlEventLog, folder: str) -> None:
    other = open_log(sqlite_url(Path(folder) / "other.db"))
    bring_in(other, lines_of(log))
    assert verify(other).is_sound
    assert [(row["stream"], row["version"], row["data"], row["hash"]) for row in rows(other)] == [
        (row["stream"], row["version"], row["data"], row["hash"]) for row in rows(log)
    ]
    newest, here = other.key(KEY_SCOPE, NEWEST), log.key(KEY_SCOPE, NEWEST)
    assert (newest and newest.position) == (here and here.position)
    other.close()


def _state(log: SqlEventLog, stream: str) -> Any:
    return fold(initial_state(stream), [each.event for each in log.read(stream)])


def _accounts(log: SqlEventLog) -> list[Any]:
    with log.snapshot() as connection:
        return sorted(connection.execute("SELECT * FROM budgets").fetchall())
