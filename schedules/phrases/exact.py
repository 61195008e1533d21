"""What needs no understanding: the canonical text of a timing, and cron expressions, also before a task."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from schedules.phrases.outcome import Refusal, Understood
from schedules.timing import Cron, Unreadable, as_cron, next_due, read
from schedules.timing.cron import BadCron

_CRON_FIELD = re.compile(r"[\d*?][\d*,/?LW#-]*|[A-Z]{3}(?:[-,][A-Z]{3})*(?:#\d)?|L", re.IGNORECASE)
_MACRO = re.compile(r"(@[a-z]+)(?:\s+(.+))?", re.DOTALL | re.IGNORECASE)


def read_canonical(text: str, now: datetime, zone: str) -> Understood | None:
    """The timing whose canonical text this is. Raises `Refusal` where it is past."""
    try:
        timing = read(text)
    except Unreadable:
        return None
    if next_due(timing, now, ZoneInfo(zone)) is None:
        raise Refusal("past", f"{text!r} is never due again.", "Name a time in the future.")
    return Understood(timing, zone)


def read_cron(text: str, zone: str) -> Understood | None:
    """A cron expression, alone or before a task as in a crontab. Raises `Refusal` where it is a wrong one."""
    if matched := _MACRO.fullmatch(text):
        return Understood(_as_cron(matched[1]), zone, matched[2])
    words = re.sub(r"^cron(?:tab)?:?\s+(?=[\d*@])", "", text, flags=re.IGNORECASE).split()
    fields = next(
        (
            at
            for at, word in enumerate(words)
            if not _CRON_FIELD.fullmatch(word) or (at < 3 and word[0].isalpha())
        ),
        len(words),
    )
    if "*" not in "".join(words[: min(fields, 5)]) and not (fields == len(words) == 5):
        return None
    if fields == len(words) and fields >= 3:
        return Understood(_as_cron(" ".join(words)), zone)
    if fields != 5:
        return None
    task = text[[*re.finditer(r"\S+", text)][-len(words) + 5].start() :]
    return Understood(_as_cron(" ".join(words[:5])), zone, task)


def _as_cron(text: str) -> Cron:
    try:
        return as_cron(text)
    except BadCron as error:
        raise Refusal(
            "impossible", str(error), "Cron looks like '0 9 * * 1-5': at 9:00 from Monday to Friday."
        ) from error
