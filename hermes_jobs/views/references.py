"""`last` and `last~N`: names for the newest of a list, and for the one that stands N before it."""

from __future__ import annotations

import re
from sqlite3 import Connection

from hermes_jobs.errors import Rejected
from hermes_jobs.text.plural import pluralize
from hermes_jobs.views.listed import LISTED_SESSIONS, LISTED_TURNS

LAST = "last"
_REFERENCE = re.compile(rf"{LAST}(?:~(\d{{1,9}})?)?")
LISTS = {
    "turn": f"SELECT turn, preview FROM turns WHERE {LISTED_TURNS} ORDER BY position DESC",
    "session": f"SELECT lineage, coalesce(title, preview) FROM lineages WHERE {LISTED_SESSIONS}"
    " ORDER BY last_position DESC",
    "review": "SELECT review, reason FROM reviews ORDER BY position DESC",
    "delivery": "SELECT delivery, text FROM deliveries ORDER BY position DESC",
    "schedule": "SELECT schedule, name FROM schedules WHERE NOT removed ORDER BY position DESC",
}
"""What each kind of name counts back in: ids with a text, newest first. Sessions are counted by their use."""
_OF_LINEAGE = "SELECT turn FROM turns WHERE lineage = ? ORDER BY position DESC"
_PLURALS = {"delivery": "deliveries"}


def steps_back(given: str) -> int | None:
    """How many before the newest: 0 for `last`, 1 for `last~` and `last~1`; None for any other name."""
    found = _REFERENCE.fullmatch(given)
    if found is None:
        return None
    return int(found[1]) if found[1] else int(given != LAST)


def find_reference(connection: Connection, what: str, given: str, *, within: str | None = None) -> str | None:
    """The id that `last` or `last~N` means in the list of that kind; None where the text is another name.

    `within`: the lineage whose turns are counted, all of them. Raises `Rejected`, kind `unknown_…`, where
    there are fewer.
    """
    back = steps_back(given)
    if back is None:
        return None
    query = LISTS[what] if within is None else _OF_LINEAGE
    values = () if within is None else (within,)
    row = connection.execute(f"{query} LIMIT 1 OFFSET ?", (*values, back)).fetchone()
    if row is not None:
        return str(row[0])
    (count,) = connection.execute(f"SELECT count(*) FROM ({query})", values).fetchone()
    if count:
        there = f"there {'is' if count == 1 else 'are'} {pluralize(count, what, _PLURALS.get(what, ''))}"
    else:
        there = f"there is no {what} yet"
    where = "" if within is None else " in this session"
    raise Rejected(
        f"{given!r} names nothing: {there}{where}.",
        kind=f"unknown_{what}",
        hint=f"`{LAST}` is the newest, `{LAST}~{count - 1}` the oldest." if count > 1 else "",
    )
