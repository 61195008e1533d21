"""Budgets: spending limits of model calls, and the accounts that calls are charged to.

A call is charged to its turn, its session, its day, and the account that its turn was sent with, if any;
that of a child to the turns and sessions above it, too. Claiming a call reserves its estimated cost; its
outcome replaces the reservation by the billed amount; a call without an outcome is charged its reservation.
The rows of the log's table `budgets` are the sums of `charges` over all events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.paid import PaidFailure, PaidOutcome
from hermes_jobs.kernel.helper_calls import HelperState
from hermes_jobs.kernel.streams.accounts import NANO, NOTHING, Amount, Charge, Limit, by_account, usd_limits
from hermes_jobs.kernel.streams.decision import UniqueKey
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.figures import money

DAY, TURN = "day-", "turn-"
OWN_BUDGET = "the turn's own budget"
ACCOUNT_BUDGET = "the budget of the key"
WARNING_SHARE = 0.8
"""The share of a limit above which users are warned, once, that it is nearly used up."""
WARNING_SCOPE = "budget-warning"
"""Prefix of the unique keys of warnings: `ACCOUNT SETTING LIMIT`."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The configured limits; None for no limit."""

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
    """The limits that apply to the turn's next call; `turn` None: a call outside of any turn.

    A child has those of its root turn, and the own limits of the turns above it.
    """
    account = TURN + turn.id if turn else ""
    above = _payers(session, turn.id if turn else None)
    root, stream = (TURN + above[0].turn, above[0].stream) if above else (account, session.stream)
    limits = usd_limits(
        (root, "budgets.turn_usd", budgets.turn_usd if turn else None),
        (account, OWN_BUDGET, turn.budget_usd if turn else None),
        *((TURN + payer.turn, f"the budget of turn {payer.turn}", payer.budget_usd) for payer in above),
        (turn.account if turn else "", ACCOUNT_BUDGET, turn.account_usd if turn else None),
        (stream, "budgets.session_usd", budgets.session_usd),
        (DAY + day, "budgets.day_usd", budgets.day_usd),
    )
    tokens = budgets.turn_tokens if turn else None
    if tokens is None:
        return limits
    return (*limits, Limit(account=root, setting="budgets.turn_tokens", value=tokens, tokens=tokens))


def warnings(
    session: Session, turn: str, limits: Iterable[Limit], spent: Callable[[str], Amount]
) -> tuple[e.BudgetWarned, ...]:
    """The limits of which `WARNING_SHARE` or more is used; `spent` gives the amount spent on an account.

    Limits of a day are shown in conversations, not in runs of schedules. A review gives no warning, nor
    does a child: its root does.
    """
    if session.is_review or session.delegation_of(turn) is not None:
        return ()
    talks = session.started is None or session.started.kind == "conversation"
    events = []
    for limit in limits:
        charged = spent(limit.account)
        value = float(charged.tokens) if limit.tokens is not None else charged.nano_usd / NANO
        if value >= WARNING_SHARE * limit.value and (talks or not limit.account.startswith(DAY)):
            events.append(
                e.BudgetWarned(
                    turn=turn, account=limit.account, setting=limit.setting, limit=limit.value, spent=value
                )
            )
    return tuple(events)


def warning_key(warned: e.BudgetWarned) -> UniqueKey:
    """The unique key of the warning for that limit and account."""
    key = f"{warned.account} {warned.setting} {warned.limit:g}"
    return UniqueKey(scope=WARNING_SCOPE, key=key, digest=warned.turn)


def warning_sentence(warned: e.BudgetWarned) -> str:
    """The warning for users, without a full stop."""
    share = warned.spent / warned.limit if warned.limit else 1.0
    if warned.setting.endswith("_tokens"):
        figures = f"{warned.spent:,.0f} of {warned.limit:,.0f} tokens"
    else:
        figures = f"{money(warned.spent)} of {money(warned.limit)}"
    return f"{share:.0%} of {warned.setting} is used up ({figures})"


