"""Time zones as people name them: `Berlin time`, `UTC`, `EST`, `Europe/Berlin`, `Eastern time`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Found, Zone
from schedules.phrases.tokens import Sentence, word_set
from schedules.timing import Timing, next_due

REGIONS = word_set(
    "africa america antarctica arctic asia atlantic australia brazil canada chile etc europe indian "
    "mexico pacific us"
)
NAMED = {
    "eastern": "America/New_York", "eastern standard": "America/New_York",
    "eastern daylight": "America/New_York", "us eastern": "America/New_York", "central": "America/Chicago",
    "us central": "America/Chicago", "mountain": "America/Denver", "pacific": "America/Los_Angeles",
    "us pacific": "America/Los_Angeles", "pacific standard": "America/Los_Angeles",
    "alaska": "America/Anchorage", "hawaii": "Pacific/Honolulu", "uk": "Europe/London",
    "british": "Europe/London", "german": "Europe/Berlin", "french": "Europe/Paris", "japan": "Asia/Tokyo",
    "japanese": "Asia/Tokyo", "indian": "Asia/Kolkata", "india": "Asia/Kolkata", "china": "Asia/Shanghai",
    "beijing": "Asia/Shanghai", "korean": "Asia/Seoul", "swiss": "Europe/Zurich",
    "central european": "Europe/Berlin", "munich": "Europe/Berlin",
    "hamburg": "Europe/Berlin", "frankfurt": "Europe/Berlin", "cologne": "Europe/Berlin",
    "geneva": "Europe/Zurich", "barcelona": "Europe/Madrid", "milan": "Europe/Rome",
    "manchester": "Europe/London", "edinburgh": "Europe/London", "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles", "la": "America/Los_Angeles", "nyc": "America/New_York",
    "ny": "America/New_York", "boston": "America/New_York", "washington": "America/New_York",
    "miami": "America/New_York", "atlanta": "America/New_York", "austin": "America/Chicago",
    "dallas": "America/Chicago", "houston": "America/Chicago", "montreal": "America/Toronto",
    "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata", "new delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata", "kolkata": "Asia/Kolkata", "nepal": "Asia/Kathmandu",
    "nepali": "Asia/Kathmandu", "osaka": "Asia/Tokyo", "hanoi": "Asia/Bangkok",
    "saigon": "Asia/Ho_Chi_Minh", "abu dhabi": "Asia/Dubai", "israel": "Asia/Jerusalem",
    "tel aviv": "Asia/Jerusalem", "wellington": "Pacific/Auckland", "canberra": "Australia/Sydney",
    "cape town": "Africa/Johannesburg", "rio": "America/Sao_Paulo", "rio de janeiro": "America/Sao_Paulo",
    "utc": "UTC", "gmt": "UTC", "zulu": "UTC", "universal": "UTC", "greenwich mean": "UTC",
    "coordinated universal": "UTC",
}  # fmt: skip
FOLLOWING = frozenset(["on", "every", "each", "and", "to", "please", "starting", "until"])
US_ZONES = frozenset(["eastern", "central", "mountain", "pacific"])
ABBREVIATIONS: dict[str, tuple[str, float | None]] = {
    "utc": ("UTC", None), "gmt": ("UTC", None), "z": ("UTC", None), "est": ("America/New_York", -5),
    "edt": ("America/New_York", -4), "et": ("America/New_York", None), "cdt": ("America/Chicago", -5),
    "mst": ("America/Denver", -7), "mdt": ("America/Denver", -6), "pst": ("America/Los_Angeles", -8),
    "pdt": ("America/Los_Angeles", -7), "pt": ("America/Los_Angeles", None),
    "hst": ("Pacific/Honolulu", None), "akst": ("America/Anchorage", -9), "akdt": ("America/Anchorage", -8),
    "cet": ("Europe/Berlin", 1), "cest": ("Europe/Berlin", 2), "eet": ("Europe/Helsinki", 2),
    "eest": ("Europe/Helsinki", 3), "wet": ("Europe/Lisbon", 0), "west": ("Europe/Lisbon", 1),
    "msk": ("Europe/Moscow", None), "jst": ("Asia/Tokyo", None), "kst": ("Asia/Seoul", None),
    "sgt": ("Asia/Singapore", None), "hkt": ("Asia/Hong_Kong", None), "pkt": ("Asia/Karachi", None),
    "npt": ("Asia/Kathmandu", None), "sast": ("Africa/Johannesburg", None),
    "awst": ("Australia/Perth", None), "acst": ("Australia/Adelaide", 9.5),
    "acdt": ("Australia/Adelaide", 10.5), "aest": ("Australia/Sydney", 10),
    "aedt": ("Australia/Sydney", 11), "nzst": ("Pacific/Auckland", 12), "nzdt": ("Pacific/Auckland", 13),
}  # fmt: skip
"""The zone that an abbreviation stands for, and the offset in hours that it says, where the zone has two."""

UNCLEAR = {
    "cst": "Chicago time or Shanghai time",
    "ist": "India time, Israel time or Dublin time",
    "bst": "London time or Dhaka time",
    "ct": "Chicago time",
    "mt": "Denver time",
    "ast": "Halifax time or Riyadh time",
}
LOWER = word_set("utc gmt est edt pst pdt cet cest msk jst")
"""Abbreviations that are no words, so that they need no capitals."""

_OFFSET = re.compile(r"(utc|gmt)\s?([+-])\s?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)
_LOCAL = ("local time", "my time", "my local time", "my time zone", "my timezone", "our time", "server time")


def read_zone(sentence: Sentence, at: int) -> Found | None:
    """The zone that is named there, behind a time. Raises `Refusal` where the name is known to be none."""
    if end := sentence.after(at, *_LOCAL, *(f"in {words}" for words in _LOCAL)):
        return Found((), end, firm=False)
    begin = sentence.skip(at, "(")
    opened = begin > at
    begin = sentence.skip(
        begin, "in the", "in", "timezone :", "time zone :", "timezone", "time zone", "tz", "zone"
    )
    begin = sentence.skip(begin, "=", ":")
    found = _path(sentence, begin) or _abbreviation(sentence, begin) or _named(sentence, begin)
    if found is not None:
        return found._replace(end=sentence.skip(found.end, ")") if opened else found.end)
    return _place(sentence, begin) if sentence.text(at) == "in" and begin == at + 1 else None


class LeadingZone(NamedTuple):
    """A zone that a text begins with, and the place behind it; null: that of the one who writes."""

    zone: Zone | None
    end: int


def leading_zone(sentence: Sentence) -> LeadingZone | None:
    """The zone that the text begins with. Raises `Refusal` where it may be a place that the task is about."""
    found = read_zone(sentence, 0)
    if found is None:
        return None
    zone = next((piece for piece in found.pieces if isinstance(piece, Zone)), None)
    if zone is not None and found.end < len(sentence):
        refuse_place(zone)
    return LeadingZone(zone, found.end)


def refuse_place(zone: Zone) -> None:
    """Raise `Refusal` for `in Berlin` beside a task."""
    if not zone.plain:
        city = zone.name.rpartition("/")[2].replace("_", " ")
        raise Refusal(
            "ambiguous",
            f"'in {city}' may be where it is to be done, or whose time is meant.",
            f"Say '{city} time' for the time.",
        )


def refuse_other_season(zone: Zone, timing: Timing, now: datetime) -> None:
    """Raise `Refusal` for an abbreviation of standard time in summer: it may mean the time on the clocks."""
    there = ZoneInfo(zone.name)
    due = next_due(timing, now, there) if zone.offset is not None else None
    if zone.offset is None or due is None:
        return
    if due.astimezone(there).utcoffset() != timedelta(hours=zone.offset):
        raise Refusal(
            "ambiguous",
            f"{zone.name} does not have that offset on {due.astimezone(there):%Y-%m-%d}.",
            f"Say '{zone.name}', or the offset from UTC.",
        )


def mentions_zone(sentence: Sentence, at: int) -> bool:
    """Whether a zone is named there so that it can be nothing else."""
    if sentence.text(at) in {"timezone", "tz"} or sentence.after(at, "time zone"):
        return True
    region, _, rest = sentence.text(at).partition("/")
    if sentence.kind(at) == "path" and region in REGIONS:
        return bool(rest)
    raw = sentence.raw(at)
    known = raw.lower() in ABBREVIATIONS.keys() | UNCLEAR.keys() and len(raw) > 2
    return (known and raw.isupper()) or (
        sentence.text(at + 1) == "time" and raw[:1].isupper() and zone_of(raw) is not None
    )


def zone_of(name: str) -> str | None:
    """The zone of a city or region, by its name."""
    plain = " ".join(name.lower().split())
    return NAMED.get(plain) or _cities().get(plain)


@cache
def known_zones() -> dict[str, str]:
    """Every zone of the database, by its name in lower case."""
    return {name.lower(): name for name in sorted(available_timezones())}


@cache
def _cities() -> dict[str, str]:
    """The zones by their cities; those of a shorter name win."""
    cities: dict[str, str] = {}
    for name in sorted(known_zones().values(), key=lambda name: (name.count("/"), name)):
        region, _, city = name.rpartition("/")
        if region.split("/")[0].lower() in REGIONS - {"etc", "us", "canada", "brazil", "mexico", "chile"}:
            cities.setdefault(city.replace("_", " ").lower(), name)
    return cities


def _path(sentence: Sentence, at: int) -> Found | None:
    if sentence.kind(at) != "path":
        return None
    text = sentence.text(at)
    if matched := _OFFSET.fullmatch(text):
        return Found((_fixed(matched),), _behind(sentence, at + 1), firm=False)
    if text.split("/")[0] not in REGIONS:
        return None
    name = known_zones().get(text)
    if name is None:
        nearest = get_close_matches(text, known_zones(), n=1, cutoff=0.0)
        raise Refusal("unknown", f"There is no time zone {sentence.raw(at)!r}.", known_zones()[nearest[0]])
    return Found((Zone(name),), _behind(sentence, at + 1), firm=False)


def _fixed(matched: re.Match[str]) -> Zone:
    hours, minutes = int(matched[3]), int(matched[4] or 0)
    if minutes or hours > 12:
        raise Refusal(
            "unknown",
            f"{matched[0].upper()!r} is no time zone that has a name.",
            "Name a city: 'Kathmandu time'.",
        )
    # The database counts these westward.
    return Zone("UTC" if hours == 0 else f"Etc/GMT{'-' if matched[2] == '+' else '+'}{hours}")


def _abbreviation(sentence: Sentence, at: int) -> Found | None:
    raw, text = sentence.raw(at), sentence.text(at)
    if not raw.isupper() and text not in LOWER:
        return None
    if text in UNCLEAR:
        raise Refusal("ambiguous", f"{raw} stands for several time zones.", f"Say {UNCLEAR[text]}.")
    if text not in ABBREVIATIONS:
        return None
    name, offset = ABBREVIATIONS[text]
    return Found((Zone(name, offset=offset),), _behind(sentence, at + 1), firm=False)


def _named(sentence: Sentence, at: int) -> Found | None:
    """`Berlin time`, `New York time`, `US Eastern time`."""
    for length in (3, 2, 1):
        end = sentence.after(at + length, "time zone", "timezone", "time")
        if end is None or at + length >= len(sentence):
            continue
        name = sentence.shown(at, at + length)
        zone = zone_of(name)
        if zone is not None:
            return Found((Zone(zone),), _behind(sentence, end), firm=False)
        if length == 1 and name[:1].isupper():
            raise Refusal(
                "unknown", f"No time zone is known as {name!r}.", "Name a city or a zone: Europe/Berlin."
            )
    return _us_zone(sentence, at)


def _us_zone(sentence: Sentence, at: int) -> Found | None:
    """`Eastern` alone. Raises `Refusal` where it may belong to the task."""
    if sentence.text(at) not in US_ZONES or not sentence.raw(at)[:1].isupper():
        return None
    if sentence.kind(at + 1) not in {None, "mark"} and sentence.text(at + 1) not in FOLLOWING:
        name = sentence.raw(at)
        raise Refusal("ambiguous", f"{name!r} may be a zone or not.", f"Say '{name} time' for the zone.")
    return Found((Zone(NAMED[sentence.text(at)]),), at + 1, firm=False)


def _place(sentence: Sentence, at: int) -> Found | None:
    """`in Berlin`, which may be where something is."""
    for length in (3, 2, 1):
        if at + length > len(sentence) or not sentence.raw(at)[:1].isupper():
            continue
        zone = zone_of(sentence.shown(at, at + length))
        if zone is not None:
            return Found((Zone(zone, plain=False),), at + length, firm=False)
    return None


def _behind(sentence: Sentence, at: int) -> int:
    return sentence.skip(at, "time zone", "timezone", "time")
