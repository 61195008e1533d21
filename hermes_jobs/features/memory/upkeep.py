"""Applies the safe proposals of the memory's curator, where `memory.curate` says so."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hermes_jobs.features.memory.rules.curation import Curate

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

logger = logging.getLogger(__name__)


def curate(application: Application) -> None:
    """Apply them, in one change. Raises `LogUnavailable`."""
    if application.settings.memory.curate != "apply":
        return
    version, proposals = application.memory_places.proposed()
    safe = [child for child in proposals if child.is_safe]
    if safe:
        change = Curate(safe, version, application.ids.name("c"), "curator")
        done = application.memory.change(change, "curator")
        logger.info("the curator made %s", done.answer)
