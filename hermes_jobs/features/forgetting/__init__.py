"""Texts removed from the log and from the home's files."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    upkeep="upkeep:delete_unused",
    commands={"redact": Command("cli:redact", "Remove a text permanently, wherever it is stored.", "Data")},
)
