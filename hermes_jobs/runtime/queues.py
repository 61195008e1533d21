"""The Celery queue of each task."""

from __future__ import annotations

from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND

QUEUES = dict[str, str](QUEUES_BY_KIND.items()) | {"recovery.sweep": "recovery"}
"""The queue of each task, by the kind of its step; `sweep` belongs to no step."""
ALL_QUEUES = tuple(dict.fromkeys(QUEUES.values()))
