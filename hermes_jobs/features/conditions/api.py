"""What other features and interfaces use of conditions."""

from __future__ import annotations

from hermes_jobs.features.conditions.changes import SeenStore
from hermes_jobs.features.conditions.command import ConditionCommand
from hermes_jobs.features.conditions.events import Checked, Condition, ConditionEnded
from hermes_jobs.features.conditions.rules import ConditionState, asked_for, stream_of

__all__ = [
    "Checked",
    "Condition",
    "ConditionCommand",
    "ConditionEnded",
    "ConditionState",
    "SeenStore",
    "asked_for",
    "stream_of",
]
