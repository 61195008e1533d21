"""Names of time zones as data: cities, regions and abbreviations, and the zones of the database."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from schedules.phrases.vocabulary import word_set

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
"""The zone of an abbreviation, and the offset in hours that it says, where the zone has two."""

UNCLEAR = {
    "cst": "Chicago time or Shanghai time",
    "ist": "India time, Israel time or Dublin time",
    "bst": "London time or Dhaka time",
    "ct": "Chicago time",
    "mt": "Denver time",
    "ast": "Halifax time or Riyadh time",
}
LOWER = word_set("utc gmt est edt pst pdt cet cest msk jst")
"""Abbreviations that are not words, so that they need no capitals."""


def zone_of(name: str) -> str | None:
    """The zone of a city or region, by its name; None where it is not known."""
    plain = " ".join(name.lower().split())
    return NAMED.get(plain) or _cities().get(plain)


@cache
def known_zones() -> dict[str, str]:
    """Every zone of the database, by its name in lower case."""
    return {name.lower(): name for name in sorted(available_timezones())}


@cache
def _cities() -> dict[str, str]:
    """The zones by their cities; the zone with the shorter name wins."""
    cities: dict[str, str] = {}
    for name in sorted(known_zones().values(), key=lambda name: (name.count("/"), name)):
        region, _, city = name.rpartition("/")
        if region.split("/")[0].lower() in REGIONS - {"etc", "us", "canada", "brazil", "mexico", "chile"}:
            cities.setdefault(city.replace("_", " ").lower(), name)
    return cities
