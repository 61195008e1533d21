"""What every event log keeps to where accounts are charged: limits hold, also for many at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hermes_jobs.errors import Conflict, StepLost
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams.accounts import Amount, Charge, Limit, OverBudget
from tests.eventlog.changes import append, claim, due, held, step, write

ACCOUNT = "day-2026-11-22"


def spend(tokens: int = 0, nano_usd: int = 0, account: str = ACCOUNT) -> Charge:
    return Charge(account=account, spent=Amount(tokens, nano_usd))


def reserve(tokens: int = 0, nano_usd: int = 0, account: str = ACCOUNT) -> Charge:
    return Charge(account=account, reserved=Amount(tokens, nano_usd))


def limit(tokens: int | None = None, nano_usd: int | None = None, account: str = ACCOUNT) -> Limit:
    return Limit(account=account, setting="budgets.x", value=0.0, tokens=tokens, nano_usd=nano_usd)


def test_an_account_that_was_never_charged_is_empty(log: SqlEventLog) -> None:
    assert log.account(ACCOUNT) == Charge(account=ACCOUNT)


def test_charges_add_up_and_may_take_back(log: SqlEventLog) -> None:
    log.append(append(charges=(reserve(100, 7),)))
    log.append(append(charges=(reserve(-100, -7), spend(30, 2), spend(5, account="turn-t1"))))
    assert log.account(ACCOUNT) == spend(30, 2)
    assert log.account("turn-t1") == spend(5, account="turn-t1")


@pytest.mark.parametrize(
    ("before", "asked", "bound", "fits"),
    [
        ((), reserve(100), limit(tokens=100), True),
        ((), reserve(101), limit(tokens=100), False),
        ((spend(40), reserve(40)), reserve(20), limit(tokens=100), True),
        ((spend(40), reserve(40)), reserve(21), limit(tokens=100), False),
        ((spend(0, 5),), reserve(0, 5), limit(nano_usd=10), True),
        ((spend(0, 5),), reserve(0, 6), limit(nano_usd=10), False),
        ((spend(10**15),), reserve(1, 1), limit(nano_usd=10), True),
        ((spend(200),), reserve(1), limit(tokens=100), False),
        ((), reserve(0), limit(tokens=0), True),
    ],
)
def test_a_charge_fits_while_spent_and_reserved_stay_within_the_limit(
    log: SqlEventLog, before: tuple[Charge, ...], asked: Charge, bound: Limit, fits: bool
) -> None:
    log.append(append(charges=before))
    stood = log.account(ACCOUNT)
    if fits:
        log.append(append(charges=(asked,), limits=(bound,)))
        assert log.account(ACCOUNT).reserved == stood.reserved + asked.reserved
    else:
        with pytest.raises(OverBudget) as over:
            log.append(append(charges=(asked,), limits=(bound,)))
        assert (over.value.limit, over.value.spent, over.value.reserved) == (
            bound,
            stood.spent,
            stood.reserved,
        )
        assert log.account(ACCOUNT) == stood


def test_the_limit_that_is_exceeded_is_the_one_that_is_named(log: SqlEventLog) -> None:
    wide, narrow = limit(tokens=1000), limit(nano_usd=5)
    with pytest.raises(OverBudget) as over:
        log.append(append(charges=(reserve(10, 6),), limits=(wide, narrow)))
    assert over.value.limit == narrow


def test_a_refused_charge_leaves_the_log_as_it_was(log: SqlEventLog) -> None:
    log.append(due(step("t1-1")))
    refused = claim(
        "t1-1",
        "w-1",
        7,
        write("session-a", "begun"),
        charges=(reserve(1, account="turn-t1"), reserve(101)),
        limits=(limit(tokens=100),),
    )
    with pytest.raises(OverBudget):
        log.append(refused)
    assert log.read("session-a") == ()
    assert held(log.step("t1-1")) == (None, 0)
    assert log.account("turn-t1") == Charge(account="turn-t1")


def test_an_append_that_is_refused_for_another_reason_charges_nothing(log: SqlEventLog) -> None:
    log.append(append(write("session-a", "one")))
    with pytest.raises(Conflict):
        log.append(append(write("session-a", "two", expected=0), charges=(reserve(5),)))
    with pytest.raises(StepLost):
        log.append(claim("t1-1", charges=(reserve(5),)))
    assert log.account(ACCOUNT) == Charge(account=ACCOUNT)


def test_a_limit_of_an_account_that_is_not_charged_does_not_matter(log: SqlEventLog) -> None:
    log.append(append(charges=(spend(200),)))
    log.append(append(charges=(reserve(1, account="turn-t1"),), limits=(limit(tokens=100),)))
    assert log.account("turn-t1").reserved == Amount(1)


def test_threads_of_two_processes_never_reserve_more_than_there_is(log: SqlEventLog, log_url: str) -> None:
    """Two logs over one database stand for two processes; each thread asks until it is refused."""
    other = open_log(log_url)
    together = threading.Barrier(8)

    def take(number: int) -> int:
        together.wait()
        taken = 0
        mine = log if number % 2 else other
        while True:
            try:
                mine.append(append(charges=(reserve(7, 3),), limits=(limit(tokens=1000),)))
            except OverBudget:
                return taken
            taken += 1

    try:
        with ThreadPoolExecutor(8) as pool:
            taken = sum(pool.map(take, range(8)))
    finally:
        other.close()
    assert taken == 1000 // 7
    assert log.account(ACCOUNT) == reserve(7 * taken, 3 * taken)
