"""What a call is claimed under, and what becomes of it where an account has no room."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.budget_guard import (
    FLUSH_ANSWER,
    SHORTEST_ANSWER,
    SUMMARY_ANSWER,
    USUAL_ANSWER,
    BudgetGuard,
)
from hermes_jobs.kernel.engine.ports import ModelRequest, Pricing, SpendingApproval
from hermes_jobs.kernel.streams.accounts import NOTHING, Amount, OverBudget
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.streams.budgets import reserved as held
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.compression import Compression
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import StepKind
from hermes_jobs.kernel.turns.turn import Turn
from tests.engine.simulation import ShiftedClock

INPUT, OUTPUT = 2e-6, 8e-6  # US dollars a token
NOON = 1_795_348_800.0  # 2026-11-22, 12:00 UTC


class Prices:
    """Each token at its price; none for the model `unpriced`."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return None if model == "unpriced" else usage.input_tokens * INPUT + usage.output_tokens * OUTPUT


TURN = Turn(id="t1", texts=("hi",), source="cli", if_busy="queue", attended=True, model=None, toolsets=None)
SESSION = Session(stream="session-s1", current=TURN)


def budget_guard(
    budgets: Budgets,
    *,
    model: str = "m",
    max_tokens: int | None = None,
    input_tokens: int = 1000,
    summariser: Callable[[], tuple[str, Pricing]] | None = None,
) -> BudgetGuard:
    request = ModelRequest(model=model, system_prompt="", messages=(), max_tokens=max_tokens)
    return BudgetGuard(
        request=lambda session, turn: request,
        estimate=lambda request: input_tokens,
        pricing=Prices(),
        budgets=budgets,
        clock=ShiftedClock(lambda: NOON),
        summariser=summariser,
    )


def terms_of(asked: BudgetGuard, session: Session = SESSION) -> SpendingApproval:
    terms = asked.approve(session, "turn.call_model")
    assert terms is not None
    return terms


def refused(terms: SpendingApproval, *, spent: Amount = NOTHING, reserved: Amount = NOTHING) -> OverBudget:
    """What the log says where the first of the limits is in the way."""
    return OverBudget(terms.limits[0], spent, reserved)


def test_without_limits_the_usual_answer_is_counted_on_and_none_is_asked_for() -> None:
    terms = terms_of(budget_guard(Budgets()))
    reservation = terms.reservation
    assert terms.limits == ()
    assert (reservation.input_tokens, reservation.output_tokens) == (1000, USUAL_ANSWER)
    assert (reservation.max_tokens, reservation.day) == (None, "2026-11-22")
    assert reservation.cost_usd == pytest.approx(1000 * INPUT + USUAL_ANSWER * OUTPUT)


def test_under_a_limit_the_answer_is_asked_for_no_longer_than_it_is_paid_for() -> None:
    reservation = terms_of(budget_guard(Budgets(turn_tokens=10**6))).reservation
    assert reservation.max_tokens == reservation.output_tokens == USUAL_ANSWER
    reservation = terms_of(budget_guard(Budgets(day_usd=1), max_tokens=300)).reservation
    assert reservation.max_tokens == reservation.output_tokens == 300


def test_reservations_of_others_are_waited_for() -> None:
    asked = budget_guard(Budgets(day_usd=0.07))
    terms = terms_of(asked)
    assert asked.reduce(terms, refused(terms, reserved=held(terms.reservation))) is None


def test_spent_money_limits_the_length_of_the_answer() -> None:
    asked = budget_guard(Budgets(turn_tokens=5000))
    terms = terms_of(asked)
    smaller = asked.reduce(terms, refused(terms, spent=Amount(3000)))
    assert smaller is not None
    assert smaller.reservation.max_tokens == smaller.reservation.output_tokens == 1000


def test_where_not_even_a_short_answer_is_paid_for_the_budget_is_used_up() -> None:
    asked = budget_guard(Budgets(turn_tokens=5000))
    terms = terms_of(asked)
    with pytest.raises(Rejected) as exhausted:
        asked.reduce(terms, refused(terms, spent=Amount(3900)))
    assert exhausted.value.kind == "budget"
    assert "budgets.turn_tokens allows 5,000 tokens; 3,900 spent so far" in exhausted.value.message
    assert "at least 1,256" in exhausted.value.message
    assert "turns continue" in exhausted.value.hint


