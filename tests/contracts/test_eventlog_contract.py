"""What every event log keeps to, whatever database it lies in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from hermes_jobs.errors import Conflict, Corrupt, KeyTaken, NewerSchema, StepLost
from hermes_jobs.kernel.events import Event, ToolFinished
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.log import Append, StreamWrite, WorkerRow
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.decision import LargeResult
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES, READS_UP_TO
from hermes_jobs.kernel.turns.steps import Step
from tests.eventlog.changes import MOMENT, append, claim, due, finish, held, ids, key, step, titles, write


class Novelty(Event, frozen=True, kw_only=True):
    """An event that this build does not know."""

    name: str = "new"


NEWER_BUILD = Codec({**EVENT_TYPES, "Novelty": Novelty}, since={"Novelty": READS_UP_TO + 1})


def worker(worker_id: str, *, beats: int = 0) -> WorkerRow:
    return WorkerRow(
        id=worker_id, name="worker 1", locks="folder", queues=("turns", "tools"), beats=beats, build_level=1
    )


def run_in_threads(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What each thread returned or raised; all start together."""
    together = threading.Barrier(count)

    def run(number: int) -> Any:
        together.wait()
        try:
            return act(number)
        except Exception as error:  # noqa: BLE001 - returned, to be looked at
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class TestAppending:
    def test_appended_events_are_read_back_as_returned(self, log: SqlEventLog) -> None:
        meta = EventMeta(worker="w", causation="step", correlation="turn")
        recorded = log.append(
            Append(meta=meta, recorded_at=MOMENT, writes=(write("session-a", "one", "two", expected=0),))
        )
        assert log.read("session-a") == list(recorded)
        assert [(each.position, each.version, each.type) for each in recorded] == [
            (1, 1, "SessionTitled"),
            (2, 2, "SessionTitled"),
        ]
        assert {(each.meta, each.recorded_at, each.schema) for each in recorded} == {(meta, MOMENT, 1)}

    def test_the_head_names_the_last_version_and_its_hash(self, log: SqlEventLog) -> None:
        *_, last = log.append(append(write("session-a", "one", "two")))
        head = log.head("session-a")
        assert head is not None
        assert (head.version, head.hash, head.min_build_level) == (2, last.hash, 1)
        assert log.head("session-b") is None

    def test_equal_events_have_different_hashes_in_every_place(self, log: SqlEventLog) -> None:
        recorded = log.append(append(write("session-a", "x", "x"), write("session-b", "x", "x")))
        assert len({each.hash for each in recorded}) == 4

    def test_an_append_against_another_version_is_a_conflict_and_changes_nothing(
        self, log: SqlEventLog
    ) -> None:
        log.append(append(write("session-a", "one", expected=0)))
        for expected in (0, 2):
            with pytest.raises(Conflict, match="session-a is at version 1"):
                log.append(
                    append(
                        write("session-b", "b"),
                        write("session-a", "two", expected=expected, due=(step("s"),)),
                    )
                )
        assert titles(log.tail()) == ["one"]
        assert log.step("s") is None

    def test_facts_may_be_appended_at_any_version(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "one")))
        assert log.append(append(write("session-a", "two")))[0].version == 2

    def test_a_stream_may_be_written_twice_in_one_append(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "one", expected=0), write("session-a", "two", expected=1)))
        assert titles(log.read("session-a")) == ["one", "two"]

    def test_a_write_without_events_checks_the_version_and_keeps_the_head(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "one")))
        before = log.head("session-a")
        with pytest.raises(Conflict):
            log.append(append(write("session-a", expected=0, due=(step("s"),))))
        log.append(append(write("session-a", expected=1, due=(step("s"),))))
        assert log.head("session-a") == before
        assert ids(log.steps()) == ["s"]

    def test_an_event_type_that_is_not_declared_is_refused(self, log: SqlEventLog) -> None:
        with pytest.raises(Corrupt, match="Novelty is not a declared event type"):
            log.append(append(StreamWrite(stream="session-a", events=(Novelty(),), expected=0)))
        assert log.last_position() == 0

    def test_an_event_of_five_megabytes_is_kept(self, log: SqlEventLog) -> None:
        content = "ü" * 2_500_000
        event = ToolFinished(turn="t", call="c", ok=True, content=content)
        log.append(append(StreamWrite(stream="session-a", events=(event,), expected=0)))
        assert [each.event for each in log.read("session-a")] == [event]

    def test_invalid_unicode_does_not_stop_an_append(self, log: SqlEventLog) -> None:
        recorded = log.append(append(write("session-a", "nul \0, half \ud83d, pair \ud83d\ude00")))
        assert titles(recorded) == ["nul \0, half \ufffd, pair \U0001f600"]
        assert log.read("session-a") == list(recorded)

    @pytest.mark.parametrize("name", ["nul \0", 'quote " back \\ slash', "half \ud83d", "ü 😀", ""])
    def test_names_may_hold_any_character(self, log: SqlEventLog, name: str) -> None:
        name = f"session-{name}"
        stored = name.replace("\ud83d", "\ufffd")
        log.append(
            append(
                write(name, "one", due=(step(name, name),)),
                keys=(key(name, name, name),),
                results=(LargeResult(call=name, content=name),),
            )
        )
        log.append(claim(name, owner=name))
        assert [head.stream for head in log.streams()] == [stored]
        assert titles(log.read(name)) == titles(log.tail(stream=name)) == ["one"]
        assert held(log.step(name)) == (stored, 7)
        found = log.key(name, name)
        assert found is not None
        assert (found.scope, found.key, found.stream, found.digest) == (stored, stored, stored, stored)
        assert log.result(name) == stored

    def test_an_append_that_need_not_be_durable_is_seen_all_the_same(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "one"), durable=False))
        assert titles(log.read("session-a")) == ["one"]


