"""The list of features: a folder in `hermes_jobs.features` and its line here are all that says one exists."""

from __future__ import annotations

FEATURES: tuple[str, ...] = (
    "memory",
    "skills",
    "deliveries",
    "conditions",
    "telegram",
    "schedules",
    "triggers",
    "gateway",
    "mcp",
    "replay",
    "recall",
    "consolidation",
    "reviews",
    "compression",
    "delegation",
    "ensembles",
    "titles",
    "search",
    "usage",
    "forgetting",
    "snapshots",
    "web",
    "tracing",
    "questions",
    "attachments",
    "serve",
    "api",
    "acp",
)