def reservation_for(session: Session, step: str) -> Reservation | None:
    """The reservation of the step; None where it is not a model call under way."""
    job, turn = session.compression, session.current
    if job is not None and job.step_id == step:
        return job.reserved
    if (helper := session.helper_call(step)) is not None:
        return helper.reserved
    if turn is None or step in {turn.step_id, turn.prefetch_id}:
        return turn.reserved if turn is not None else None
    call = turn.call(step) or turn.reference(step)
    return call.reserved if call is not None and call.running else None


GivenUp = TypeVar("GivenUp", bound=e.StepAbandoned | PaidFailure)


def charged(event: GivenUp, reservation: Reservation | None) -> GivenUp:
    """The event with its step's reservation as the estimated usage, since no usage will be reported."""
    if reservation is None:
        return event
    return replace(
        event,
        model=reservation.model,
        estimated=reservation.usage,
        estimated_cost_usd=reservation.cost_usd,
    )


def charges(session: Session, events: Iterable[e.Event], today: Callable[[], str]) -> tuple[Charge, ...]:
    """The account changes of those events; `session` is the state before them.

    `today()` is the day, YYYY-MM-DD, of calls without a reservation. Those are charged to no turn.
    """
    return by_account(charge for event in events for charge in _charges(session, event, today))


def _charges(session: Session, event: e.Event, today: Callable[[], str]) -> Iterator[Charge]:
    match event:
        case e.ModelCallStarted() | e.ReferenceStarted() | e.CompressionStarted() | e.ToolStarted():
            yield from _held(session, event.turn, event.reserved)
        case e.PerceptionStarted():
            yield from _held(session, event.turn, event.reserved)
        case e.HelperCallStarted() | e.HelperCallEnded() | e.HelperCallFailed():
            yield from charges_outside(session.stream, event, reservation_for(session, event.step), today)
        case e.ModelReplied() | e.ModelCallFailed() | e.ReferenceReplied() | e.ReferenceFailed():
            yield from _released(session, event.turn, event.step, billed(session, event))
        case e.ContextFlushed() | e.ContextCompressed() | e.CompressionFailed():
            yield from _released(session, event.turn, event.step, NOTHING)  # its responses are separate
        case e.ToolFinished() | e.ToolInterrupted():
            yield from _released(session, event.turn, event.call, NOTHING)  # as are those of a tool
        case e.ContextPrefetched() | e.TurnPostponed() | e.TurnFailed():
            yield from _perceived(session, event.turn)
        case e.StepAbandoned():
            spent = amount(event.estimated, event.estimated_cost_usd)
            yield from _released(session, event.turn, event.step, spent)
        case e.OutcomeDiscarded():
            released = -reserved(event.reserved) if event.reserved else NOTHING
            spent = amount(event.usage, event.cost_usd) + released
            day = event.reserved.day if event.reserved else today()
            yield from _on_all(session, event.turn, day, spent=spent)
        case e.ResponseBooked():
            yield from _on_all(session, event.turn, today(), spent=amount_of(event, None))
        case _:
            pass


def charges_outside(
    stream: str,
    event: e.Event,
    reservation: Reservation | None,
    today: Callable[[], str],
    days: Sequence[str] = (DAY,),
) -> Iterator[Charge]:
    """The account changes of an event of a helper call: of its stream, and of the day.

    `reservation` is that of the call before the event; `days` are the prefixes of the day's accounts.
    """
    if isinstance(event, e.HelperCallStarted):
        yield from _charges_of_start(stream, event, days)
    elif isinstance(event, PaidOutcome):
        day, held = (reservation.day, reserved(reservation)) if reservation else (today(), NOTHING)
        spent = amount_of(event, reservation)
        yield from on_day(stream, day, days, spent=spent, reserved_amount=-held)


