"""Sessions are folded from the log a part at a time, and from what is known of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_jobs.kernel.engine.repository import BATCH, StreamRepository
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from tests.views.histories import append, new_log, plain_history

STREAM = "session-aa"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlEventLog]:
    log = new_log(tmp_path_factory.mktemp("log"))
    append(log, plain_history(3 * BATCH // 4, "aa"))
    yield log
    log.close()


def folded(log: SqlEventLog, version: int | None = None) -> Session:
    facts = [recorded.event for recorded in log.read(STREAM, upto=version)]
    return fold(Session(stream=STREAM), facts)  # type: ignore[arg-type]


def test_a_long_session_equals_the_fold_of_its_facts(log: SqlEventLog) -> None:
    session = StreamRepository(log).load(STREAM)
    assert session.version > 2 * BATCH
    assert session == folded(log)


@pytest.mark.parametrize("version", [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 3])
@pytest.mark.parametrize("known", [0, BATCH, 2 * BATCH + 3])
def test_a_past_state_does_not_depend_on_the_cache(log: SqlEventLog, version: int, known: int) -> None:
    sessions = StreamRepository(log)
    if known:
        sessions.put(folded(log, known))
    assert sessions.load_at(STREAM, version) == folded(log, version)
    assert sessions.load(STREAM) == folded(log)
