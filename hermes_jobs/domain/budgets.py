"""Budgets: spending limits of model calls, and the accounts that calls are charged to.

A call is charged to its turn, its session and its day. Claiming a call reserves its estimated cost; its
outcome replaces the reservation by the billed amount; a call without an outcome is charged its reservation.
The rows of the log's table `budgets` are the sums of `charges` over all events.
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
    """The amount of one response; an unknown price counts as zero."""
    return Amount(usage.total_tokens, round((cost_usd or 0.0) * NANO))


def reserved(reservation: Reservation) -> Amount:
    """The amount of a reservation."""
    return amount(reservation.usage, reservation.cost_usd)


def limits_of(budgets: Budgets, session: Session, turn: Turn | None, day: str) -> tuple[Limit, ...]:
    """The limits that apply to the turn's next call; `turn` None: a call outside of any turn."""
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
    """The reservation of the step; None where it is no model call under way."""
    job, turn = session.compression, session.current
    if job is not None and job.step_id == step:
        return job.reserved
    if turn is None or turn.step_id == step:
        return turn.reserved if turn is not None else None
    call = turn.call(step)
    return call.reserved if call is not None and call.running else None


def charged(abandoned: e.StepAbandoned, reservation: Reservation | None) -> e.StepAbandoned:
    """The event with its step's reservation as the estimated usage: no outcome will report the real one."""
    if reservation is None:
        return abandoned
    return replace(
        abandoned,
        model=reservation.model,
        estimated=reservation.usage,
        estimated_cost_usd=reservation.cost_usd,
    )


def charges(session: Session, events: Iterable[e.Event], today: str) -> tuple[Charge, ...]:
    """The account changes of those events; `session` is the state before them.

    `today` (YYYY-MM-DD) is the day for calls without a reservation. Those are charged to no turn.
    """
    sums: dict[str, Charge] = {}
    for event in events:
        for charge in _charges(session, event, today):
            sums[charge.account] = sums.get(charge.account, Charge(account=charge.account)) + charge
    return tuple(sums.values())


def _charges(session: Session, event: e.Event, today: str) -> Iterator[Charge]:
    match event:
        case e.ModelCallStarted() | e.CompressionStarted() | e.ToolStarted():
            if event.reserved is not None:
                held = reserved(event.reserved)
                yield from _on_all(session, event.turn, event.reserved.day, held=held)
        case e.ModelReplied() | e.ModelCallFailed():
            yield from _settled(session, event.turn, event.step, _billed(session, event))
        case e.ContextFlushed() | e.ContextCompressed() | e.CompressionFailed():
            yield from _settled(session, event.turn, event.step, NOTHING)  # its responses are separate
        case e.ToolFinished() | e.ToolInterrupted():
            yield from _settled(session, event.turn, event.call, NOTHING)  # as are those of a tool
        case e.StepAbandoned():
            spent = amount(event.estimated, event.estimated_cost_usd)
            yield from _settled(session, event.turn, event.step, spent)
        case e.OutcomeDiscarded():
            taken_back = -reserved(event.reserved) if event.reserved else NOTHING
            spent = amount(event.usage, event.cost_usd) + taken_back
            day = event.reserved.day if event.reserved else today
            yield from _on_all(session, event.turn, day, spent=spent)
        case e.ResponseBooked():
            reported = amount(event.usage, event.cost_usd)
            spent = reported + amount(event.estimated, event.estimated_cost_usd)
            yield from _on_all(session, event.turn, today, spent=spent)
        case _:
            pass


def _billed(session: Session, outcome: e.ModelReplied | e.ModelCallFailed) -> Amount:
    """The amount of a call, reported or estimated. Where its price is unknown (another model has answered),
    the whole reserved cost counts as spent.
    """
    parts = ((outcome.usage, outcome.cost_usd), (outcome.estimated, outcome.estimated_cost_usd))
    billed = sum((amount(usage, cost) for usage, cost in parts), NOTHING)
    reservation = reservation_for(session, outcome.step)
    is_known = all(cost is not None for usage, cost in parts if usage != NO_USAGE)
    if is_known or reservation is None:
        return billed
    return replace(billed, nano_usd=reserved(reservation).nano_usd)


def _settled(session: Session, turn: str | None, step: str, spent: Amount) -> Iterator[Charge]:
    """Release the step's reservation and book what was spent."""
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
