"""A title belongs to one lineage, whoever asks for it at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.titles.api import next_title, rename_session
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events import SessionTitled, TurnSubmitted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns import commands as c
from tests.engine.simulation import CountedIds, Gates, ShiftedClock, SimulatedToolbox, Wakes, simulated_engine


@pytest.fixture
def engine(log: EventLog) -> Engine:
    gates = Gates()
    clock = ShiftedClock(lambda: 1_000.0)
    engine = simulated_engine(log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), [])
    for number in range(8):
        engine.submit(TurnSubmitted(turn=f"t{number}", session=f"s{number}", text="one", source="cli"))
    return engine


def test_of_eight_sessions_that_want_the_same_title_at_once_one_gets_it(engine: Engine) -> None:
    def asked(number: int) -> str:
        try:
            return rename_session(
                engine, f"s{number}", "Trip to Rome" if number % 2 else "TRIP  TO ROME"
            ).stream
        except Rejected as refused:
            return refused.kind

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(asked, range(8)))
    assert answers[1:] == ["title_taken"] * 7
    titled = [recorded for recorded in engine.log.tail() if isinstance(recorded.event, SessionTitled)]
    assert len(titled) == 1


def test_a_title_that_was_given_up_stays_with_its_lineage(engine: Engine) -> None:
    rename_session(engine, "s1", "Rome")
    rename_session(engine, "s1", "Paris")
    with pytest.raises(Rejected, match="is, or was, the title of session s1"):
        rename_session(engine, "s2", "rome")
    assert rename_session(engine, "s1", "Rome").title == "Rome"


def test_the_title_that_a_session_has_is_no_event(engine: Engine) -> None:
    version = rename_session(engine, "s1", "Rome").version
    assert rename_session(engine, "s1", " Rome ").version == version


def test_the_numbers_of_a_title_belong_to_its_lineage(engine: Engine) -> None:
    rename_session(engine, "s1", "Daily log")
    with pytest.raises(Rejected, match="is kept for session s1"):
        rename_session(engine, "s2", "daily log #2")
    assert rename_session(engine, "s1", "Daily log #2").named == "Daily log"


def test_a_continuation_passes_over_a_number_that_another_lineage_is_called_by(engine: Engine) -> None:
    rename_session(engine, "s2", "Daily log #2")
    session = rename_session(engine, "s1", "Daily log")
    assert next_title(engine, session) == "Daily log #3"
    assert next_title(engine, rename_session(engine, "s2", "Issue #12")) == "Issue #12 #2"
    assert next_title(engine, engine.execute("session-s3", c.RenameSession(title="x" * 100))) == (
        f"{'x' * 94} #2"
    )
