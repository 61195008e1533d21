"""Moments as users write them to a command (ISO 8601, or words such as `monday 9:00`) and as they read them:
in the zone `schedules.timezone`, else in this machine's.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.system.local_zone import local_zone_name
from hermes_jobs.text import figures
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from schedules.phrases import Moment


def read_moment(text: str, *, zone: ZoneInfo | None = None, ahead: bool = False) -> Moment:
    """The moment, read in the zone (None: the configured one, else this machine's).

    Raises `Rejected`, kind `usage`, with what would be understood.
    """
    from schedules.phrases import Refused, parse_moment

    chosen = zone or configured_zone()
    parsed = parse_moment(
        text, datetime.now(UTC), chosen if isinstance(chosen, ZoneInfo) else local_zone(), ahead=ahead
    )
    if isinstance(parsed, Refused):
        raise Rejected(parsed.reason, kind="usage", hint=parsed.proposal)
    return parsed


def log_moment(moment: datetime | None) -> str | None:
    """The moment as the log writes moments; None for None."""
    return None if moment is None else iso(moment.timestamp())


def local_zone() -> ZoneInfo:
    """This machine's zone; UTC where it has none."""
    return ZoneInfo(local_zone_name())


def configured_zone() -> tzinfo | None:
    """The configured zone; None for this machine's."""
    click_context = click.get_current_context(silent=True)
    context = click_context.find_object(CliContext) if click_context else None
    return context.settings.zone if context else None


def utc_today() -> date:
    """The day, as providers name it for the ends of models."""
    return datetime.now(UTC).date()


def to_local(moment: datetime) -> datetime:
    """The moment in that zone; one without a zone is taken to be of it."""
    zone = configured_zone()
    return moment.replace(tzinfo=zone) if zone and moment.tzinfo is None else moment.astimezone(zone)


def local_moment(moment: str | float | datetime) -> datetime:
    """A moment in that zone, given in ISO 8601, as seconds since the epoch, or as it is."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    elif not isinstance(moment, datetime):
        moment = datetime.fromtimestamp(moment, UTC)
    return to_local(moment)


def format_time(moment: str | float | datetime | None, *, seconds: bool = False) -> str:
    """A moment for users: `today 09:00`, `Mon 23 Nov 08:00`; with `seconds` `09:00:00`. Empty for None."""
    if moment is None:
        return ""
    return figures.moment(local_moment(moment), to_local(datetime.now(UTC)), seconds=seconds)


def format_day(moment: str | float | datetime) -> str:
    """The day of a moment for users: `today`, `Mon 23 Nov`."""
    return figures.day(local_moment(moment), to_local(datetime.now(UTC)))
