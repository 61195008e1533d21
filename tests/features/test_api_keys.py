"""Keys of programs: what is stored of them, which are in force, and what their turns may spend."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import events as a
from hermes_jobs.features.api import keys
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.budgets import Budgets, charges, limits_of
from hermes_jobs.kernel.streams.streams import fold, initial_state, withheld_of
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.settings import load


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
    charged = {charge.account: charge.reserved.nano_usd for charge in charges(session, [call], "2026-11-29")}
    assert charged["api-key-phone"] == charged["turn-t1"] == 250_000_000
