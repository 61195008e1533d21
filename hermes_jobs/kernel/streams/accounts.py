"""Accounts: amounts of tokens and money, charges to an account, and its limit.

A leaf module: any package may import it. Budgets are decided with it; the log's table `budgets` stores it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import HermesJobsError

NANO = 1_000_000_000
"""Accounts count money in whole billionths of a dollar, so that sums are exact in any order."""


class Amount(msgspec.Struct, frozen=True):
    """Tokens, and billionths of a US dollar as far as prices are known."""

    tokens: int = 0
    nano_usd: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.nano_usd + other.nano_usd)

    def __neg__(self) -> Amount:
        return Amount(-self.tokens, -self.nano_usd)

    def __str__(self) -> str:
        return f"{self.tokens} tokens (${self.nano_usd / NANO:.9f})"


NOTHING = Amount()


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one account's sums."""

    account: str
    spent: Amount = NOTHING
    reserved: Amount = NOTHING

    def __add__(self, other: Charge) -> Charge:
        """Both changes of the same account."""
        return replace(self, spent=self.spent + other.spent, reserved=self.reserved + other.reserved)


def by_account(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """The changes of each account as one, in the order in which accounts first appear."""
    sums: dict[str, Charge] = {}
    for charge in charges:
        sums[charge.account] = sums.get(charge.account, Charge(account=charge.account)) + charge
    return tuple(sums.values())


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The most that may be spent and reserved on an account together; None for no limit.

    `setting` is the configuration key, `value` the limit as configured.
    """

    account: str
    setting: str
    value: float
    tokens: int | None = None
    nano_usd: int | None = None

    def allows(self, total: Amount) -> bool:
        """Whether `total` (spent and reserved) is within the limit."""
        return (self.tokens is None or total.tokens <= self.tokens) and (
            self.nano_usd is None or total.nano_usd <= self.nano_usd
        )


def usd_limits(*limits: tuple[str, str, float | None]) -> tuple[Limit, ...]:
    """Limits in US dollars, each given as account, setting and value; a value of None is no limit."""
    return tuple(
        Limit(account=account, setting=setting, value=value, nano_usd=round(value * NANO))
        for account, setting, value in limits
        if value is not None
    )


class OverBudget(HermesJobsError):
    """The append's charge exceeds the limit of an account on which `spent` and
    `reserved` are already recorded.
    """

    def __init__(self, limit: Limit, spent: Amount, reserved: Amount) -> None:
        super().__init__(f"the account {limit.account} has no room under {limit.setting}")
        self.limit = limit
        self.spent = spent
        self.reserved = reserved
