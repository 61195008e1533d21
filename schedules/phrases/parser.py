"""Parses a sentence into timing and task, or refuses it. Pure: the current time is passed in."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from schedules.phrases.clock_times import read_clock
from schedules.phrases.guards import check_after, check_before, check_rest
from schedules.phrases.intent import check_asks
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import (
    Refusal,
    Refused,
    Understood,
    absent,
    ambiguous,
    impossible,
    incomplete,
    not_a_schedule,
    past,
    unknown,
)
from schedules.phrases.scan import Cluster, PhraseScan, scan
from schedules.phrases.selection import select
from schedules.phrases.task import task_of
from schedules.phrases.tokens import Sentence
from schedules.phrases.zone_names import known_zones
from schedules.phrases.zones import leading_zone, mentions_zone, refuse_other_season, refuse_place
from schedules.timing import Cron, Unreadable, as_cron, next_due, read
from schedules.timing.cron import FIELDS, NAMES, BadCron

LONGEST = 10_000
"""Characters of the longest sentence that is parsed."""


def parse(sentence: str, now: datetime, zone: str) -> Understood | Refused:
    """The timing and the task of the sentence at `now`, in the IANA zone `zone` where it names no other.

    It may also be a bare timing, its canonical text, a cron expression or an ISO time; then there is no task.
    """
    try:
        return _parse(sentence.strip(), now.astimezone(UTC), zone)
    except Refusal as refusal:
        return refusal.refused
    except OverflowError:
        return Refused("impossible", "That is beyond the years that a date can hold.", "Name an earlier one.")


def _parse(text: str, now: datetime, zone: str) -> Understood:
    if not text:
        raise impossible("The sentence is empty.", "Say what to do and when: 'Check my mail every day at 9'.")
    if len(text) > LONGEST:
        reason = f"The sentence has more than {LONGEST} characters."
        raise impossible(reason, "Put the long part into a file.")
    exact = read_canonical(text, now, zone) or read_cron(text, now, zone)
    if exact is not None:
        return exact
    sentence = Sentence(text)
    phrases = scan(sentence)
    check_asks(sentence, phrases.used)
    if not phrases.used:
        raise _absence(sentence, phrases)
    used, resolved = select(sentence, phrases, now, zone)
    task = task_of(sentence, used)
    if task is not None and resolved.draft.zone is not None:
        refuse_place(resolved.draft.zone)
    for cluster in used:
        check_before(sentence, cluster)
        task_before = _task_precedes(sentence, used, cluster)
        check_after(sentence, cluster, resolved.draft, task_before=task_before)
    check_rest(sentence, used, resolved.draft)
    return Understood(resolved.timing, resolved.zone, task)


def _task_precedes(sentence: Sentence, used: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether something to do is named before the cluster."""
    return any(
        sentence.kind(at) == "word" and not sentence.match("<polite>", at)
        for at in range(cluster.start)
        if not any(span.holds(at) for span in used)
    )


def _absence(sentence: Sentence, phrases: PhraseScan) -> Refusal:
    """The refusal of a sentence without a timing, by what it has instead."""
    mentioned = [draft for cluster in phrases.mentions for draft in cluster.drafts]
    if any(draft.past for draft in mentioned):
        return past("The sentence speaks of the past.", "Name a time in the future.")
    if vague := next((draft.vague for draft in mentioned if draft.vague), None):
        return incomplete(f"{vague.words!r} is not exact enough.", f"Say {vague.proposal}.")
    if any(token.kind == "opaque" and _quotes_timing(token.raw) for token in sentence.tokens):
        return not_a_schedule("It only quotes a timing.", "Write the timing without quotes to ask for it.")
    shown = sentence.source
    length = read_length(sentence, 0)
    if length is not None and length.end == len(sentence):
        return ambiguous(
            f"{shown!r} may be once or again and again.", f"Say 'every {shown}' or 'in {shown}'."
        )
    clock = read_clock(sentence, 0, introduced=True)
    if clock is not None and clock.end == len(sentence):
        return ambiguous(
            f"{shown!r} may be once or every day.",
            f"Say 'every day at {shown}' or 'at {shown}'.",
        )
    return absent(
        "The sentence does not say when.",
        "Say it as 'every weekday at 9', 'every 2 hours', 'in 30 minutes', 'tomorrow at 14:00' "
        "or '0 9 * * 1-5'.",
    )


def _quotes_timing(raw: str) -> bool:
    inner = raw.strip("\"'`«»“”‘’„")
    try:
        return inner != raw and bool(scan(Sentence(inner)).timings)
    except Refusal:
        return True


_INTRODUCED = re.compile(r"cron(?:tab)?:?\s+(?=[\d*@])", re.IGNORECASE)
_ZONED = re.compile(r"(?:CRON_)?TZ\s*=\s*(\S+)\s+")
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
    if zoned := _ZONED.match(text):
        name = known_zones().get(zoned[1].strip("'\"").lower())
        if name is None:
            raise unknown(f"There is no time zone {zoned[1]!r}.", "CRON_TZ=Europe/Berlin 0 9 * * 1-5")
        return read_cron(text[zoned.end() :], now, name)
    end = _end_of_expression(text)
    if end is None:
        return None
    timing, rest = _as_cron(text[:end]), text[end:].lstrip(_APART)
    sentence = Sentence(rest)
    zone_reading = leading_zone(sentence)
    name, begin = zone, 0
    if zone_reading is not None:
        begin = zone_reading.end
        if zone_reading.zone is not None:
            name = zone_reading.zone.name
            refuse_other_season(zone_reading.zone, timing, now)
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
