"""Several models asked for one answer, and a colleague consulted."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__)
