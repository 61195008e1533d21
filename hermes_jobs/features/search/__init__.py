"""Search in what was said."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__,
    tools="tools:search_tools",
    asking="tools:asking",
    tables="tables:projections",
    built="tables.search_index:in_one_piece",
)
