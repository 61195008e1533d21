"""Pages read and searched."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__, tools="tools:web_tools", setup="setup:WebSearchSetup", checks="doctor:checks")
