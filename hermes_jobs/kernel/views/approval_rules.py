"""The approval rules, for the completion of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Final

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.approval_rules import pattern_text


class ApprovalRuleTexts:
    """Table `approval_rules`: one row a rule, with its text."""

    name: Final = "approval rules"
    tables: Final = "CREATE TABLE approval_rules (number INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    event_types: Final = (e.ApprovalRuleAdded, e.ApprovalRuleRemoved)

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        """Take a batch of events into the table."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, e.ApprovalRuleAdded):
                text = f"{event.ruling} {pattern_text(event.calls)}, {event.calls.folder or 'anywhere'}"
                connection.execute("INSERT INTO approval_rules VALUES (?, ?)", (event.number, text))
            elif isinstance(event, e.ApprovalRuleRemoved):
                connection.execute("DELETE FROM approval_rules WHERE number = ?", (event.number,))
