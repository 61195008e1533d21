"""Moments as people write them to a command: ISO 8601, or words such as `yesterday` and `monday 9:00`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.zones import configured_zone

if TYPE_CHECKING:
    from schedules.phrases import Moment


def read_moment(text: str, *, zone: ZoneInfo | None = None, ahead: bool = False) -> Moment:
    """The moment, read in the zone (None: the configured one, else this machine's).

    Raises `Rejected`, kind `usage`, with what would be understood.
    """
    from schedules.phrases import Refused, parse_moment

    chosen = zone or configured_zone()
    found = parse_moment(
        text, datetime.now(UTC), chosen if isinstance(chosen, ZoneInfo) else local_zone(), ahead=ahead
    )
    if isinstance(found, Refused):
        raise Rejected(found.reason, kind="usage", hint=found.proposal)
    return found


def local_zone() -> ZoneInfo:
    """This machine's zone; UTC where it has none."""
    import warnings

    from tzlocal import get_localzone_name

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is not configured, or in two ways
        return ZoneInfo(get_localzone_name() or "UTC")
