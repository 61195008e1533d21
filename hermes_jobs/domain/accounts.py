"""Accounts: amounts of tokens and money, what an account is charged, and its limit.

A leaf: every floor may import it. Budgets are decided with it; the log keeps its table `budgets` with it.
"""

from __future__ import annotations

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
    """What an account changes by."""

    account: str
    spent: Amount = NOTHING
    reserved: Amount = NOTHING

    def __add__(self, other: Charge) -> Charge:
        """Both changes of the one account."""
        return replace(self, spent=self.spent + other.spent, reserved=self.reserved + other.reserved)


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What may be spent and reserved on an account together; None for any amount.

    `setting` is what people call it, and `value` the limit as they set it.
    """

    account: str
    setting: str
    value: float
    tokens: int | None = None
    nano_usd: int | None = None

    def allows(self, total: Amount) -> bool:
        """Whether that much may be spent and reserved."""
        return (self.tokens is None or total.tokens <= self.tokens) and (
            self.nano_usd is None or total.nano_usd <= self.nano_usd
        )


class OverBudget(HermesJobsError):
    """A charge of the append exceeds a limit on its account, of which this much is spent and reserved."""

    def __init__(self, limit: Limit, spent: Amount, reserved: Amount) -> None:
        super().__init__(f"the account {limit.account} has no room under {limit.setting}")
        self.limit = limit
        self.spent = spent
        self.reserved = reserved
