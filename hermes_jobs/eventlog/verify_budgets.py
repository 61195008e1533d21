"""Are the accounts what follows from the events? For `verify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hermes_jobs.domain.accounts import NOTHING, Amount, Charge
from hermes_jobs.domain.budgets import DAY, charges
from hermes_jobs.domain.events import Event
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.streams import StreamState

_UNKNOWN_DAY = "?"


class ExpectedBudgets:
    """Adds up what events charge. Which day a response counts for that nobody had set anything aside for
    depends on the zone of whoever wrote it, so that such a sum is only checked over all days."""

    def __init__(self) -> None:
        self._sums: dict[str, Charge] = {}

    def add(self, before: StreamState, event: Event) -> None:
        """One more event; `before` is its stream's state without it."""
        if isinstance(before, Session):
            for charge in charges(before, (event,), _UNKNOWN_DAY):
                self._sums[charge.account] = self._of(charge.account) + charge

    def contradictions(self, stored: Iterable[Charge]) -> Iterator[str]:
        """What is stored and does not follow, as sentences."""
        found = {each.account: each for each in stored}
        undated = self._sums.pop(DAY + _UNKNOWN_DAY, Charge(account=DAY + _UNKNOWN_DAY))
        for account in sorted(found.keys() | self._sums.keys()):
            stands, expected = found.get(account, Charge(account=account)), self._of(account)
            is_open = account.startswith(DAY) and undated.spent != NOTHING
            if stands.reserved != expected.reserved or (stands.spent != expected.spent and not is_open):
                yield f"The account {account} says {_describe(stands)}; the events say {_describe(expected)}."
        if undated.spent != NOTHING:
            total = _spent(found.values())
            expected_total = _spent(self._sums.values()) + undated.spent
            if total != expected_total:
                yield f"The days' accounts say {total} spent in all; the events say {expected_total}."

    def _of(self, account: str) -> Charge:
        return self._sums.get(account, Charge(account=account))


def _spent(accounts: Iterable[Charge]) -> Amount:
    return sum((each.spent for each in accounts if each.account.startswith(DAY)), NOTHING)


def _describe(charge: Charge) -> str:
    return f"{charge.spent} spent and {charge.reserved} reserved"
