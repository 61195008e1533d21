"""The newest names in a file of views, without catching up: for shell completion.

It may be a file of an older build, whose tables had these columns or give no names.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from hermes_jobs.kernel.views.generations import Generations
from hermes_jobs.kernel.views.id_lookup import LISTS
from hermes_jobs.kernel.views.sqlite import connect
from hermes_jobs.text.last_reference import LAST

_QUERIES = {
    "turns": "SELECT turn, preview FROM turns WHERE turn >= ? AND turn < ? ORDER BY position DESC LIMIT ?",
    "waiting": "SELECT turns.turn, calls.arguments FROM steps JOIN turns ON turns.turn = steps.turn"
    " JOIN calls ON calls.call = steps.step WHERE steps.outcome = 'waiting' AND turns.turn >= ?"
    " AND turns.turn < ? GROUP BY turns.turn ORDER BY turns.position DESC LIMIT ?",
    "sessions": "SELECT tip, coalesce(title, preview) FROM lineages WHERE tip >= ? AND tip < ?"
    " ORDER BY last_position DESC LIMIT ?",
    "schedules": "SELECT schedule, name FROM schedules WHERE NOT removed AND schedule >= ? AND schedule < ?"
    " ORDER BY position DESC LIMIT ?",
    "reviews": "SELECT review, coalesce(nullif(saved, ''), reason) FROM reviews WHERE review >= ?"
    " AND review < ? ORDER BY position DESC LIMIT ?",
    "deliveries": "SELECT delivery, text FROM deliveries WHERE delivery >= ? AND delivery < ?"
    " ORDER BY position DESC LIMIT ?",
    "labels": "SELECT value, count(*) || ' of the turns' FROM turns, json_each(turns.labels) WHERE value >= ?"
    " AND value < ? GROUP BY value ORDER BY max(position) DESC LIMIT ?",
    "rules": "SELECT cast(number AS TEXT), text FROM approval_rules WHERE cast(number AS TEXT) >= ?"
    " AND cast(number AS TEXT) < ? ORDER BY number DESC LIMIT ?",
}
_REFERRED = {
    "turns": "turn",
    "sessions": "session",
    "schedules": "schedule",
    "reviews": "review",
    "deliveries": "delivery",
}
REFERENCES = 5  # of `last`, `last~1` ... that are offered
What = Literal["turns", "waiting", "sessions", "schedules", "reviews", "deliveries", "rules", "labels"]
PATIENCE = 0.1  # seconds to wait for a writer


def recent_names(folder: Path, what: What, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Ids with that prefix, newest first, with text or title; none if they cannot be read at once. They are
    preceded by `last`, and by `last~1` and so on if the prefix begins it.
    """
    file = Generations(folder).current()
    if file is None:
        return []
    try:
        connection = connect(file, seconds=PATIENCE)
        try:
            values = (prefix, prefix + "\U0010ffff", limit)
            return [*_references(connection, what, prefix), *connection.execute(_QUERIES[what], values)]
        finally:
            connection.close()
    except sqlite3.Error:
        return []


def _references(connection: sqlite3.Connection, what: What, prefix: str) -> list[tuple[str, str]]:
    if what not in _REFERRED or not LAST.startswith(prefix[: len(LAST)]):
        return []
    most = REFERENCES if prefix else 1
    newest = connection.execute(f"{LISTS[_REFERRED[what]]} LIMIT {most}").fetchall()
    named = [(f"{LAST}~{back}" if back else LAST, text) for back, (_, text) in enumerate(newest)]
    return [name for name in named if name[0].startswith(prefix)]
