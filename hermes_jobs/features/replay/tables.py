"""The findings of verifications about the results of reviews, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection, Row
from typing import Final

import msgspec

from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import PREFIX
from hermes_jobs.features.replay.rules.verification import UNDONE
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.kernel.views.rows import fetched, value_of


class VerificationView(msgspec.Struct, frozen=True, kw_only=True):
    """The finding of `at` (ISO 8601, UTC) about a result of `review`: see `Finding`. `keep`: True if a user
    keeps the result, False if they removed it, None while undecided."""

    experiment: str
    review: str
    kind: e.LearnedKind
    name: str
    standing: e.VerificationStatus
    why: str
    pairs: int
    better: int
    worse: int
    unknown: int
    tokens_with: float
    tokens_without: float
    at: str
    keep: bool | None

    @property
    def is_proposal(self) -> bool:
        """Whether the removal of the result is proposed and undecided."""
        return self.standing == "harmful" and self.keep is None

    @property
    def is_settled(self) -> bool:
        """Whether the result is no longer provisional."""
        return self.standing == "kept" or self.keep is not None


class Verifications:
    """Table `verifications`."""

    name: Final = "verifications"
    tables: Final = """
        CREATE TABLE verifications (
            review TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, experiment TEXT NOT NULL,
            standing TEXT NOT NULL, why TEXT NOT NULL, pairs INTEGER NOT NULL, better INTEGER NOT NULL,
            worse INTEGER NOT NULL, unknown INTEGER NOT NULL, tokens_with REAL NOT NULL,
            tokens_without REAL NOT NULL, at TEXT NOT NULL, keep INTEGER, position INTEGER NOT NULL,
            PRIMARY KEY (review, kind, name)
        ) WITHOUT ROWID;
        CREATE INDEX verifications_by_time ON verifications (at);
    """
    event_types: Final = (e.LearningVerified, e.LearningDecided)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.LearningVerified):
                rows = [_row(recorded, event.review, finding) for finding in event.findings]
                connection.executemany(_INSERT, rows)
            elif isinstance(event, e.LearningDecided):
                undecided = e.Finding(kind=event.kind, name=event.name, standing="open", why=UNDONE)
                connection.execute(f"{_INSERT_NEW}", _row(recorded, event.review, undecided))
                connection.execute(
                    "UPDATE verifications SET keep = ? WHERE review = ? AND kind = ? AND name = ?",
                    (event.keep, event.review, event.kind, event.name),
                )


_FINDING_FIELDS = (
    *("standing", "why", "pairs", "better", "worse", "unknown"),
    *("tokens_with", "tokens_without"),
)
_VALUES = f"""
    INTO verifications (review, kind, name, experiment, at, position, {", ".join(_FINDING_FIELDS)})
    VALUES ({", ".join("?" * (6 + len(_FINDING_FIELDS)))})
"""
_INSERT_NEW = f"INSERT OR IGNORE {_VALUES}"
_INSERT = f"""
    INSERT {_VALUES}
    ON CONFLICT (review, kind, name) DO UPDATE SET experiment = excluded.experiment, at = excluded.at,
        position = excluded.position, {", ".join(f"{name} = excluded.{name}" for name in _FINDING_FIELDS)}
"""


def _row(recorded: RecordedEvent, review: str, finding: e.Finding) -> tuple[object, ...]:
    own = (review, finding.kind, finding.name, recorded.stream.removeprefix(PREFIX))
    return (
        *own,
        recorded.recorded_at,
        recorded.position,
        *(getattr(finding, name) for name in _FINDING_FIELDS),
    )


def select_verifications(connection: Connection, review: str | None = None) -> tuple[VerificationView, ...]:
    """All findings, or those about the results of one review, in the order of time."""
    query = "SELECT * FROM verifications WHERE ?1 IS NULL OR review = ?1 ORDER BY position, kind, name"
    return tuple(_verification(row) for row in fetched(connection, query, (review,)))


def _verification(row: Row) -> VerificationView:
    keep = row["keep"]
    return value_of(VerificationView, row, keep=None if keep is None else bool(keep))


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Verifications(),)