def helper_charges(
    state: HelperState, events: Iterable[e.Event], today: Callable[[], str]
) -> tuple[Charge, ...]:
    """The account changes of those events of a stream outside of sessions. See `charges`."""

    def reserved_for(event: e.Event) -> Reservation | None:
        call = state.helper_call(event.step) if isinstance(event, PaidOutcome) else None
        return call.reserved if call is not None else None

    return by_account(
        charge
        for event in events
        for charge in charges_outside(state.stream, event, reserved_for(event), today)
    )


def _charges_of_start(stream: str, event: e.HelperCallStarted, days: Sequence[str]) -> Iterator[Charge]:
    """The reservation of a start; that of an earlier one without an outcome counts as spent."""
    if event.lost is not None:
        lost = reserved(event.lost)
        yield from on_day(stream, event.lost.day, days, spent=lost, reserved_amount=-lost)
    if event.reserved is not None:
        yield from on_day(stream, event.reserved.day, days, reserved_amount=reserved(event.reserved))


def on_day(
    stream: str,
    day: str,
    days: Sequence[str] = (DAY,),
    *,
    spent: Amount = NOTHING,
    reserved_amount: Amount = NOTHING,
) -> Iterator[Charge]:
    """A charge to a stream's own account, and to those of the day; `days` are their prefixes."""
    for account in (stream, *(prefix + day for prefix in days)):
        yield Charge(account=account, spent=spent, reserved=reserved_amount)


def billed(session: Session, outcome: PaidOutcome) -> Amount:
    """The amount of a call, reported or estimated. Where its price is unknown (another model has answered),
    the whole reserved cost counts as spent.
    """
    return amount_of(outcome, reservation_for(session, outcome.step))


def amount_of(outcome: PaidOutcome, reservation: Reservation | None) -> Amount:
    """The reported or estimated amount; the whole reserved cost if a price is unknown."""
    parts = ((outcome.usage, outcome.cost_usd), (outcome.estimated, outcome.estimated_cost_usd))
    reported = sum((amount(usage, cost) for usage, cost in parts), NOTHING)
    all_priced = all(cost is not None for usage, cost in parts if usage != NO_USAGE)
    if all_priced or reservation is None:
        return reported
    return replace(reported, nano_usd=reserved(reservation).nano_usd)


def _held(session: Session, turn: str | None, reservation: Reservation | None) -> Iterator[Charge]:
    """Reserve what a step needs that begins."""
    if reservation is not None:
        yield from _on_all(session, turn, reservation.day, reserved_amount=reserved(reservation))


def _perceived(session: Session, turn: str) -> Iterator[Charge]:
    """Release what a turn that had not begun has reserved; its responses are separate."""
    current = session.current
    if current is not None and current.id == turn and not current.started:
        yield from _released(session, turn, current.prefetch_id, NOTHING)


def _released(session: Session, turn: str | None, step: str, spent: Amount) -> Iterator[Charge]:
    """Release the step's reservation and record the amount spent."""
    reservation = reservation_for(session, step)
    if reservation is not None:
        released = -reserved(reservation)
        yield from _on_all(session, turn, reservation.day, spent=spent, reserved_amount=released)


def _on_all(
    session: Session,
    turn: str | None,
    day: str,
    *,
    spent: Amount = NOTHING,
    reserved_amount: Amount = NOTHING,
) -> Iterator[Charge]:
    above = _payers(session, turn)
    charged_turn = session.find(turn) if turn else None
    accounts = (
        *((charged_turn.account,) if charged_turn is not None and charged_turn.account else ()),
        *((TURN + turn,) if turn else ()),
        session.stream,
        *(account for payer in above for account in (TURN + payer.turn, payer.stream)),
        DAY + day,
    )
    for account in dict.fromkeys(accounts):
        yield Charge(account=account, spent=spent, reserved=reserved_amount)


def _payers(session: Session, turn: str | None) -> tuple[e.Payer, ...]:
    """The turns above that are charged, too, the root's first."""
    place = session.delegation_of(turn)
    return place.payers if place else ()
