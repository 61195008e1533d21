"""The newest names in a file of views as it stands, for who cannot wait until it is current."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from hermes_jobs.views.generations import Generations
from hermes_jobs.views.sqlite import connect
from hermes_jobs.views.store import SCHEMA

_QUERIES = {
    "turns": "SELECT turn, preview FROM turns WHERE turn >= ? AND turn < ? ORDER BY position DESC LIMIT ?",
    "sessions": "SELECT tip, coalesce(title, preview) FROM lineages WHERE tip >= ? AND tip < ?"
    " ORDER BY last_position DESC LIMIT ?",
    "schedules": "SELECT schedule, name FROM schedules WHERE NOT removed AND schedule >= ? AND schedule < ?"
    " ORDER BY position DESC LIMIT ?",
}
What = Literal["turns", "sessions", "schedules"]
PATIENCE = 0.1  # seconds to wait for a writer


def recent_names(folder: Path, what: What, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Ids that begin so, newest first, with text or title; none where they cannot be read at once."""
    file = Generations(folder).current()
    if file is None:
        return []
    try:
        connection = connect(file, seconds=PATIENCE)
        try:
            if connection.execute("PRAGMA user_version").fetchone() != (SCHEMA,):
                return []
            return connection.execute(_QUERIES[what], (prefix, prefix + "\U0010ffff", limit)).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return []
