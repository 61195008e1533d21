"""`retention.days`: conversations that nobody uses are deleted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hermes_jobs.features.forgetting.cleanup import Cleanup
from hermes_jobs.features.forgetting.erase import Forgetter

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

logger = logging.getLogger(__name__)


def delete_unused(application: Application) -> None:
    """Delete the conversations that were not used for so many days, and what is left of them in the home."""
    days = application.settings.retention.days
    if days is not None and (count := Forgetter(application).apply_retention(days)):
        logger.info("deleted %d conversations that were not used for %d days", count, days)
        Cleanup(application).clean()
