"""`kill -9` while a session gets its title: it gets one all the same, and nothing is done twice."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_session_gets_its_title_whatever_append_is_the_last_of_its_worker(
    home: Home, moment: Moment
) -> None:
    sends = Sends()
    application = Application(load(home.environ), home.environ)
    try:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            turn = submitted(application, at)
            code = sends.run(home.environ, home.work, [turn], at, moment, command=("turns", "follow"))
            finish(application)
        assert code == 0
        facts = facts_of(application.log)
        titled = [fact for fact in facts if isinstance(fact, e.SessionTitled)]
        assert len({fact.session for fact in titled}) == len(titled) == at
        assert any(isinstance(fact, e.HelperCallStarted) and fact.lost is not None for fact in facts)
        assert_all_is_done_once(application.log, [])
        assert_views_agree(application.log, home.path / "views")
    finally:
        application.close()


def submitted(application: Application, number: int) -> str:
    """A turn that wants a title for its session; its id."""
    turn = application.ids.name("t")
    command = e.TurnSubmitted(
        turn=turn,
        session=application.ids.name("s"),
        text=f"Text {number}",
        source="cli",
        opening=e.Opening(workdir="/"),
        wants_title=True,
    )
    application.engine().submit(command)
    return turn
