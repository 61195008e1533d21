"""Charging accounts inside a write transaction: amounts spent and reserved, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hermes_jobs.kernel.log import statements as sql
from hermes_jobs.kernel.log.codec import escaped
from hermes_jobs.kernel.log.database import Connection
from hermes_jobs.kernel.log.rows import AnyRow
from hermes_jobs.kernel.streams.accounts import Amount, Charge, Limit, OverBudget

ACCOUNTS_AT_ONCE = 100  # that one statement changes

_WITHOUT_LIMIT = 2**62


def charge(connection: Connection, charges: Sequence[Charge], limits: Sequence[Limit]) -> None:
    """Change the accounts. Raises `OverBudget`; the owner of the transaction then rolls it back."""
    limited = {limit.account for limit in limits}
    free: dict[str, Charge] = {}
    for part in charges:
        if part.account not in limited:
            free[part.account] = part + free[part.account] if part.account in free else part
        else:
            _charge_within(connection, part, [limit for limit in limits if limit.account == part.account])
    rows = [_values(charge) for charge in free.values()]
    for start in range(0, len(rows), ACCOUNTS_AT_ONCE):
        some = rows[start : start + ACCOUNTS_AT_ONCE]
        values = {f"{name}_{at}": value for at, row in enumerate(some) for name, value in row.items()}
        connection.execute(sql.add_to_accounts(len(some)), values)


def to_charge(account: str, row: AnyRow | None) -> Charge:
    """An account from the row of its sums; an account without charges is empty."""
    if row is None:
        return Charge(account=account)
    spent_tokens, spent_nano_usd, reserved_tokens, reserved_nano_usd = row
    return Charge(
        account=account,
        spent=Amount(spent_tokens, spent_nano_usd),
        reserved=Amount(reserved_tokens, reserved_nano_usd),
    )


def _charge_within(connection: Connection, change: Charge, limits: Sequence[Limit]) -> None:
    values = {
        **_values(change),
        "most_tokens": _lowest(limit.tokens for limit in limits),
        "most_nano_usd": _lowest(limit.nano_usd for limit in limits),
    }
    # The condition is that of a row that exists: a first charge is tried against an empty account here.
    fits = _exceeded(limits, change.spent + change.reserved) is None
    if fits and connection.execute(sql.ADD_WITHIN, values).rowcount == 1:
        return
    row = connection.execute(sql.SELECT_ACCOUNT, {"account": values["account"]}).fetchone()
    stands = to_charge(change.account, row)
    total = stands.spent + stands.reserved + change.spent + change.reserved
    raise OverBudget(_exceeded(limits, total) or limits[0], stands.spent, stands.reserved)


def _exceeded(limits: Iterable[Limit], total: Amount) -> Limit | None:
    """The first limit that the total exceeds."""
    return next((limit for limit in limits if not limit.allows(total)), None)


def _lowest(limits: Iterable[int | None]) -> int:
    return min((limit for limit in limits if limit is not None), default=_WITHOUT_LIMIT)


def _values(change: Charge) -> dict[str, Any]:
    return {
        "account": escaped(change.account),
        "spent_tokens": change.spent.tokens,
        "spent_nano_usd": change.spent.nano_usd,
        "reserved_tokens": change.reserved.tokens,
        "reserved_nano_usd": change.reserved.nano_usd,
    }