class TestReading:
    def test_a_part_of_a_stream_is_read_by_its_versions(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", *"12345")))
        assert titles(log.read("session-a", after=1, upto=3)) == ["2", "3"]
        assert titles(log.read("session-a", after=3)) == ["4", "5"]
        assert list(log.read("session-b")) == []

    def test_a_stream_that_has_lost_its_last_events_is_not_taken_for_a_shorter_one(
        self, log: SqlEventLog
    ) -> None:
        log.append(append(write("session-a", *"123")))
        with log._database.write_lock() as begin:
            connection = begin(True)
            connection.execute("DELETE FROM events WHERE version = 3")
            connection.commit()
        for after in (0, 2):
            with pytest.raises(Corrupt, match="session-a has lost its last events: its head says version 3"):
                log.read("session-a", after=after)
        assert titles(log.read("session-a", upto=2)) == ["1", "2"]
        assert list(log.read("session-a", after=3)) == []

    def test_the_tail_goes_through_all_streams_or_one_in_the_order_of_positions(
        self, log: SqlEventLog
    ) -> None:
        log.append(append(write("session-a", "1"), write("session-b", "2"), write("session-a", "3")))
        assert titles(log.tail()) == ["1", "2", "3"]
        assert titles(log.tail(1, 1)) == ["2"]
        assert titles(log.tail(1, stream="session-a")) == ["3"]
        assert log.last_position() == 3

    def test_events_are_read_by_their_positions(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "1"), write("session-b", *"2345")))
        assert sorted(titles(log.at(iter((5, 2, 4))))) == ["2", "4", "5"]
        assert titles(log.at((3, 6))) == ["3"]
        assert titles(log.at(range(1, 4000))) == list("12345")
        assert list(log.at(())) == []

    def test_streams_are_found_by_how_their_names_begin(self, log: SqlEventLog) -> None:
        names = ["Session-a", "session-a", "session-b", "session_c", "schedule-1"]
        log.append(append(*(write(name, "x") for name in names)))
        assert [head.stream for head in log.streams("session-")] == ["session-a", "session-b"]
        assert [head.stream for head in log.streams()] == sorted(names)

    def test_a_log_that_is_opened_again_is_the_same_log(self, log: SqlEventLog, log_url: str) -> None:
        log.append(append(write("session-a", "one")))
        again = open_log(log_url)
        assert again.log_id == log.log_id
        assert titles(again.read("session-a")) == ["one"]
        again.close()

    def test_another_process_reads_committed_events_at_once(self, log: SqlEventLog, log_url: str) -> None:
        other = open_log(log_url)
        for number in range(1, 21):
            writer, reader = (log, other) if number % 2 else (other, log)
            writer.append(append(write("session-a", str(number), expected=number - 1)))
            assert reader.last_position() == number
            assert titles(reader.read("session-a", after=number - 1)) == [str(number)]
        other.close()


