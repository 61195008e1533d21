"""A feature that was taken away: its streams stay as they are, and everything else goes on without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.errors import NewerSchema
from hermes_jobs.features.forgetting.patterns import Pattern, literal
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.codec import Codec
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.forget import find, forget
from hermes_jobs.kernel.log.opaque import kinds_of, opaque_streams, unfolded_streams
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams import streams
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.forgetting import Removal, deleted
from hermes_jobs.kernel.streams.stream_kind import StreamKind
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.views.views import Views
from tests.eventlog.changes import META, MOMENT, append, ids, step, write
from tests.eventlog.moving import bring_in, lines_of
from tests.eventlog.test_verify import change
from tests.examples import examples
from tests.views.histories import append as append_facts
from tests.views.histories import random_history
from tests.views.test_rows_follow_the_log import rows_of

STREAM = "bookmark-b1"


class BookmarkKept(e.Event, frozen=True, kw_only=True):
    """What the feature that is taken away records. `session` and `role` are called like names."""

    session: str
    title: str
    role: str = "reader"
    importance: int = 1


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of its streams: while it has an event, a step is due."""

    stream: str
    version: int = 0


BOOKMARKS = StreamKind(
    "bookmark-",
    Bookmark,
    lambda state, event: replace(state, version=state.version + 1),
    lambda state: (step("fetch-b1", STREAM),) if state.version else (),
)
CODEC = Codec({**EVENT_TYPES, "BookmarkKept": BookmarkKept})


