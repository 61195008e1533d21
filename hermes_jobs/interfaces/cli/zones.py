"""The zone in which people write and read moments: `schedules.timezone`, else this machine's."""

from __future__ import annotations

from datetime import datetime, tzinfo

import click

from hermes_jobs.interfaces.cli.context import CliContext


def configured_zone() -> tzinfo | None:
    """The configured zone; null for this machine's."""
    click_context = click.get_current_context(silent=True)
    context = click_context.find_object(CliContext) if click_context else None
    return context.settings.zone if context else None


def to_local(moment: datetime) -> datetime:
    """The moment in that zone; one without a zone is taken to be of it."""
    zone = configured_zone()
    return moment.replace(tzinfo=zone) if zone and moment.tzinfo is None else moment.astimezone(zone)
