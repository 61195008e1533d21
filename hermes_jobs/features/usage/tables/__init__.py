"""Its rows and the queries on them."""

from __future__ import annotations

from hermes_jobs.features.usage.tables.estimates import Estimates
from hermes_jobs.features.usage.tables.usage import Responses
from hermes_jobs.kernel.views.projection import Projection, ViewSources


def projections(_sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Responses(), Estimates())
