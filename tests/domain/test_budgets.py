"""What calls are charged: reserved when they begin, settled when they end, and nothing is lost in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.accounts import NOTHING, Amount, Charge
from hermes_jobs.kernel.streams.budgets import Budgets, amount, charges, limits_of
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import next_steps

TODAY = "2026-11-23"
ACCOUNTS = ("turn-t1", "session-s1", "day-2026-11-22")
PRICE = 0.001


class World:
    """A session with one turn, and the accounts as its facts have charged them."""

    def __init__(self) -> None:
        self.session = Session(stream="session-s1")
        self.accounts: dict[str, Charge] = {}
        self.facts: list[e.Event] = []
        self.do(c.SubmitTurn(e.TurnSubmitted(turn="t1", session="s1", text="hello", source="cli")))
        started = e.SessionStarted(
            session="s1", kind="conversation", source="cli", model="m", system_prompt="Help."
        )
        prefetched = e.ContextPrefetched(turn="t1", model="m", max_iterations=9)
        self.do(c.FinishPrefetch(step="t1-prefetch", prefetched=prefetched, started=started))

    def do(self, command: c.SessionCommand) -> None:
        self.happen(decide(command, self.session))

    def happen(self, facts: Iterable[e.SessionEvent]) -> None:
        facts = tuple(facts)
        for charge in charges(self.session, facts, lambda: TODAY):
            known = self.accounts.get(charge.account, Charge(account=charge.account))
            self.accounts[charge.account] = known + charge
        self.session = fold(self.session, facts)
        self.facts.extend(facts)

    @property
    def step(self) -> str:
        (step,) = next_steps(self.session)
        return step.id

    def begin(self, reserved: Reservation | None) -> None:
        self.do(c.BeginStep(step=self.step, reserved=reserved))

    def reply(self, usage: Usage, content: str = "done") -> None:
        replied = e.ModelReplied(
            turn="t1",
            step=self.step,
            content=content,
            model="m",
            finish_reason="stop",
            usage=usage,
            cost_usd=usage.total_tokens * PRICE,
        )
        self.do(c.FinishModelCall(step=self.step, outcome=replied))

    def fail(self, usage: Usage, estimated: Usage = NO_USAGE) -> None:
        failed = e.ModelCallFailed(
            turn="t1",
            step=self.step,
            attempt=1,
            kind="server",
            message="It broke.",
            retry_at=0.0,
            usage=usage,
            cost_usd=usage.total_tokens * PRICE,
            estimated=estimated,
            estimated_cost_usd=estimated.total_tokens * PRICE,
        )
        self.do(c.FinishModelCall(step=self.step, outcome=failed))

    def abandon(self) -> None:
        self.do(c.AbandonStep(step=self.step, worker="w1", reason="shutdown"))

    def account(self, name: str) -> tuple[Amount, Amount]:
        charge = self.accounts.get(name, Charge(account=name))
        return charge.spent, charge.reserved


def reservation(input_tokens: int = 100, output_tokens: int = 50) -> Reservation:
    return Reservation(
        model="m",
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        day="2026-11-22",
        cost_usd=(input_tokens + output_tokens) * PRICE,
    )


def priced(tokens: int) -> Amount:
    return amount(Usage(tokens), tokens * PRICE)


def test_a_call_that_begins_is_reserved_on_its_turn_its_session_and_its_day() -> None:
    world = World()
    world.begin(reservation())
    assert {name: world.account(name) for name in world.accounts} == dict.fromkeys(
        ACCOUNTS, (NOTHING, priced(150))
    )


def test_a_reply_settles_its_reservation_on_the_reserved_day() -> None:
    world = World()
    world.begin(reservation())
    world.reply(Usage(90, 10))
    assert {name: world.account(name) for name in world.accounts} == dict.fromkeys(
        ACCOUNTS, (priced(100), NOTHING)
    )


def test_a_call_without_a_reply_is_charged_its_reservation() -> None:
    world = World()
    world.begin(reservation())
    world.abandon()
    (abandoned,) = [fact for fact in world.facts if isinstance(fact, e.StepAbandoned)]
    assert (abandoned.model, abandoned.estimated) == ("m", Usage(100, 50))
    assert world.account("turn-t1") == (priced(150), NOTHING)


def test_a_late_reply_replaces_its_estimate() -> None:
    world = World()
    world.begin(reservation())
    world.abandon()
    late = e.OutcomeDiscarded(
        turn="t1",
        step="t1-1",
        worker="w1",
        kind="FinishModelCall",
        usage=Usage(80, 5),
        cost_usd=85 * PRICE,
        model="m",
        reserved=reservation(),
    )
    world.happen((late,))
    assert world.account("day-2026-11-22") == (priced(85), NOTHING)
    assert world.session.current is not None
    assert world.session.current.tally.estimated == NO_USAGE
    assert world.session.current.tally.usage == Usage(80, 5)


def test_reported_and_estimated_usage_of_a_failed_call_is_spent() -> None:
    world = World()
    world.begin(reservation())
    world.fail(Usage(20))
    world.begin(reservation())
    world.fail(NO_USAGE, estimated=Usage(100, 3))
    assert world.account("session-s1") == (priced(123), NOTHING)


def test_a_summary_without_a_reservation_counts_on_the_day_of_its_booking() -> None:
    world = World()
    booked = e.ResponseBooked(
        turn="t1", step="t1-1-0", purpose="session_search", model="m", usage=Usage(7), cost_usd=7 * PRICE
    )
    world.happen((booked,))
    assert world.account("turn-t1") == world.account(f"day-{TODAY}") == (priced(7), NOTHING)


def test_an_unknown_price_counts_tokens_and_no_money() -> None:
    assert amount(Usage(10), None) == Amount(tokens=10, nano_usd=0)


def test_a_reservation_is_spent_if_the_price_turns_out_unknown() -> None:
    world = World()
    world.begin(reservation())
    replied = e.ModelReplied(
        turn="t1",
        step="t1-1",
        content="done",
        model="another",
        finish_reason="stop",
        usage=Usage(90, 10),
        cost_usd=None,
    )
    world.do(c.FinishModelCall(step="t1-1", outcome=replied))
    assert world.account("turn-t1") == (Amount(100, priced(150).nano_usd), NOTHING)


def test_a_call_without_a_reservation_is_not_charged() -> None:
    world = World()
    world.begin(None)
    world.reply(Usage(90, 10))
    assert world.accounts == {}


tokens = st.integers(0, 10**6)
usages = st.builds(Usage, tokens, tokens)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("fail"), usages),
        st.tuples(st.just("unreported"), usages),
        st.tuples(st.just("abandon"), usages),
        st.tuples(st.just("empty"), usages),
    ),
    max_size=6,
)


def carried_out(world: World, done: Iterable[tuple[str, Usage]]) -> Iterator[tuple[Usage, Usage]]:
    """What was reported and what was estimated of each call."""
    for deed, usage in done:
        if world.session.current is None:
            return
        world.begin(reservation(usage.input_tokens, usage.output_tokens))
        if deed == "fail":
            world.fail(usage)
        elif deed == "unreported":
            world.fail(NO_USAGE, estimated=usage)
        elif deed == "abandon":
            world.abandon()
        else:
            world.reply(usage, content="")
        yield (usage, NO_USAGE) if deed in {"fail", "empty"} else (NO_USAGE, usage)


@given(deeds)
def test_nothing_stays_reserved_and_the_books_agree_with_the_accounts(
    done: list[tuple[str, Usage]],
) -> None:
    world = World()
    used = list(carried_out(world, done))
    if world.session.current is not None:
        world.begin(reservation())
        world.reply(Usage(1, 1))
        used.append((Usage(1, 1), NO_USAGE))
        world.do(c.FinishTurn(step="t1-record"))
    (recorded,) = [fact for fact in world.facts if isinstance(fact, e.UsageRecorded)]
    reported = sum((each for each, _ in used), NO_USAGE)
    estimated = sum((each for _, each in used), NO_USAGE)
    assert (recorded.input_tokens, recorded.output_tokens) == (reported.input_tokens, reported.output_tokens)
    assert recorded.estimated == estimated
    for name in ACCOUNTS:
        spent, reserved = world.account(name)
        assert spent.tokens == (reported + estimated).total_tokens
        assert reserved == NOTHING


def test_each_limit_that_is_set_holds_for_its_account() -> None:
    world = World()
    turn = world.session.current
    assert turn is not None
    assert limits_of(Budgets(), world.session, turn, TODAY) == ()
    budgets = Budgets(turn_usd=1, turn_tokens=10, session_usd=2, day_usd=0.5)
    limits = limits_of(budgets, world.session, turn, TODAY)
    assert [(limit.account, limit.setting, limit.tokens, limit.nano_usd) for limit in limits] == [
        ("turn-t1", "budgets.turn_usd", None, 10**9),
        ("session-s1", "budgets.session_usd", None, 2 * 10**9),
        ("day-2026-11-23", "budgets.day_usd", None, 5 * 10**8),
        ("turn-t1", "budgets.turn_tokens", 10, None),
    ]


def test_a_turn_may_have_its_own_budget_and_get_another_by_a_retry() -> None:
    session = Session(stream="session-s1")
    submit = e.TurnSubmitted(turn="t1", session="s1", text="hello", source="schedule:x", budget_usd=0.25)
    session = fold(session, decide(c.SubmitTurn(submit), session))
    assert session.current is not None
    (limit,) = limits_of(Budgets(), session, session.current, TODAY)
    assert (limit.setting, limit.value) == ("the turn's own budget", 0.25)
    end = c.FailTurn(step="t1-prefetch", kind="budget", message="It is used up.")
    session = fold(session, decide(end, session))
    session = fold(session, decide(c.ResumeTurn(e.TurnResumed(turn="t1")), session))
    assert session.current is not None
    assert session.current.budget_usd == 0.25
    session = fold(session, decide(c.FailTurn(step="t1-prefetch", kind="budget", message="Again."), session))
    session = fold(session, decide(c.ResumeTurn(e.TurnResumed(turn="t1", budget_usd=0.5)), session))
    assert session.current is not None
    assert session.current.budget_usd == 0.5
