"""Whatever is appended, what is read back is what a list in memory says."""

from __future__ import annotations

import uuid

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Conflict
from hermes_jobs.kernel.log.sql import SqlEventLog
from tests.eventlog.changes import append, titles, write
from tests.examples import examples

title = st.text(max_size=20)
stream_write = st.tuples(
    st.sampled_from("abc"), st.lists(title, max_size=3), st.none() | st.integers(min_value=0, max_value=4)
)
change = st.tuples(st.lists(stream_write, min_size=1, max_size=3), st.booleans())


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(change, max_size=8))
def test_reading_returns_the_appended_events(
    log: SqlEventLog, changes: list[tuple[list[tuple[str, list[str], int | None]], bool]]
) -> None:
    prefix = f"session-{uuid.uuid4().hex}"
    start = log.last_position()
    model: dict[str, list[str]] = {}
    order: list[str] = []
    for writes, durable in changes:
        after = {name: list(kept) for name, kept in model.items()}
        fits = True
        for name, added, expected in writes:
            kept = after.setdefault(name, [])
            fits = fits and expected in {None, len(kept)}
            kept.extend(added)
        made = [write(f"{prefix}-{name}", *added, expected=expected) for name, added, expected in writes]
        try:
            recorded = log.append(append(*made, durable=durable))
        except Conflict:
            assert not fits
            continue
        assert fits
        model = after
        order += [each for _, added, _ in writes for each in added]
        assert titles(recorded) == [each for _, added, _ in writes for each in added]
    assert titles(log.tail(start)) == order
    for name, kept in model.items():
        stored = log.read(f"{prefix}-{name}")
        assert titles(stored) == kept
        assert [each.version for each in stored] == list(range(1, len(kept) + 1))
        head = log.head(f"{prefix}-{name}")
        assert (head.version, head.hash) == (len(kept), stored[-1].hash) if head else kept == []