class TestSteps:
    def test_steps_are_due_by_their_time_and_then_first_come_first_served(self, log: SqlEventLog) -> None:
        log.append(due(step("later", not_before=200), step("b", not_before=100), step("a", not_before=100)))
        log.append(due(step("now")))
        assert ids(log.due(99)) == ["now"]
        assert ids(log.due(100)) == ["now", "b", "a"]
        assert ids(log.due(500, limit=2)) == ["now", "b"]
        assert ids(log.steps()) == ["later", "b", "a", "now"]

    def test_steps_are_asked_for_by_stream(self, log: SqlEventLog) -> None:
        log.append(append(write("a", due=(step("1", "a", not_before=5),)), write("b", due=(step("2", "b"),))))
        assert ids(log.due(9, stream="a")) == ids(log.steps("a")) == ["1"]
        assert (log.next_due_at(stream="a"), log.next_due_at()) == (5.0, 0.0)
        assert log.next_due_at(stream="c") is None

    def test_steps_are_asked_for_by_lane(self, log: SqlEventLog) -> None:
        fires = [
            Step(id=name, stream="schedule-p", kind="schedule.fire", not_before=at)
            for name, at in (("later", 200), ("due", 100))
        ]
        log.append(due(step("turn"), *fires))
        assert ids(log.due(150, queue="schedules")) == ["due"]
        assert (log.next_due_at(queue="schedules"), log.next_due_at(queue="tools")) == (100.0, None)

    def test_a_step_comes_back_as_it_was_made_due(self, log: SqlEventLog) -> None:
        made = step("s", not_before=1_800_000_000.123456, attempt=3)
        log.append(due(made))
        row = log.step("s")
        assert row is not None
        assert row.step == made
        assert held(row) == (None, 0)
        assert log.step("other") is None

    def test_a_claimed_step_is_due_no_more(self, log: SqlEventLog) -> None:
        log.append(due(step("s"), step("t", not_before=50)))
        assert log.append(claim("s", "w-1", 2**63 - 1)) == ()
        assert held(log.step("s")) == ("w-1", 2**63 - 1)
        assert ids(log.due(100)) == ["t"]
        assert log.next_due_at() == 50.0
        assert ids(log.steps()) == ["s", "t"]

    def test_own_foreign_and_free_steps_are_distinguished(self, log: SqlEventLog) -> None:
        log.append(due(step("free"), step("own"), step("b"), step("a")))
        for name, owner in (("own", "w-1"), ("a", "w-2"), ("b", "w-3")):
            log.append(claim(name, owner, 1))
        assert [(row.step.id, row.owner) for row in log.claimed_by_others("w-1")] == [
            ("b", "w-3"),
            ("a", "w-2"),
        ]

    def test_a_step_is_claimed_once(self, log: SqlEventLog) -> None:
        log.append(due(step("s")))
        log.append(claim("s", "w-1", 1))
        for owner, fence in (("w-1", 1), ("w-2", 2)):
            with pytest.raises(StepLost):
                log.append(claim("s", owner, fence, write("session-a", "lost")))
        with pytest.raises(StepLost):
            log.append(claim("unknown"))
        assert held(log.step("s")) == ("w-1", 1)
        assert log.last_position() == 0

    @pytest.mark.parametrize(("owner", "fence"), [("w-1", 8), ("w-2", 7)])
    def test_only_owner_and_fence_together_finish_a_step(
        self, log: SqlEventLog, owner: str, fence: int
    ) -> None:
        log.append(due(step("s")))
        log.append(claim("s", "w-1", 7))
        with pytest.raises(StepLost):
            log.append(finish("s", owner, fence, write("session-a", "lost", dropped=("s",))))
        assert held(log.step("s")) == ("w-1", 7)
        assert log.last_position() == 0

    def test_an_unclaimed_step_cannot_be_finished(self, log: SqlEventLog) -> None:
        log.append(due(step("s")))
        with pytest.raises(StepLost):
            log.append(finish("s", "w-1", 0))

    def test_finishing_a_step_drops_it_and_makes_others_due(self, log: SqlEventLog) -> None:
        log.append(due(step("s")))
        log.append(claim("s"))
        log.append(finish("s", "w-1", 7, write("session-a", "done", dropped=("s",), due=(step("next"),))))
        assert ids(log.steps()) == ["next"]

    def test_a_finished_step_that_stays_is_free_again(self, log: SqlEventLog) -> None:
        log.append(due(step("s")))
        log.append(claim("s"))
        log.append(finish("s"))
        row = log.step("s")
        assert row is not None
        assert row.owner is None
        assert ids(log.due(0)) == ["s"]

    def test_a_renewed_step_keeps_its_place_and_loses_its_owner(self, log: SqlEventLog) -> None:
        log.append(due(step("s"), step("t")))
        log.append(claim("s"))
        log.append(finish("s", "w-1", 7, write("session-a", "failed", due=(step("s", attempt=2),))))
        row = log.step("s")
        assert row is not None
        assert row.step.attempt == 2
        assert held(row) == (None, 0)
        assert ids(log.steps()) == ["s", "t"]

    def test_of_many_that_claim_a_step_exactly_one_gets_it(self, log: SqlEventLog) -> None:
        names = [f"s-{number}" for number in range(20)]
        log.append(due(*(step(name) for name in names)))

        def claim_all(number: int) -> list[str]:
            won = []
            for name in names:
                try:
                    log.append(claim(name, f"w-{number}", number, write("session-a", name), durable=False))
                except StepLost:
                    continue
                won.append(name)
            return won

        won = [name for each in run_in_threads(4, claim_all) for name in each]
        assert sorted(won) == sorted(titles(log.tail())) == sorted(names)


