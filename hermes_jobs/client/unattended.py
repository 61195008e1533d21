"""What happened while nobody watched: scheduled runs, what waits for a person, unread answers."""

from __future__ import annotations

from sqlite3 import Connection

import msgspec

from hermes_jobs.features.deliveries.api import IN_THE_INBOX
from hermes_jobs.kernel.views.queries import ASKS


class Unattended(msgspec.Struct, frozen=True, kw_only=True):
    """`failed` are the schedules' names of failed runs, `waiting` the turns that wait for a person,
    sub-agents' by the turn at their root.

    `undelivered` answers went to the inbox instead of their target; `unread` are all that are unread, 0
    where none of them is new. `harmful` are the reviews whose results are proposed for removal.
    """

    runs: int
    failed: tuple[str, ...]
    missed: int
    waiting: tuple[str, ...]
    undelivered: int
    unread: int
    harmful: tuple[str, ...] = ()


def select_unattended(connection: Connection, since: str, open_lineage: str = "") -> Unattended:
    """What happened after that moment (ISO 8601, UTC). Turns of the conversation `open_lineage` that wait are
    left out: the user sees them there."""
    parameters = {"since": since, "open": open_lineage}

    def count(query: str) -> int:
        (number,) = connection.execute(query, parameters).fetchone()
        return int(number or 0)

    def names(query: str) -> tuple[str, ...]:
        return tuple(str(name) for (name,) in connection.execute(query, parameters))

    ended = "FROM runs LEFT JOIN schedules USING (schedule) WHERE ended_at > :since AND \"by\" = 'clock'"
    failed = f"{ended} AND outcome = 'failed' ORDER BY runs.position DESC"
    new = f"FROM deliveries WHERE {IN_THE_INBOX} AND changed_at > :since"
    unread = f"SELECT count(*) FROM deliveries WHERE {IN_THE_INBOX}"
    return Unattended(
        runs=count(f"SELECT count(*) {ended}"),
        failed=names(f"SELECT coalesce(name, schedule) {failed}"),
        missed=count("SELECT sum(count) FROM runs WHERE outcome = 'missed' AND at > :since"),
        waiting=names(
            "SELECT asking.root FROM"
            " (SELECT coalesce(c.root_turn, turns.turn) AS root, max(position) AS newest"
            " FROM turns LEFT JOIN children c ON c.turn = turns.turn"
            f" WHERE status = 'running' AND waits_until IS NULL AND {ASKS} AND seen_at > :since GROUP BY 1)"
            " AS asking LEFT JOIN turns ON turns.turn = asking.root WHERE lineage IS NOT :open"
            " ORDER BY newest DESC"
        ),
        undelivered=count(f"SELECT count(*) {new} AND status = 'failed'"),
        unread=count(unread) if count(f"SELECT count(*) {new}") else 0,
        harmful=names(
            "SELECT review FROM verifications WHERE standing = 'harmful' AND keep IS NULL AND at > :since"
            " ORDER BY position DESC, kind, name"
        ),
    )
