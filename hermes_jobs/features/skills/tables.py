"""The uses of each skill: reads and insertions by turns, and how those turns ended.

A read by a review is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sqlite3 import Connection
from typing import Final

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.projection import Projection, ViewSources
from hermes_jobs.system.struct_types import described

TOOL = "skill_view"


class SkillUse(msgspec.Struct, frozen=True, kw_only=True):
    """The turns that had a skill, by how they ended; `open`: those that have not."""

    uses: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    open: int = 0
    last_used_at: str | None = None


class _SkillArguments(msgspec.Struct, frozen=True):
    name: str


_arguments = msgspec.json.Decoder(described(_SkillArguments))


class SkillUses:
    """Table `skill_uses`: one row per call that read a skill, or per skill that a user put into a turn."""

    name: Final = "skill uses"
    tables: Final = """
        CREATE TABLE skill_uses (
            call TEXT PRIMARY KEY, turn TEXT NOT NULL, skill TEXT NOT NULL, at TEXT NOT NULL,
            read INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX skill_uses_by_skill ON skill_uses (skill);
    """

    event_types: Final = (e.TurnSubmitted, e.ToolStarted, e.ToolFinished)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.ToolStarted) and event.name == TOOL:
                _started(connection, event, recorded.recorded_at)
            elif isinstance(event, e.ToolFinished) and event.ok:
                connection.execute("UPDATE skill_uses SET read = 1 WHERE call = ?", (event.call,))
            elif isinstance(event, e.TurnSubmitted):
                for skill in event.skills:
                    row = (f"{event.turn}:{skill}", event.turn, skill, recorded.recorded_at)
                    connection.execute("INSERT OR REPLACE INTO skill_uses VALUES (?, ?, ?, ?, 1)", row)


def _started(connection: Connection, event: e.ToolStarted, at: str) -> None:
    try:
        skill = _arguments.decode(event.arguments).name.strip()
    except msgspec.MsgspecError:
        return
    connection.execute(
        "INSERT OR REPLACE INTO skill_uses VALUES (?, ?, ?, ?, 0)", (event.call, event.turn, skill, at)
    )


_USES = """
    SELECT skill, count(*), sum(status IN ('completed', 'merged')), sum(status = 'failed'),
        sum(status = 'cancelled'), sum(status IN ('queued', 'running', 'waiting')), max(at)
    FROM (
        SELECT skill, turns.turn, status, max(skill_uses.at) AS at FROM skill_uses JOIN turns USING (turn)
        JOIN lineages USING (lineage) WHERE read AND lineages.kind != 'review' GROUP BY skill, turns.turn
    ) GROUP BY skill
"""


def select_skill_uses(connection: Connection) -> Mapping[str, SkillUse]:
    """The use of each skill with a read, by its name."""
    return {
        skill: SkillUse(
            uses=uses, completed=completed, failed=failed, cancelled=cancelled, open=open_, last_used_at=at
        )
        for skill, uses, completed, failed, cancelled, open_, at in connection.execute(_USES)
    }


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (SkillUses(),)
