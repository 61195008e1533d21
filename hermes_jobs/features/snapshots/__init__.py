"""Snapshots of files: contents replaced by file tools, stored in the home so that they can be restored."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__)
