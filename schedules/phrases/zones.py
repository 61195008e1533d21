"""Time zones in users' words: `Berlin time`, `UTC`, `EST`, `Europe/Berlin`, `Eastern time`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple
from zoneinfo import ZoneInfo

from schedules.phrases.draft import TimingDraft, Zone
from schedules.phrases.outcome import ambiguous, unknown
from schedules.phrases.rules import PhraseRule, TimingFragment, read_first
from schedules.phrases.tokens import Phrase, Sentence
from schedules.phrases.zone_names import ABBREVIATIONS, LOWER, NAMED, REGIONS, UNCLEAR, known_zones, zone_of
from schedules.timing import Timing, next_due

_OFFSET = re.compile(r"(utc|gmt)\s?([+-])\s?(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)


class ZoneRead(NamedTuple):
    """A zone that a text begins with, and the place after it; `zone` is None for that of the person."""

    zone: Zone | None
    end: int


def leading_zone(sentence: Sentence) -> ZoneRead | None:
    """The zone that the text begins with. Raises `Refusal` where it may be a place that the task is about."""
    reading = read_first(RULES, sentence, 0, led=True)
    if reading is None:
        return None
    zone = reading.draft.zone
    if zone is not None and reading.end < len(sentence):
        refuse_place(zone)
    return ZoneRead(zone, reading.end)


def refuse_place(zone: Zone) -> None:
    """Raises `Refusal` for `in Berlin` next to a task."""
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
    is_abbreviation = raw.lower() in ABBREVIATIONS.keys() | UNCLEAR.keys() and len(raw) > 2
    city = sentence.text(at + 1) == "time" and raw[:1].isupper() and zone_of(raw) is not None
    return (is_abbreviation and raw.isupper()) or city


def _fragment(phrase: Phrase, zone: Zone) -> TimingFragment:
    end = phrase.sentence.skip(phrase.end, r"`\)`") if phrase.has("open") else phrase.end
    return TimingFragment(TimingDraft(zone=zone), end, firm=False)


def _path(phrase: Phrase) -> TimingFragment | None:
    """`Europe/Berlin`, `UTC+2`. Raises `Refusal` for a zone that there is not."""
    text = phrase.text("name")
    if matched := _OFFSET.fullmatch(text):
        return _fragment(phrase, _fixed(matched))
    if text.split("/")[0] not in REGIONS:
        return None
    name = known_zones().get(text)
    if name is None:
        nearest = get_close_matches(text, known_zones(), n=1, cutoff=0.0)
        raise unknown(f"There is no time zone {phrase.raw('name')!r}.", known_zones()[nearest[0]])
    return _fragment(phrase, Zone(name))


def _fixed(matched: re.Match[str]) -> Zone:
    hours, minutes = int(matched[3]), int(matched[4] or 0)
    if minutes or hours > 12:
        name = matched[0].upper()
        raise unknown(f"{name!r} is not a time zone that has a name.", "Name a city: 'Kathmandu time'.")
    # The database counts these westward.
    return Zone("UTC" if hours == 0 else f"Etc/GMT{'-' if matched[2] == '+' else '+'}{hours}")


def _abbreviation(phrase: Phrase) -> TimingFragment | None:
    """`UTC`, `EST`. Raises `Refusal` for an abbreviation of several zones."""
    raw, text = phrase.raw("name"), phrase.text("name")
    if not raw.isupper() and text not in LOWER:
        return None
    if text in UNCLEAR:
        raise ambiguous(f"{raw} stands for several time zones.", f"Say {UNCLEAR[text]}.")
    if text not in ABBREVIATIONS:
        return None
    name, offset = ABBREVIATIONS[text]
    return _fragment(phrase, Zone(name, offset=offset))


def _named(phrase: Phrase) -> TimingFragment | None:
    """`Berlin time`, `New York time`, `US Eastern time`. Raises `Refusal` for a name that is not known."""
    name = phrase.raw("name")
    if zone := zone_of(name):
        return _fragment(phrase, Zone(zone))
    if " " not in name and name[0].isupper():
        raise unknown(f"No time zone is known as {name!r}.", "Name a city or a zone: Europe/Berlin.")
    return None


def _us_zone(phrase: Phrase) -> TimingFragment | None:
    """`Eastern` alone. Raises `Refusal` where it may belong to the task."""
    name, kind = phrase.raw("name"), phrase.sentence.kind(phrase.end)
    if not name[0].isupper():
        return None
    if kind not in {None, "mark"} and not phrase.has("follows"):
        raise ambiguous(f"{name!r} may be a zone or not.", f"Say '{name} time' for the zone.")
    return TimingFragment(TimingDraft(zone=Zone(NAMED[name.lower()])), phrase.span("name")[1], firm=False)


def _place(phrase: Phrase) -> TimingFragment | None:
    """`in Berlin`, which may be where something is."""
    zone = zone_of(phrase.raw("name")) if phrase.raw("name")[0].isupper() else None
    return _fragment(phrase, Zone(zone, plain=False)) if zone else None


_LEAD = r"[open=(`\(`)] [in [the] | timezone | time zone | tz | zone] [= | :]"
_TIME = "(time zone | timezone | time)"
_NAMES = ("<any> <any> <any>", "<any> <any>", "<any>")
_AFTER_ZONE = "on | every | each | and | to | please | starting | until"
RULES = (
    PhraseRule(
        "[in] (local | my | my local | our | server) time | [in] my (time zone | timezone)",
        TimingDraft(),
        after_timing=True,
        firm=False,
    ),
    PhraseRule(f"{_LEAD} name=(`path:`) [{_TIME}]", _path, True),
    PhraseRule(f"{_LEAD} name=(<any>) [{_TIME}]", _abbreviation, True),
    *(PhraseRule(f"{_LEAD} name=({words}) {_TIME} [{_TIME}]", _named, True) for words in _NAMES),
    PhraseRule(
        f"{_LEAD} name=(eastern | central | mountain | pacific) [follows=({_AFTER_ZONE})]", _us_zone, True
    ),
    *(PhraseRule(f"in name=({words})", _place, True) for words in _NAMES),
)
