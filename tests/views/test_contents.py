"""Views of another build are rebuilt: its tables have another hash, or `CONTENTS` was raised.

`tests/golden/views.json` holds the schema and the rows, as a digest for each table, that this build makes of
a home's log. After a change of a projection: python -m tests.views.test_contents
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.views.store import CONTENTS, schema_of
from hermes_jobs.settings import load
from tests.e2e.test_old_homes import ARCHIVE
from tests.processes import ROOT
from tests.views.test_rows_follow_the_log import rows_of

GOLDEN = ROOT / "tests" / "golden" / "views.json"


class Tables:
    """A projection without rows."""

    name = "tables"
    event_types = ()

    def __init__(self, tables: str) -> None:
        self.tables = tables

    def apply(self, *_batch: object) -> None:
        """Nothing."""


def made(folder: Path) -> dict[str, Any]:
    """What this build makes of the log of the old home."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    environ = {"HERMES_JOBS_HOME": str(folder / "home")}
    with closing(Application(load(environ), environ)) as application:
        application.views.rebuild()
        views = application.settings.paths.views
    with closing(sqlite3.connect(views / (views / "current").read_text().strip())) as file:
        (schema,) = file.execute("PRAGMA user_version").fetchone()
    rows = rows_of(views)
    digests = {name: hashlib.sha256(repr(rows[name]).encode()).hexdigest()[:16] for name in sorted(rows)}
    return {"contents": CONTENTS, "schema": schema, "rows": digests}


def test_other_rows_of_the_same_events_have_another_schema(tmp_path: Path) -> None:
    golden, now = json.loads(GOLDEN.read_text()), made(tmp_path)
    changed = sorted(name for name in now["rows"] if now["rows"][name] != golden["rows"].get(name))
    if now["schema"] == golden["schema"]:
        assert changed == [], "raise CONTENTS in views/store.py: files of earlier builds have other rows"
    assert now == golden, f"after the change of {changed}: python -m tests.views.test_contents"


def test_the_schema_follows_from_the_tables() -> None:
    one, other = Tables("CREATE TABLE a (b TEXT);"), Tables("CREATE TABLE a (b TEXT, c TEXT);")
    assert schema_of([one]) == schema_of([one])
    assert len({schema_of([]), schema_of([one]), schema_of([other]), schema_of([one, other])}) == 4
    assert 0 < schema_of([one]) < 2**31


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        GOLDEN.write_text(json.dumps(made(Path(place)), indent=1) + "\n")
