"""Keys of programs: what is stored of them, which are in force, and what their turns may spend."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import events as a
from hermes_jobs.features.api import keys
from hermes_jobs.features.reviews.begin_review import BeginReview
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.streams.budgets import Budgets, charges, limits_of
from hermes_jobs.kernel.streams.streams import fold, initial_state, withheld_of
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.settings import load
from hermes_jobs.system.ids import RandomIds


@pytest.fixture
def application(tmp_path):
    environ = {"HERMES_JOBS_HOME": str(tmp_path)}
    opened = Application(load(environ), environ)
    yield opened
    opened.close()


def test_a_key_is_recognised_until_it_is_revoked_and_only_its_hash_is_stored(application):
    text = keys.add(application, "phone", ("chat", "read"))
    found = keys.recognised(application, text)
    assert found is not None
    assert (found.key, found.scopes) == ("phone", ("chat", "read"))
    assert keys.recognised(application, text[:-1]) is None
    assert keys.recognised(application, found.digest) is None
    assert text[3:] not in "".join(str(each.event) for each in application.log.read(a.STREAM))

    keys.revoke(application, "phone")
    assert keys.recognised(application, text) is None
    assert keys.recognised(application, keys.add(application, "phone", ("chat",))) is not None


@pytest.mark.parametrize("name", ["", "Phone", "a b", "ä", "-", "a" * 41])
def test_a_name_that_does_not_fit_is_refused(application, name):
    with pytest.raises(Rejected, match="not a name for a key"):
        keys.add(application, name, ("chat",))


def test_a_budget_is_changed_and_taken_away(application):
    text = keys.add(application, "phone", ("chat",), 5.0)
    for budget in (20.0, 20.0, None):
        assert keys.change_budget(application, "phone", budget).budget_usd == budget
        found = keys.recognised(application, text)
        assert found is not None
        assert found.budget_usd == budget
    assert [type(each.event) for each in application.log.read(a.STREAM)] == [
        a.ApiKeyAdded,
        a.ApiKeyBudgetChanged,
        a.ApiKeyBudgetChanged,
    ]
    with pytest.raises(Rejected, match="no key"):
        keys.change_budget(application, "other", 1.0)


def test_imported_keys_are_taken_back():
    added = a.ApiKeyAdded(key="phone", digest="ab", scopes=("chat",), by="user", at=1.0)
    state = fold(initial_state(a.STREAM), [added])
    assert withheld_of(state, "import") == (a.ApiKeyRevoked(key="phone", by="import"),)


def test_calls_of_a_turn_are_charged_to_its_account_within_its_limit():
    reserved = Reservation(model="m", input_tokens=10, output_tokens=5, day="2026-11-29", cost_usd=0.25)
    submitted = e.TurnSubmitted(
        turn="t1", text="Hi", source="api:phone", session="s1", account="api-key-phone", account_usd=2.0
    )
    session = fold(initial_state("session-s1"), [submitted])
    assert isinstance(session, Session)
    turn = session.find("t1")
    assert turn is not None
    (limit,) = limits_of(Budgets(), session, turn, "2026-11-29")
    assert (limit.account, limit.value) == ("api-key-phone", 2.0)
    call = e.ModelCallStarted(turn="t1", step="t1-1", attempt=1, reserved=reserved)
    charged = {
        charge.account: charge.reserved.nano_usd for charge in charges(session, [call], lambda: "2026-11-29")
    }
    assert charged["api-key-phone"] == charged["turn-t1"] == 250_000_000


def test_a_review_is_charged_to_the_account_of_the_turn_that_made_it_due():
    """Given a conversation whose turn of a key makes a review due."""
    requested = e.ReviewRequested(
        review="v1", kind="memory", reason="10 turns", turn="t1", account="api-key-phone", account_usd=2.0
    )
    submitted = e.TurnSubmitted(turn="t1", text="Hi", source="api:phone", session="s1", opening=e.Opening())
    started = e.SessionStarted(
        session="s1", kind="conversation", source="api:phone", model="m", system_prompt="p"
    )
    session = fold(initial_state("session-s1"), [submitted, started, requested])
    assert isinstance(session, Session)
    begin = BeginReview(ids=RandomIds(), model=None, toolsets_on=lambda _: ("memory",), verify="off")
    step = Step(id="v1-begin", kind="review.memory", stream="session-s1")
    change = begin.run(session, step, CancelToken())
    written = [event for write in change(lambda _: session).writes for event in write.events]
    (turn,) = [event for event in written if isinstance(event, e.TurnSubmitted)]
    assert (turn.account, turn.account_usd) == ("api-key-phone", 2.0)
