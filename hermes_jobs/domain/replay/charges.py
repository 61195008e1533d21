"""What the calls of a replay are charged to: its own account, and the day; never the replayed turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hermes_jobs.domain import events as e
from hermes_jobs.domain.accounts import NOTHING, Amount, Charge
from hermes_jobs.domain.budgets import DAY, amount, reserved
from hermes_jobs.domain.replay.replay import Outcome, Replay
from hermes_jobs.domain.usage import NO_USAGE, Reservation


def charges(replay: Replay, events: Iterable[e.Event], today: str) -> tuple[Charge, ...]:
    """The account changes of those events; `replay` is the state before them. See `budgets.charges`."""
    sums: dict[str, Charge] = {}
    for event in events:
        for charge in _charges(replay, event, today):
            sums[charge.account] = sums.get(charge.account, Charge(account=charge.account)) + charge
    return tuple(sums.values())


def _charges(replay: Replay, event: e.Event, today: str) -> Iterator[Charge]:
    match event:
        case e.ReplayCallStarted():
            if event.lost is not None:
                yield from _settled(replay, event.lost, reserved(event.lost))
            if event.reserved is not None:
                yield from _on_both(replay, event.reserved.day, held=reserved(event.reserved))
        case e.ReplayCallEnded() | e.ReplayCallFailed():
            call = replay.find(event.step)
            reservation = call.reserved if call is not None else None
            if reservation is None:
                yield from _on_both(replay, today, spent=_billed(event, None))
            else:
                yield from _settled(replay, reservation, _billed(event, reservation))
        case _:
            pass


def _billed(event: Outcome, reservation: Reservation | None) -> Amount:
    """What was reported or estimated; the whole reserved cost where a price is not known."""
    parts = ((event.usage, event.cost_usd), (event.estimated, event.estimated_cost_usd))
    known = sum((amount(usage, cost) for usage, cost in parts), NOTHING)
    is_known = all(cost is not None for usage, cost in parts if usage != NO_USAGE)
    if is_known or reservation is None:
        return known
    return replace(known, nano_usd=reserved(reservation).nano_usd)


def _settled(replay: Replay, reservation: Reservation, spent: Amount) -> Iterator[Charge]:
    yield from _on_both(replay, reservation.day, spent=spent, held=-reserved(reservation))


def _on_both(
    replay: Replay, day: str, *, spent: Amount = NOTHING, held: Amount = NOTHING
) -> Iterator[Charge]:
    for account in (replay.stream, DAY + day):
        yield Charge(account=account, spent=spent, reserved=held)