@contextmanager
def installed() -> Iterator[None]:
    """The feature is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_KINDS", (*streams._KINDS, BOOKMARKS))
        forget_kinds()
        yield
    forget_kinds()


def forget_kinds() -> None:
    streams.kinds.cache_clear()
    streams.prefixes.cache_clear()


def kept(title: str, session: str = "s1") -> BookmarkKept:
    return BookmarkKept(session=session, title=title)


def fill(url: str) -> None:
    """A session, and a stream of the feature with a due step."""
    with installed():
        log = open_log(url, codec=CODEC)
        log.append(append(write("session-a", "one")))
        bookmark = write(STREAM, due=(step("fetch-b1", STREAM),))
        log.append(append(replace(bookmark, events=(kept("Lisbon"), kept("Porto", "s2")))))
        log.append(append(write("session-a", "two")))
        change(log, "UPDATE steps SET kind = 'bookmark.fetch'")
        log.close()


@pytest.fixture
def filled(log_url: str) -> Iterator[SqlEventLog]:
    """The log of an installation without the feature."""
    fill(log_url)
    log = open_log(log_url)
    yield log
    log.close()


def test_its_events_are_read_as_they_are_stored(filled: SqlEventLog) -> None:
    types = [type(recorded.event).__name__ for recorded in filled.tail()]
    assert types == ["SessionTitled", "OpaqueEvent", "OpaqueEvent", "SessionTitled"]
    data = '{"session":"s1","title":"Lisbon"}'
    assert filled.read(STREAM)[0].event == e.OpaqueEvent(type="BookmarkKept", schema=1, data=data)


def test_an_event_that_others_have_too_is_opaque_in_its_stream() -> None:
    ended = '{"step":"x","attempt":1}'
    assert isinstance(CODEC.decode("HelperCallEnded", ended, 1, STREAM), e.OpaqueEvent)


def test_an_unknown_event_in_a_known_stream_is_a_newer_builds(log: SqlEventLog) -> None:
    with pytest.raises(NewerSchema, match="BookmarkKept"):
        log.codec.decode("BookmarkKept", "{}", 1, "session-a")


def test_its_steps_are_not_due_and_nobody_recovers_them(filled: SqlEventLog) -> None:
    assert (filled.due(1.0), filled.next_due_at(), filled.steps()) == ([], None, [])
    change(filled, "UPDATE steps SET owner = 'w-gone'")
    assert filled.claimed_by_others("w-1") == []


def test_its_hashes_are_verified(filled: SqlEventLog) -> None:
    report = verify(filled)
    assert report.is_sound, report.findings
    assert (report.num_events, report.opaque, report.unread) == (4, (STREAM,), ())
    change(filled, f"UPDATE events SET data = '{{}}' WHERE stream = '{STREAM}' AND version = 1")
    [finding] = verify(filled).findings
    assert "hash differs" in finding.message


def test_what_is_missing_is_named(filled: SqlEventLog) -> None:
    with filled.snapshot() as connection:
        assert kinds_of(opaque_streams(connection)) == {"bookmark": 1}


def test_it_moves_untouched_to_where_the_feature_is(filled: SqlEventLog, tmp_path: Path) -> None:
    exported = lines_of(filled)
    with installed():
        log = open_log(sqlite_url(tmp_path / "target.db"), codec=CODEC)
        bring_in(log, exported)
        assert [recorded.event for recorded in log.read(STREAM)] == [kept("Lisbon"), kept("Porto", "s2")]
        assert ids(log.steps()) == ["fetch-b1"]
        assert verify(log).is_sound
        log.close()


def test_it_moves_by_a_home_that_lacks_the_feature_too(filled: SqlEventLog, tmp_path: Path) -> None:
    between = open_log(sqlite_url(tmp_path / "between.db"))
    bring_in(between, lines_of(filled))
    assert [each.hash for each in between.tail()] == [each.hash for each in filled.tail()]
    assert verify(between).opaque == (STREAM,)
    exported = lines_of(between)
    with installed():
        with between.snapshot() as connection:
            assert unfolded_streams(connection) == [STREAM]
        with pytest.raises(NewerSchema, match="hermes-jobs restore"):
            between.read(STREAM)
        assert verify(between).opaque == (STREAM,)
        log = open_log(sqlite_url(tmp_path / "target.db"), codec=CODEC)
        bring_in(log, exported)
        assert ids(log.steps()) == ["fetch-b1"]
        assert verify(log).is_sound
        log.close()
    between.close()


def removed(log: SqlEventLog, removal: Removal) -> list[e.Event]:
    """The events of the stream after that removal."""
    event = e.TextsForgotten(forgetting="f1", cause="pattern", by="user")
    forget(log, removal, find(log, removal), event, meta=META, recorded_at=MOMENT)
    return [recorded.event for recorded in log.read(STREAM)]


def test_a_text_is_removed_and_names_stay(filled: SqlEventLog, log_url: str) -> None:
    text = Pattern(literal("Lisbon"))
    removed(filled, Removal(text=text, found=text.found))
    assert verify(filled).is_sound
    with installed():
        log = open_log(log_url, codec=CODEC)
        assert [recorded.event for recorded in log.read(STREAM)] == [
            kept(text("Lisbon")),
            kept("Porto", "s2"),
        ]
        log.close()


def test_a_deleted_session_takes_the_texts_that_name_it_along(filled: SqlEventLog) -> None:
    first, second = removed(
        filled, Removal(text=deleted, streams=frozenset({"session-a"}), ids=frozenset({"s1"}))
    )
    assert first == e.OpaqueEvent(
        type="BookmarkKept", schema=-1, data='{"session": "s1", "title": "[deleted]"}'
    )
    assert second == e.OpaqueEvent(type="BookmarkKept", schema=1, data='{"session":"s2","title":"Porto"}')


def test_an_event_whose_words_are_gone_stays_opaque_when_the_feature_is_back() -> None:
    class Closed(e.Event, frozen=True, kw_only=True):
        state: bool

    codec = Codec({**EVENT_TYPES, "Closed": Closed})
    assert codec.decode("Closed", '{"state":true}', -1, "session-a") == Closed(state=True)
    left = codec.decode("Closed", '{"state":"[deleted]"}', -1, "session-a")
    assert left == e.OpaqueEvent(type="Closed", schema=-1, data='{"state":"[deleted]"}')


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(20))
def test_rows_are_the_same_with_and_without_it(seed: int) -> None:
    random = Random(seed)
    mixed: list[tuple[str, e.Event]] = list(random_history(random, 60).facts)
    without = list(mixed)
    for number in range(random.randint(1, 12)):
        place = random.randint(0, len(mixed))
        mixed.insert(place, (f"bookmark-{number}", random.choice(OF_NO_ROW)))
        without.insert(place, ("listener-memory:x", e.WritesTold(listener="memory:x", upto=number)))
    with TemporaryDirectory() as folder:
        assert rows_after(Path(folder) / "mixed", mixed) == rows_after(Path(folder) / "without", without)


OF_NO_ROW = (
    kept("Lisbon"),
    e.SessionTitled(session="aa", title="Porto"),
    e.HelperCallEnded(step="x", attempt=1, usage=Usage(input_tokens=5), model="m"),
)


def rows_after(folder: Path, facts: list[tuple[str, e.Event]]) -> dict[str, list[tuple]]:
    """The views' rows of a log of these events, written by an installation that knows all of them."""
    folder.mkdir()
    writer = open_log(sqlite_url(folder / "events.db"), codec=CODEC)
    append_facts(writer, facts)  # type: ignore[arg-type]  # events of other streams are among them
    views = Views(writer, folder / "views")
    views.catch_up()
    views.close()
    writer.close()
    return {table: rows for table, rows in rows_of(folder / "views").items() if table != "checkpoint"}