def test_the_budget_of_a_turn_can_be_raised_by_a_retry() -> None:
    asked = budget_guard(Budgets())
    terms = terms_of(asked, replace(SESSION, current=replace(TURN, budget_usd=0.0)))
    with pytest.raises(Rejected, match="the turn's own budget") as exhausted:
        asked.reduce(terms, refused(terms))
    assert "--budget" in exhausted.value.hint


def test_money_alone_cannot_hold_a_model_whose_price_is_not_known() -> None:
    with pytest.raises(Rejected, match=r"price of 'unpriced' is not known.*budgets.day_usd") as unpriced:
        terms_of(budget_guard(Budgets(day_usd=1), model="unpriced"))
    assert unpriced.value.kind == "budget"
    assert "budgets.turn_tokens" in unpriced.value.hint


def test_a_limit_in_tokens_beside_it_holds_such_a_model() -> None:
    terms = terms_of(budget_guard(Budgets(day_usd=1, turn_tokens=9000), model="unpriced"))
    assert terms.reservation.cost_usd is None
    assert held(terms.reservation) == Amount(1000 + USUAL_ANSWER)


@given(
    limit=st.floats(0.0, 0.2),
    spent=st.integers(0, 2 * 10**8),
    sent=st.integers(1, 20_000),
    longest=st.none() | st.integers(1, 50_000),
)
def test_requests_for_less_end_with_one_that_fits(
    limit: float, spent: int, sent: int, longest: int | None
) -> None:
    asked = budget_guard(Budgets(day_usd=limit), max_tokens=longest, input_tokens=sent)
    terms = terms_of(asked)
    wanted = terms.reservation.output_tokens
    bound = terms.limits[0]
    for _ in range(10):
        if bound.allows(Amount(0, spent) + held(terms.reservation)):
            assert terms.reservation.output_tokens >= min(SHORTEST_ANSWER, wanted)
            return
        try:
            smaller = asked.reduce(terms, OverBudget(bound, Amount(0, spent), Amount()))
        except Rejected:
            least = sent * INPUT + min(SHORTEST_ANSWER, wanted) * OUTPUT
            assert limit - spent / 1e9 < least + 2 * OUTPUT
            return
        assert smaller is not None
        assert smaller.reservation.output_tokens < terms.reservation.output_tokens
        terms = smaller
    pytest.fail("it continues and on")


def history() -> Session:
    """A session whose history is to be compressed."""
    job = Compression(
        owner="t1", number=1, turn="t1", reason="threshold", tokens=0, window=0, focus="", phase="compress"
    )
    return replace(SESSION, compression=job)


def test_a_compression_reserves_by_the_price_of_its_model() -> None:
    asked = budget_guard(Budgets(day_usd=1), summariser=lambda: ("cheap", Prices()))
    terms = asked.approve(history(), "compression.compress")
    assert terms is not None
    assert (terms.reservation.model, terms.reservation.output_tokens) == ("cheap", SUMMARY_ANSWER)
    assert [limit.setting for limit in terms.limits] == ["budgets.day_usd"]
    flush = asked.approve(replace(history(), model="m"), "compression.flush")
    assert flush is not None
    assert (flush.reservation.model, flush.reservation.output_tokens) == ("m", FLUSH_ANSWER)


def test_a_summary_is_not_made_shorter_to_fit_a_budget() -> None:
    asked = budget_guard(Budgets(turn_tokens=SUMMARY_ANSWER), summariser=lambda: ("cheap", Prices()))
    terms = asked.approve(history(), "compression.compress")
    assert terms is not None
    with pytest.raises(Rejected, match=r"budgets\.turn_tokens"):
        asked.reduce(terms, refused(terms))


@pytest.mark.parametrize("act", ["turn.prefetch", "turn.run_tool", "turn.record_usage", None])
def test_steps_without_a_model_reserve_nothing(act: StepKind | None) -> None:
    assert budget_guard(Budgets(day_usd=1)).approve(SESSION, act) is None
