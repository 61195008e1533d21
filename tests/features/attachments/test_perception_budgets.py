"""Budgets reserve what is spent on hearing and describing, before a model is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns import commands as c
from tests.features.attachments.test_perceptions import FILES, Household
from tests.home import PATIENCE
from tests.model_script import Action, Answer, Hold, Refuse, Seen
from tests.model_server import ModelServer
from tests.providers.person import Visit

PRICES = "models: {prices: {seer: {input: 10, output: 10}, whisper-9: {input: 10, output: 10}, blind: 0}}\n"


@pytest.fixture
def household(tmp_path: Path, model_server: ModelServer) -> Household:
    return Household(tmp_path, model_server, PRICES)


def limited(household: Household, usd: str) -> None:
    household.environ["HERMES_JOBS_BUDGETS__TURN_USD"] = usd


def accounts(visit: Visit, turn: str) -> tuple[float, float]:
    """What the turn has spent and reserved, in billionths of a dollar."""
    account = visit.application.log.account(f"turn:{turn}")
    return account.spent.nano_usd, account.reserved.nano_usd


def test_both_are_reserved_before_they_are_asked_and_booked_after(household: Household) -> None:
    limited(household, "1")
    with household.at_work() as visit:
        household.show(visit, "s1")
        (started,) = visit.events(e.PerceptionStarted)
        assert started.reserved is not None
        assert started.reserved.cost_usd is not None
        booked = sum(event.cost_usd or 0 for event in visit.events(e.ResponseBooked))
        assert 0 < booked <= started.reserved.cost_usd
        household.show(visit, "s2")  # both are known: nothing is asked, and nothing reserved
        assert len(visit.events(e.PerceptionStarted)) == 1
        assert visit.answers("s1") + visit.answers("s2") == ["Noted."] * 2
        assert verify(visit.application.log, visit.application.blobs).findings == ()  # type: ignore[arg-type]


def test_a_budget_that_is_too_small_fails_the_turn_before_anybody_is_asked(household: Household) -> None:
    limited(household, "0.001")
    with household.at_work() as visit:
        visit.send("Look.", "s1", attachments=visit.application.intake.attach(FILES))
        (failed,) = visit.events(e.TurnFailed)
    assert failed.kind == "budget"
    assert "budgets.turn_usd" in failed.hint
    assert household.asked() == (0, 0)


def test_a_postponed_turn_reserves_again_and_keeps_nothing(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_jobs.kernel.engine.handlers.prefetch.FIRST_PAUSE", 0.01)
    limited(household, "1")
    household.server.transcripts = [Refuse(status=503, message="Overloaded."), "Hello."]
    with household.at_work() as visit:
        household.show(visit, "s1")
        assert len(visit.events(e.TurnPostponed)) == 1
        assert len(visit.events(e.PerceptionStarted)) == 2
        assert verify(visit.application.log, visit.application.blobs).findings == ()  # type: ignore[arg-type]


def test_a_turn_that_is_cancelled_meanwhile_ends_and_keeps_nothing(household: Household) -> None:
    """Given a picture that is being described; when its turn is cancelled; then it ends, with the cost."""
    limited(household, "1")

    def slow(seen: Seen) -> Action:
        answer = Answer(text="A violet lighthouse.")
        return Hold(first="A", answer=answer) if seen.body["model"] == "seer" else Answer(text="Noted.")

    household.server.follow(slow)
    with household.at_work() as visit:
        turn = visit.submit("Look.", "s1", attachments=visit.application.intake.attach(FILES))

        def is_cancelled() -> bool:
            if household.asked()[0] and not visit.events(e.TurnCancelRequested):
                visit.worker.engine.execute("session-s1", c.CancelTurn(turn=turn, by="user"))
                household.server.release()
            return turn in visit.session("s1").ended

        assert visit.worker.work(is_cancelled, seconds=PATIENCE)
        visit.worker.drain()
        assert [type(each) for each in visit.events(e.TurnCancelled)] == [e.TurnCancelled]
        assert verify(visit.application.log, visit.application.blobs).findings == ()  # type: ignore[arg-type]
