"""Its rows and the queries on them."""

from __future__ import annotations

from hermes_jobs.features.recall.tables.embeddings import Embeddings
from hermes_jobs.features.recall.tables.entities import Entities
from hermes_jobs.features.recall.tables.exchanges import Exchanges
from hermes_jobs.kernel.views.projection import Projection, ViewSources


def projections(sources: ViewSources) -> tuple[Projection, ...]:
    """Its projections."""
    return (Exchanges(), Entities(), Embeddings(sources.result))
