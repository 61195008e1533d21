"""Charging accounts inside a write transaction: what is spent and reserved, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, select
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from hermes_jobs.domain.budgets import Amount, Charge, Limit
from hermes_jobs.domain.errors import OverBudget
from hermes_jobs.eventlog import schema as t
from hermes_jobs.eventlog.rows import AnyRow
from hermes_jobs.eventlog.statement import Statement, dialect_insert

ACCOUNT = select(t.budgets).where(t.budgets.c.account == bindparam("account"))

_SUMS = ("spent_tokens", "spent_nano_usd", "reserved_tokens", "reserved_nano_usd")
_WITHOUT_LIMIT = 2**62


def charge(connection: Connection, charges: Sequence[Charge], limits: Sequence[Limit]) -> None:
    """Change the accounts. Raises `OverBudget`; whoever began the transaction then takes it back."""
    limited = {limit.account for limit in limits}
    _add.run_each(connection, [_values(each) for each in charges if each.account not in limited])
    for each in charges:
        if each.account in limited:
            _charge_within(connection, each, [limit for limit in limits if limit.account == each.account])


def to_charge(account: str, row: AnyRow | None) -> Charge:
    """An account as it stands; one that was never charged is empty."""
    if row is None:
        return Charge(account=account)
    return Charge(
        account=account,
        spent=Amount(row.spent_tokens, row.spent_nano_usd),
        reserved=Amount(row.reserved_tokens, row.reserved_nano_usd),
    )


def _charge_within(connection: Connection, change: Charge, limits: Sequence[Limit]) -> None:
    values = {
        **_values(change),
        "most_tokens": _lowest(limit.tokens for limit in limits),
        "most_nano_usd": _lowest(limit.nano_usd for limit in limits),
    }
    # The condition is that of a row that exists: a first charge is tried against an empty account here.
    fits = _exceeded(limits, change.spent + change.reserved) is None
    if fits and _add_within.run(connection, values).rowcount == 1:
        return
    row = connection.execute(ACCOUNT, {"account": change.account}).first()
    stands = to_charge(change.account, row)
    total = stands.spent + stands.reserved + change.spent + change.reserved
    raise OverBudget(_exceeded(limits, total) or limits[0], stands.spent, stands.reserved)


def _exceeded(limits: Iterable[Limit], total: Amount) -> Limit | None:
    """The first limit that the total is beyond."""
    return next((limit for limit in limits if not limit.allows(total)), None)


def _lowest(limits: Iterable[int | None]) -> int:
    return min((limit for limit in limits if limit is not None), default=_WITHOUT_LIMIT)


def _values(change: Charge) -> dict[str, Any]:
    return {
        "account": change.account,
        "spent_tokens": change.spent.tokens,
        "spent_nano_usd": change.spent.nano_usd,
        "reserved_tokens": change.reserved.tokens,
        "reserved_nano_usd": change.reserved.nano_usd,
    }


def _upsert(dialect: Dialect, *, within: bool) -> ClauseElement:
    """Add to an account's sums, in a row of its own; `within` limits, else to no row."""
    account = t.budgets.c
    adding = dialect_insert(dialect)(t.budgets).values(
        {name: bindparam(name) for name in ("account", *_SUMS)}
    )
    new = adding.excluded

    def total(what: str) -> Any:
        spent, held = f"spent_{what}", f"reserved_{what}"
        return account[spent] + account[held] + new[spent] + new[held]

    room = and_(total("tokens") <= bindparam("most_tokens"), total("nano_usd") <= bindparam("most_nano_usd"))
    upsert: ClauseElement = adding.on_conflict_do_update(
        index_elements=["account"],
        set_={name: account[name] + new[name] for name in _SUMS},
        where=room if within else None,
    )
    return upsert


_add = Statement(lambda dialect: _upsert(dialect, within=False))
_add_within = Statement(lambda dialect: _upsert(dialect, within=True))
