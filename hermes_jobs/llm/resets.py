"""Reset times of limits in providers' messages, as seconds since the epoch.

Forms in use: `usage limit reached until 2026-11-23T15:00:00Z`, `regain access on 2026-12-01 at 00:00 UTC`,
`resets 8pm (America/New_York)`, `reset at Oct 6, 10am`, `limit reached|1746547200`. A date without a zone is
UTC; a time of day without a date is the next one, in this machine's zone if the text names none.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hermes_jobs.text.patterns import compile_later

GRACE_SECONDS = 600.0
"""A time of day that has just passed is today's: the provider's clock may be behind ours."""
RETRY_SOON_SECONDS = 60.0

_TRIGGER = (
    r"(?:(?:resets?|until|regain\w*|again|renew\w*|refresh\w*|available|retry)\b|将[在于])[^.\n]{0,60}?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = (
    r"(?P<clock>(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour24>\d{1,2}):(?P<minute24>\d\d)(?::\d\d)?(?!\d)|midnight|noon)"
)
_ZONE = r"(?:\s*\(?(?P<zone>[A-Za-z]+/[A-Za-z_/+-]+|UTC|GMT|P[SD]?T|E[SD]?T|pacific|eastern)\b)?"
_ISO = compile_later(
    _TRIGGER + r"(?<!\d)(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:(?:[T ]|,? at )(?P<clock>\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*\s?"
    r"(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_NAMED_DAY = compile_later(
    _TRIGGER + rf"\b(?P<month>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"(?:,? (?P<year>\d{{4}}))?(?:(?:,| at|, at)? {_CLOCK})?{_ZONE}",
    re.IGNORECASE,
)
_TIME_OF_DAY = compile_later(_TRIGGER + rf"(?<![\w:.-]){_CLOCK}{_ZONE}", re.IGNORECASE)
_EPOCH = compile_later(
    r"(?:reset\w{0,10}|limit reached|until)\W{1,6}(?P<epoch>\d{10}|\d{13})(?!\d)", re.IGNORECASE
)
_ABBREVIATIONS = {"utc": "UTC", "gmt": "UTC", "z": "UTC", "p": "America/Los_Angeles", "e": "America/New_York"}


def named_reset(text: str, now: float, local: tzinfo | None = None) -> float | None:
    """The reset time in the text; None if there is none.

    `local` is the zone of a time of day without one; None: this machine's.
    """
    for read in (_epoch, _iso, _named_day, _time_of_day):
        try:
            moment = read(text, now, local)
        except (ValueError, OverflowError):  # an impossible date
            continue
        if moment is not None:
            return moment
    return None


def from_epoch(number: float) -> float | None:
    """Seconds since the epoch, from a number of seconds or milliseconds; None for a small number."""
    if number >= 1e12:
        return number / 1000
    return number if number >= 1e9 else None


def _epoch(text: str, now: float, local: tzinfo | None) -> float | None:  # noqa: ARG001 - one signature
    match = _EPOCH.search(text)
    return from_epoch(float(match["epoch"])) if match else None


def _iso(text: str, now: float, local: tzinfo | None) -> float | None:  # noqa: ARG001 - one signature
    match = _ISO.search(text)
    if match is None:
        return None
    zone = match["zone"] or "Z"
    offset = zone if zone[0] in "+-" else "+00:00"
    return datetime.fromisoformat(f"{match['day']}T{match['clock'] or '00:00'}{offset}").timestamp()


def _named_day(text: str, now: float, local: tzinfo | None) -> float | None:
    match = _NAMED_DAY.search(text)
    if match is None:
        return None
    today = _here(now, _zone(match["zone"]) or local)
    clock = _clock(match) if match["clock"] else time()
    month = _MONTHS.index(match["month"].lower()) + 1
    year = int(match["year"] or today.year)
    moment = datetime.combine(date(year, month, int(match["day"])), clock, today.tzinfo)
    if match["year"] is None and moment < today - timedelta(days=1):
        moment = moment.replace(year=year + 1)
    return moment.timestamp()


def _time_of_day(text: str, now: float, local: tzinfo | None) -> float | None:
    match = _TIME_OF_DAY.search(text)
    if match is None:
        return None
    today = _here(now, _zone(match["zone"]) or local)
    moment = datetime.combine(today.date(), _clock(match), today.tzinfo)
    if moment.timestamp() > now:
        return moment.timestamp()
    if now - moment.timestamp() <= GRACE_SECONDS:
        return now + RETRY_SOON_SECONDS
    return datetime.combine(today.date() + timedelta(days=1), _clock(match), today.tzinfo).timestamp()


def _here(now: float, zone: tzinfo | None) -> datetime:
    moment = datetime.fromtimestamp(now, UTC)
    return moment.astimezone(zone) if zone is not None else moment.astimezone()


def _clock(match: re.Match[str]) -> time:
    text = match["clock"].lower()
    if text in {"midnight", "noon"}:
        return time(12 if text == "noon" else 0)
    if match["half"] is None:
        return time(int(match["hour24"]) % 24, int(match["minute24"]))
    hour = int(match["hour"])
    if not 1 <= hour <= 12:
        raise ValueError(f"{text!r} is not a time of day")
    return time(hour % 12 + (12 if match["half"].lower() == "p" else 0), int(match["minute"] or 0))


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    zone_name = _ABBREVIATIONS.get(name.lower()) or (None if "/" in name else _ABBREVIATIONS[name[0].lower()])
    try:
        return ZoneInfo(zone_name or name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
