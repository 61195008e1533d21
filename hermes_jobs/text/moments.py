"""Moments as text: ISO 8601, and days of a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def day_end(seconds: float, zone: tzinfo | None = None) -> float:
    """When the day of a moment ends, both in seconds since the epoch; `zone` as of `day_of`."""
    day = datetime.fromtimestamp(seconds, UTC).astimezone(zone).date()
    return datetime.combine(day + timedelta(days=1), datetime.min.time(), zone).timestamp()


def day_of(seconds: float, zone: tzinfo | None = None) -> str:
    """The day of a moment (seconds since the epoch), as YYYY-MM-DD; `zone` None for the machine's."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone).date().isoformat()
