"""Time zones as people name them: `Berlin time`, `UTC`, `EST`, `Europe/Berlin`, `Eastern time`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple
from zoneinfo import ZoneInfo

from schedules.phrases.draft import TimingDraft, Zone
from schedules.phrases.outcome import ambiguous, unknown
from schedules.phrases.rules import Found, Rule, read_first
from schedules.phrases.tokens import Phrase, Sentence
from schedules.phrases.zone_names import ABBREVIATIONS, LOWER, NAMED, REGIONS, UNCLEAR, known_zones, zone_of
from schedules.timing import Timing, next_due

_OFFSET = re.compile(r"(utc|gmt)\s?([+-])\s?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)
_TIME = "time zone | timezone | time"


class ZoneRead(NamedTuple):
    """A zone that a text begins with, and the place after it; `zone` is None for that of the person."""

    zone: Zone | None
    end: int


def leading_zone(sentence: Sentence) -> ZoneRead | None:
    """The zone that the text begins with. Raises `Refusal` where it may be a place that the task is about."""
    found = read_first(RULES, sentence, 0, led=True)
    if found is None:
        return None
    zone = found.draft.zone
    if zone is not None and found.end < len(sentence):
        refuse_place(zone)
    return ZoneRead(zone, found.end)


def refuse_place(zone: Zone) -> None:
    """Raises `Refusal` for `in Berlin` beside a task."""
    if not zone.plain:
        city = zone.name.rpartition("/")[2].replace("_", " ")
        raise ambiguous(
            f"'in {city}' may be where it is to be done, or whose time is meant.",
            f"Say '{city} time' for the time.",
        )


def refuse_other_season(zone: Zone, timing: Timing, now: datetime) -> None:
    """Raises `Refusal` for an abbreviation of standard time in summer, or of summer time in winter."""
    there = ZoneInfo(zone.name)
    due = next_due(timing, now, there) if zone.offset is not None else None
    if zone.offset is None or due is None:
        return
    if due.astimezone(there).utcoffset() != timedelta(hours=zone.offset):
        raise ambiguous(
            f"{zone.name} does not have that offset on {due.astimezone(there):%Y-%m-%d}.",
            f"Say '{zone.name}', or the offset from UTC.",
        )


def mentions_zone(sentence: Sentence, at: int) -> bool:
    """Whether the words there can only be a zone."""
    if sentence.match("timezone | tz | time zone", at):
        return True
    region, _, rest = sentence.text(at).partition("/")
    if sentence.kind(at) == "path" and region in REGIONS:
        return bool(rest)
    raw = sentence.raw(at)
    known = raw.lower() in ABBREVIATIONS.keys() | UNCLEAR.keys() and len(raw) > 2
    city = sentence.text(at + 1) == "time" and raw[:1].isupper() and zone_of(raw) is not None
    return (known and raw.isupper()) or city


def _own(phrase: Phrase) -> Found:
    """`local time`: the zone of the person who writes."""
    return Found(TimingDraft(), phrase.end, firm=False)


def _zone(phrase: Phrase) -> Found | None:
    """`UTC`, `Berlin time`, `(Europe/London)`, `in Berlin`."""
    sentence, at = phrase.sentence, phrase.end
    for read in (_path, _abbreviation, _named, _us_zone):
        if found := read(sentence, at):
            zone, end = found
            break
    else:
        if phrase.text("lead") != "in" or phrase.has("open") or (found := _place(sentence, at)) is None:
            return None
        zone, end = found
    end = sentence.skip(end, r"`\)`") if phrase.has("open") else end
    return Found(TimingDraft(zone=zone), end, firm=False)


def _path(sentence: Sentence, at: int) -> tuple[Zone, int] | None:
    """`Europe/Berlin`, `UTC+2`. Raises `Refusal` for a zone that there is not."""
    text = sentence.text(at)
    if sentence.kind(at) != "path":
        return None
    end = sentence.skip(at + 1, _TIME)
    if matched := _OFFSET.fullmatch(text):
        return _fixed(matched), end
    if text.split("/")[0] not in REGIONS:
        return None
    name = known_zones().get(text)
    if name is None:
        nearest = get_close_matches(text, known_zones(), n=1, cutoff=0.0)
        raise unknown(f"There is no time zone {sentence.raw(at)!r}.", known_zones()[nearest[0]])
    return Zone(name), end


def _fixed(matched: re.Match[str]) -> Zone:
    hours, minutes = int(matched[3]), int(matched[4] or 0)
    if minutes or hours > 12:
        name = matched[0].upper()
        raise unknown(f"{name!r} is no time zone that has a name.", "Name a city: 'Kathmandu time'.")
    # The database counts these westward.
    return Zone("UTC" if hours == 0 else f"Etc/GMT{'-' if matched[2] == '+' else '+'}{hours}")


def _abbreviation(sentence: Sentence, at: int) -> tuple[Zone, int] | None:
    raw, text = sentence.raw(at), sentence.text(at)
    if not raw.isupper() and text not in LOWER:
        return None
    if text in UNCLEAR:
        raise ambiguous(f"{raw} stands for several time zones.", f"Say {UNCLEAR[text]}.")
    if text not in ABBREVIATIONS:
        return None
    name, offset = ABBREVIATIONS[text]
    return Zone(name, offset=offset), sentence.skip(at + 1, _TIME)


def _named(sentence: Sentence, at: int) -> tuple[Zone, int] | None:
    """`Berlin time`, `New York time`, `US Eastern time`."""
    for length in (3, 2, 1):
        end = sentence.after(at + length, _TIME)
        if end is None:
            continue
        name = sentence.shown(at, at + length)
        zone = zone_of(name)
        if zone is not None:
            return Zone(zone), sentence.skip(end, _TIME)
        if length == 1 and name[:1].isupper():
            raise unknown(f"No time zone is known as {name!r}.", "Name a city or a zone: Europe/Berlin.")
    return None


def _us_zone(sentence: Sentence, at: int) -> tuple[Zone, int] | None:
    """`Eastern` alone. Raises `Refusal` where it may belong to the task."""
    if not sentence.match("eastern | central | mountain | pacific", at) or not sentence.is_capital(at):
        return None
    follows = sentence.match("on | every | each | and | to | please | starting | until", at + 1)
    if sentence.kind(at + 1) not in {None, "mark"} and not follows:
        name = sentence.raw(at)
        raise ambiguous(f"{name!r} may be a zone or not.", f"Say '{name} time' for the zone.")
    return Zone(NAMED[sentence.text(at)]), at + 1


def _place(sentence: Sentence, at: int) -> tuple[Zone, int] | None:
    """`in Berlin`, which may be where something is."""
    for length in (3, 2, 1):
        zone = zone_of(sentence.shown(at, at + length)) if at + length <= len(sentence) else None
        if zone is not None and sentence.is_capital(at):
            return Zone(zone, plain=False), at + length
    return None


RULES = (
    Rule("[in] (local | my | my local | our | server) time | [in] my (time zone | timezone)", _own, True),
    Rule(
        r"[open=(`\(`)] [lead=(in [the] | timezone | time zone | tz | zone)] [= | :]",
        _zone,
        after_timing=True,
    ),
)
