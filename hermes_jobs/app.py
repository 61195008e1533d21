"""The list of features: a folder in `hermes_jobs.features` and its line here are all that says one exists."""

from __future__ import annotations

FEATURES: tuple[str, ...] = ("deliveries", "questions", "telegram")
