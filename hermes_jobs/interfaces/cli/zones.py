"""The zone in which people write and read moments: `schedules.timezone`, else this machine's."""

from __future__ import annotations

from datetime import datetime, tzinfo

import click

from hermes_jobs.interfaces.cli.context import Invocation


def zone_here() -> tzinfo | None:
    """The configured zone; null for this machine's."""
    context = click.get_current_context(silent=True)
    invocation = context.find_object(Invocation) if context else None
    return invocation.settings.zone if invocation else None


def local(moment: datetime) -> datetime:
    """The moment in that zone; one without a zone is taken to be of it."""
    zone = zone_here()
    return moment.replace(tzinfo=zone) if zone and moment.tzinfo is None else moment.astimezone(zone)
