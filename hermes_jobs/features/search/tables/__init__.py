"""Its rows and the queries on them."""

from __future__ import annotations

from hermes_jobs.features.search.tables.search_index import SearchIndex
from hermes_jobs.kernel.views.projection import Projection, ViewSources


def projections(sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (SearchIndex(sources),)
