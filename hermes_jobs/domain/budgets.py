"""Budgets: what model calls may cost, and the accounts that they are charged to.

A call is charged to its turn, its session and its day. Claiming it reserves what it may come to, its outcome
settles that to what was billed, and a call that nobody answers for is charged its reservation. The rows of
the log's table `budgets` are the sums of `charges` over all events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain.accounts import NANO, NOTHING, Amount, Charge, Limit
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.turn import Turn
from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage

DAY, TURN = "day-", "turn-"
OWN_BUDGET = "the turn's own budget"


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The limits as configured; None for none."""

    turn_usd: float | None = None
    turn_tokens: int | None = None
    session_usd: float | None = None
    day_usd: float | None = None


def amount(usage: Usage, cost_usd: float | None) -> Amount:
    """What a response comes to; an unknown price counts for nothing."""
    return Amount(usage.total_tokens, round((cost_usd or 0.0) * NANO))


def reserved(reservation: Reservation) -> Amount:
    """What a reservation holds."""
    return amount(reservation.usage, reservation.cost_usd)


def limits_of(budgets: Budgets, session: Session, turn: Turn | None, day: str) -> tuple[Limit, ...]:
    """The limits that the turn's next call is under; None: a call that no turn asked for."""
    account = TURN + turn.id if turn else ""
    money = (
        (account, "budgets.turn_usd", budgets.turn_usd if turn else None),
        (account, OWN_BUDGET, turn.budget_usd if turn else None),
        (session.stream, "budgets.session_usd", budgets.session_usd),
        (DAY + day, "budgets.day_usd", budgets.day_usd),
    )
    limits = [
        Limit(account=account, setting=setting, value=value, nano_usd=round(value * NANO))
        for account, setting, value in money
        if value is not None
    ]
    tokens = budgets.turn_tokens if turn else None
    if tokens is not None:
        limits.append(Limit(account=account, setting="budgets.turn_tokens", value=tokens, tokens=tokens))
    return tuple(limits)


def reservation_for(session: Session, step: str) -> Reservation | None:
    """What is set aside for the step, where it is a call under way."""
    job, turn = session.compression, session.current
    if job is not None and job.step_id == step:
        return job.reserved
    if turn is None or turn.step_id == step:
        return turn.reserved if turn is not None else None
    call = turn.call(step)
    return call.reserved if call is not None and call.running else None


def charged(abandoned: e.StepAbandoned, reservation: Reservation | None) -> e.StepAbandoned:
    """The event with what its step had set aside: nobody will say what it used."""
    if reservation is None:
        return abandoned
    return replace(
        abandoned,
        model=reservation.model,
        estimated=reservation.usage,
        estimated_cost_usd=reservation.cost_usd,
    )


def charges(session: Session, facts: Iterable[e.Event], today: str) -> tuple[Charge, ...]:
    """What those events mean for accounts; `session` is as it was before them.

    `today` is the day of what nobody had reserved. A call without a reservation is charged to nobody.
    """
    sums: dict[str, Charge] = {}
    for fact in facts:
        for charge in _charges(session, fact, today):
            sums[charge.account] = sums.get(charge.account, Charge(account=charge.account)) + charge
    return tuple(sums.values())


def _charges(session: Session, fact: e.Event, today: str) -> Iterator[Charge]:
    match fact:
        case e.ModelCallStarted() | e.CompressionStarted() | e.ToolStarted():
            if fact.reserved is not None:
                held = reserved(fact.reserved)
                yield from _on_all(session, fact.turn, fact.reserved.day, held=held)
        case e.ModelReplied() | e.ModelCallFailed():
            yield from _settled(session, fact.turn, fact.step, _billed(session, fact))
        case e.ContextFlushed() | e.ContextCompressed() | e.CompressionFailed():
            yield from _settled(session, fact.turn, fact.step, NOTHING)  # its responses are booked apart
        case e.ToolFinished() | e.ToolInterrupted():
            yield from _settled(session, fact.turn, fact.call, NOTHING)  # and so are those of a tool
        case e.StepAbandoned():
            spent = amount(fact.estimated, fact.estimated_cost_usd)
            yield from _settled(session, fact.turn, fact.step, spent)
        case e.OutcomeDiscarded():
            taken_back = -reserved(fact.reserved) if fact.reserved else NOTHING
            spent = amount(fact.usage, fact.cost_usd) + taken_back
            day = fact.reserved.day if fact.reserved else today
            yield from _on_all(session, fact.turn, day, spent=spent)
        case e.ResponseBooked():
            reported = amount(fact.usage, fact.cost_usd)
            spent = reported + amount(fact.estimated, fact.estimated_cost_usd)
            yield from _on_all(session, fact.turn, today, spent=spent)
        case _:
            pass


def _billed(session: Session, outcome: e.ModelReplied | e.ModelCallFailed) -> Amount:
    """What a call came to, reported or estimated. Where its price turns out to be unknown (another model has
    answered), all the money is spent that was set aside for it."""
    parts = ((outcome.usage, outcome.cost_usd), (outcome.estimated, outcome.estimated_cost_usd))
    billed = sum((amount(usage, cost) for usage, cost in parts), NOTHING)
    reservation = reservation_for(session, outcome.step)
    is_known = all(cost is not None for usage, cost in parts if usage != NO_USAGE)
    if is_known or reservation is None:
        return billed
    return replace(billed, nano_usd=reserved(reservation).nano_usd)


def _settled(session: Session, turn: str | None, step: str, spent: Amount) -> Iterator[Charge]:
    """What was set aside for the step is free again, and what it came to is spent."""
    reservation = reservation_for(session, step)
    if reservation is not None:
        held = -reserved(reservation)
        yield from _on_all(session, turn, reservation.day, spent=spent, held=held)


def _on_all(
    session: Session, turn: str | None, day: str, *, spent: Amount = NOTHING, held: Amount = NOTHING
) -> Iterator[Charge]:
    accounts = (*((TURN + turn,) if turn else ()), session.stream, DAY + day)
    for account in accounts:
        yield Charge(account=account, spent=spent, reserved=held)
