"""Exact notations: the canonical text of a timing, and cron expressions, also before a task."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from schedules.phrases.outcome import Understood, impossible, past, unknown
from schedules.phrases.tokens import Sentence
from schedules.phrases.zones import leading_zone, mentions_zone, refuse_other_season
from schedules.timing import Cron, Unreadable, as_cron, next_due, read
from schedules.timing.cron import FIELDS, NAMES, BadCron

_INTRODUCED = re.compile(r"cron(?:tab)?:?\s+(?=[\d*@])", re.IGNORECASE)
_MACRO = re.compile(r"@[a-z]+(?=[\s,;:]|$)", re.IGNORECASE)
_NUMBERS = re.compile(r"[\d*?][\d*,/?LW#-]*")
_NAMES = re.compile(r"[A-Z]{3}(?:[-,][A-Z]{3})*(?:#\d)?|LW?")
_APART = " \t\r\n,;:"
"""What may stand between an expression, its zone and the task."""


def read_canonical(text: str, now: datetime, zone: str) -> Understood | None:
    """The timing whose canonical text this is. Raises `Refusal` where it is past."""
    try:
        timing = read(text)
    except Unreadable:
        return None
    if next_due(timing, now, ZoneInfo(zone)) is None:
        raise past(f"{text!r} is never due again.", "Name a time in the future.")
    return Understood(timing, zone)


def read_cron(text: str, now: datetime, zone: str) -> Understood | None:
    """A cron expression, alone or before a zone and a task, as in a crontab.

    Raises `Refusal` for a wrong one, and where it is not clear in which zone it is meant.
    """
    text = _INTRODUCED.sub("", text, count=1) if _INTRODUCED.match(text) else text
    end = _end_of_expression(text)
    if end is None:
        return None
    timing, rest = _as_cron(text[:end]), text[end:].lstrip(_APART)
    sentence = Sentence(rest)
    found = leading_zone(sentence)
    name, begin = zone, 0
    if found is not None:
        begin = found.end
        if found.zone is not None:
            name = found.zone.name
            refuse_other_season(found.zone, timing, now)
    if any(mentions_zone(sentence, at) for at in range(begin, len(sentence))):
        raise unknown(
            f"{rest!r} names a time zone where it belongs to the task.",
            f"Name it right behind the expression: '{timing.expression} Europe/Berlin', and then the task.",
        )
    task = rest[sentence.tokens[begin].start :].lstrip(_APART) if begin < len(sentence) else ""
    return Understood(timing, name, task or None)


def _end_of_expression(text: str) -> int | None:
    """The place after the macro or the fields with which the text begins; None where it begins otherwise.

    Fewer or more than five fields are taken for a wrong expression where nothing follows.
    """
    if macro := _MACRO.match(text):
        return macro.end()
    words = list(re.finditer(r"\S+", text))
    fields = next(
        (at for at, word in enumerate(words) if not _is_field(word[0].rstrip(_APART), at)), len(words)
    )
    if "*" not in "".join(word[0] for word in words[: min(fields, len(FIELDS))]):
        return len(text) if fields == len(words) == len(FIELDS) else None
    if fields == len(words) and fields >= 3:
        return len(text)
    return words[fields - 1].end() if fields == len(FIELDS) else None


def _is_field(word: str, at: int) -> bool:
    """Whether the word may be the field at that place, or a sixth one: no task begins so."""
    if not word[:1].isalpha():
        return _NUMBERS.fullmatch(word) is not None
    name = word.upper()
    if _NAMES.fullmatch(name) is None:
        return False
    if at < len(FIELDS):
        return (name in NAMES[at]) if at < 3 else True
    return all(part in NAMES[3] | NAMES[4] for part in re.split(r"[-,]", name.partition("#")[0]))


def _as_cron(text: str) -> Cron:
    try:
        return as_cron(text.rstrip(_APART))
    except BadCron as error:
        raise impossible(
            str(error), "Cron looks like '0 9 * * 1-5': at 9:00 from Monday to Friday."
        ) from error
