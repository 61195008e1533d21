"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.conditions import rules
from hermes_jobs.features.conditions.events import PREFIX
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (StreamKind(PREFIX, rules.ConditionState, rules.evolve, rules.next_steps, rest=rules.rest),)
