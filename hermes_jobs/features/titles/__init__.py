"""Titles of sessions: unique names, given by a person or a model."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__, model_steps="steps:handlers")
