"""What other features and interfaces use of conditions."""

from __future__ import annotations

from hermes_jobs.features.conditions.changes import SeenStore
from hermes_jobs.features.conditions.command import ConditionCommand
from hermes_jobs.features.conditions.events import Checked, Condition, ConditionAsked, ConditionEnded
from hermes_jobs.features.conditions.rules import ConditionState, stream_of

__all__ = [
    "Checked",
    "Condition",
    "ConditionAsked",
    "ConditionCommand",
    "ConditionEnded",
    "ConditionState",
    "SeenStore",
    "stream_of",
]