class TestKeys:
    def test_the_second_use_of_a_key_returns_the_first(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "other")))
        log.append(append(write("session-a", "first", "second"), keys=(key("k", digest="d1"),)))
        with pytest.raises(KeyTaken) as caught:
            log.append(append(write("session-b", "again"), keys=(key("new"), key("k", digest="d2"))))
        taken = caught.value
        assert (taken.scope, taken.key, taken.stream, taken.position, taken.digest) == (
            "turn",
            "k",
            "session-a",
            2,
            "d1",
        )
        assert log.key("turn", "new") is None
        assert log.head("session-b") is None

    def test_a_key_is_one_within_its_scope(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "1"), keys=(key("k", "turn"), key("k", "review"))))
        row = log.key("review", "k")
        assert row is not None
        assert (row.stream, row.position, row.digest) == ("session-a", 1, "d")

    def test_a_key_needs_an_event_to_point_at(self, log: SqlEventLog) -> None:
        with pytest.raises(ValueError, match="carries none"):
            log.append(append(write("session-a"), keys=(key("k"),)))

    def test_a_key_may_occur_once_in_an_append(self, log: SqlEventLog) -> None:
        with pytest.raises(ValueError, match="twice"):
            log.append(append(write("session-a", "1"), keys=(key("k"), key("k"))))

    def test_a_key_is_used_once_however_many_try(self, log: SqlEventLog) -> None:
        def use(number: int) -> Any:
            return log.append(append(write(f"session-{number}", "x"), keys=(key("k"),)))

        outcomes = run_in_threads(8, use)
        assert sum(isinstance(outcome, KeyTaken) for outcome in outcomes) == 7
        assert log.last_position() == 1


class TestResults:
    def test_a_large_result_is_kept_whole(self, log: SqlEventLog) -> None:
        content = "line \0 \u2028 ü\n" * 100_000
        log.append(append(write("session-a", "1"), results=(LargeResult(call="c", content=content),)))
        assert log.result("c") == content
        assert log.result("other") is None

    def test_the_last_result_of_a_call_counts(self, log: SqlEventLog) -> None:
        for content in ("first", "second"):
            log.append(append(results=(LargeResult(call="c", content=content),)))
        assert log.result("c") == "second"


class TestNewerBuilds:
    @pytest.fixture
    def newer(self, log: SqlEventLog, log_url: str) -> Iterator[SqlEventLog]:
        """The same log, used by a newer build that has written an event which this one does not know."""
        newer = open_log(log_url, codec=NEWER_BUILD)
        newer.append(append(write("session-a", "old", due=(step("s"),))))
        newer.append(append(StreamWrite(stream="session-a", events=(Novelty(),), expected=1)))
        newer.append(append(write("session-b", "other", due=(step("t", "session-b", not_before=5),))))
        yield newer
        newer.close()

    def test_its_steps_are_left_to_those_that_can_read_it(self, log: SqlEventLog, newer: SqlEventLog) -> None:
        assert ids(log.due(10)) == ["t"]
        assert log.next_due_at() == 5.0
        assert ids(newer.due(10)) == ["s", "t"]
        assert newer.next_due_at() == 0.0

    def test_its_stream_is_neither_read_nor_written(self, log: SqlEventLog, newer: SqlEventLog) -> None:
        with pytest.raises(NewerSchema, match="session-a holds events of a newer hermes-jobs"):
            log.read("session-a", upto=1)
        with pytest.raises(NewerSchema):
            log.append(append(write("session-a", "three")))
        assert len(newer.read("session-a")) == 2

    def test_the_tail_goes_as_far_as_it_can_be_read(self, log: SqlEventLog, newer: SqlEventLog) -> None:
        assert titles(log.tail()) == ["old"]
        with pytest.raises(NewerSchema, match="Novelty"):
            log.tail(1)
        assert titles(log.tail(2)) == ["other"]

    def test_a_log_of_a_newer_schema_is_not_opened(self, log: SqlEventLog, log_url: str) -> None:
        with log._database.write_lock() as begin:
            connection = begin(True)
            connection.execute("UPDATE log_info SET schema = 999")
            connection.commit()
        with pytest.raises(NewerSchema, match="schema 999"):
            open_log(log_url)


