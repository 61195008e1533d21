"""Context engines: measure and compress the conversation that a model receives."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__, model_steps="steps:handlers", tools="tools:compression_tools")