class TestWaiting:
    def test_waiting_ends_at_once_where_something_is_there(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "1")))
        assert log.wait(0, 60)

    def test_waiting_in_vain_ends_with_its_time(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "1")))
        assert not log.wait(1, 0)
        assert not log.wait(1, 0.05)

    @pytest.mark.parametrize("where", ["this process", "another"])
    def test_waiting_ends_with_an_append(self, log: SqlEventLog, log_url: str, where: str) -> None:
        writer = log if where == "this process" else open_log(log_url)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(log.wait, 0, 60)
            writer.append(append(write("session-a", "1")))
            assert waiting.result()
        if writer is not log:
            writer.close()

    def test_a_follower_sees_every_position_once_and_in_order(self, log: SqlEventLog, log_url: str) -> None:
        writers, each = 4, 25
        logs = [open_log(log_url) for _ in range(writers)]

        def follow() -> list[int]:
            seen: list[int] = []
            while len(seen) < writers * each:
                position = seen[-1] if seen else 0
                assert log.wait(position, 60)
                seen += [event.position for event in log.tail(position, 7)]
            return seen

        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(follow)
            run_in_threads(
                writers,
                lambda number: [
                    logs[number].append(append(write(f"session-{number}", str(n), expected=n)))
                    for n in range(each)
                ],
            )
            assert following.result() == list(range(1, writers * each + 1))
        for other in logs:
            other.close()


class TestManyWriters:
    def test_decisions_against_a_version_never_overwrite_each_other(self, log: SqlEventLog) -> None:
        def add(number: int) -> None:
            for title in range(5):
                while True:
                    head = log.head("session-a")
                    version = head.version if head else 0
                    try:
                        log.append(append(write("session-a", f"{number}.{title}", expected=version)))
                    except Conflict:
                        continue
                    break

        assert run_in_threads(6, add) == [None] * 6
        recorded = log.read("session-a")
        assert sorted(titles(recorded)) == sorted(f"{n}.{t}" for n in range(6) for t in range(5))
        assert [each.version for each in recorded] == list(range(1, 31))

    def test_a_failing_append_does_not_affect_others(self, log: SqlEventLog) -> None:
        log.append(append(write("session-a", "one")))

        def add(number: int) -> Any:
            expected = 7 if number % 2 else None
            return log.append(append(write("session-b", str(number)), write("session-a", expected=expected)))

        outcomes = run_in_threads(12, add)
        assert [isinstance(outcome, Conflict) for outcome in outcomes] == [False, True] * 6
        assert sorted(map(int, titles(log.read("session-b")))) == [0, 2, 4, 6, 8, 10]

    def test_positions_have_no_gaps_and_grow_with_versions(self, log: SqlEventLog) -> None:
        run_in_threads(6, lambda n: [log.append(append(write(f"session-{n % 2}", "x"))) for _ in range(5)])
        recorded = log.tail()
        assert [each.position for each in recorded] == list(range(1, 31))
        for stream in ("session-0", "session-1"):
            positions = [each.position for each in log.read(stream)]
            assert all(before < after for before, after in pairwise(positions))


class TestWorkers:
    def test_a_worker_is_listed_until_it_leaves(self, log: SqlEventLog) -> None:
        log.register(worker("w-2"))
        log.register(worker("w-1"))
        assert list(log.workers()) == [worker("w-1"), worker("w-2")]
        log.unregister("w-1")
        assert [each.id for each in log.workers()] == ["w-2"]

    def test_beats_are_counted_while_it_is_registered(self, log: SqlEventLog) -> None:
        log.register(worker("w-1"))
        assert log.heartbeat("w-1")
        assert log.heartbeat("w-1")
        assert list(log.workers()) == [worker("w-1", beats=2)]
        log.unregister("w-1")
        assert not log.heartbeat("w-1")
        assert list(log.workers()) == []

    def test_a_worker_without_a_renewal_is_removed_from_the_list(self, log: SqlEventLog) -> None:
        log.register(worker("w-1"))
        log.heartbeat("w-1")
        assert not log.evict(worker("w-1")), "it has renewed its row since"
        assert log.evict(worker("w-1", beats=1))
        assert list(log.workers()) == []
        assert not log.evict(worker("w-1", beats=1)), "it is not there"
        assert not log.heartbeat("w-1")

    def test_registering_again_renews_the_row(self, log: SqlEventLog) -> None:
        log.register(worker("w-1", beats=5))
        log.register(worker("w-1"))
        assert list(log.workers()) == [worker("w-1")]
