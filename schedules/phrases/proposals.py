"""Proposals of a model for sentences that the rules do not understand.

A proposal counts only where the rules read its timing, that timing agrees with every time, day and zone that
they find in the sentence, and its task consists of the sentence's own words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias, assert_never

import msgspec

from schedules.phrases.draft import Length, OnDate, TimingDraft
from schedules.phrases.outcome import Refusal, Refused, Understood
from schedules.phrases.parser import parse
from schedules.phrases.scan import scan
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import NUMBERS, SECONDS, UNITS, WORDS, Unit, word_set
from schedules.phrases.zone_names import ABBREVIATIONS, NAMED, known_zones
from schedules.timing import Calendar, Cron, Every, Interval, MonthDays, Once, Weekly
from schedules.timing.values import DAY, minutes_of

ASKABLE = frozenset(["absent", "incomplete", "unknown"])
"""Kinds of refusals that a model may help with. Only the user can resolve an ambiguity."""

_CHANGING = WORDS["changing_before"] | WORDS["changing_after"] | WORDS["condition"]
_CHANGING -= word_set("every each of / - ' to")

INSTRUCTIONS = """\
A person asks for something to be done at a time. Take the request apart into `timing`, `timezone` and `task`.
`timing`: when, in English, in one of these forms: 'every weekday at 09:00', 'every Monday and Thursday at
08:00 and 18:00', 'every 30 minutes', 'every hour from 09:00 to 17:00, every weekday', 'every 2 weeks on
Tuesday at 09:00', 'on the 1st and 15th of every month at 09:00', 'on the last Friday of every month at
16:00', 'every year on the 24th of December at 18:00', 'at 2026-12-24T18:00', 'in 2 hours'. Null where the
request does not say exactly when: add no time or day that it does not name, and leave out no exception.
`timezone`: an IANA name such as Europe/Berlin; null where the request names none.
`task`: the request's own words for what is to be done, in its language; null where it only says when.\
"""
"""The prompt for the model; the sentence, the moment and the zone are added to it."""


class TimingProposal(msgspec.Struct, frozen=True):
    """A model's reading of a sentence; also the schema of its answer."""

    timing: str | None
    timezone: str | None = None
    task: str | None = None


def may_ask(refused: Refused) -> bool:
    """Whether a model may be asked about a sentence that was refused so."""
    return refused.kind in ASKABLE


def verify_proposal(
    sentence: str, refused: Refused, proposal: TimingProposal | None, now: datetime, zone: str
) -> Understood | Refused:
    """The proposal, read by the rules and compared with the sentence.

    `refused` is the answer of the rules for the sentence; it remains the answer where the proposal is wrong.
    """
    if proposal is None or proposal.timing is None or not may_ask(refused):
        return refused
    if proposal.timezone is not None and proposal.timezone.lower() not in known_zones():
        return _rejected(refused, f"the model named {proposal.timezone!r}, which is not a time zone")
    name = zone if proposal.timezone is None else known_zones()[proposal.timezone.lower()]
    parsed = parse(proposal.timing, now, name)
    if isinstance(parsed, Refused):
        return _rejected(refused, f"the model proposed {proposal.timing!r}: {parsed.reason}")
    against = _against(sentence, proposal, parsed, zone)
    if against:
        return _rejected(refused, f"the model proposed {proposal.timing!r}, but {against}")
    return Understood(parsed.timing, parsed.zone, (proposal.task or "").strip() or None)


def _against(sentence: str, proposal: TimingProposal, parsed: Understood, zone: str) -> str:
    """The objection to the proposal; empty if there is none."""
    if parsed.task is not None or isinstance(parsed.timing, Cron):
        return "that is not a plain timing"
    words = _unclaimed_words(sentence, proposal.task)
    if words is None:
        return "its task is not in the sentence's own words"
    if changing := sorted(set(words) & _CHANGING):
        return f"the sentence says {changing[0]!r}, which cannot be checked"
    if parsed.zone != zone and not names_zone(words, parsed.zone):
        return f"the sentence does not name {parsed.zone}"
    try:
        read = scan(Sentence(sentence))
    except Refusal as refusal:
        return refusal.refused.reason
    drafts = [draft for cluster in read.used for draft in cluster.drafts]
    if any(draft.zone and draft.zone.name != parsed.zone for draft in drafts):
        return "the sentence names another zone"
    return disagreement(words, drafts, parsed.timing, proposal.timing or "")


def _unclaimed_words(sentence: str, task: str | None) -> list[str] | None:
    """The sentence's words that are not the task's; None if the task has words from elsewhere."""
    remaining = Counter(_words(sentence))
    remaining.subtract(_words(task or ""))
    if any(number < 0 for number in remaining.values()):
        return None
    return list(remaining.elements())


def _words(text: str) -> list[str]:
    return re.findall(r"\d+|[^\W\d_]+", text.casefold())


def _rejected(refused: Refused, why: str) -> Refused:
    return Refused(refused.kind, f"{refused.reason} A model was asked as well; {why}.", refused.proposal)


Comparable: TypeAlias = Calendar | Interval | Once

SPOKEN = NUMBERS | {"half": 30, "quarter": 15, "noon": 12, "midday": 12, "midnight": 0}
"""Words that say a number of a timing."""


def disagreement(
    words: Sequence[str], drafts: Iterable[TimingDraft], timing: Comparable, proposed: str
) -> str:
    """Why the timing contradicts the sentence; empty without an objection.

    `words` are the sentence's without its task, in lower case, numbers apart from letters; `drafts` what the
    rules found in it; `proposed` the words that the timing was read from.
    """
    numbers = {
        int(word) if word.isdigit() else SPOKEN[word] for word in words if word.isdigit() or word in SPOKEN
    }
    units = {UNITS[word] for word in words if word in UNITS and len(word) > 1}
    unsaid = [number for number in _numbers(timing, proposed) if not _is_given(number, numbers)]
    unsaid += [
        count for count, unit in _counts(timing) if not (count in numbers or (count == 1 and unit in units))
    ]
    if unsaid:
        return f"the sentence does not say {unsaid[0]}"
    missing = {int(word) for word in words if word.isdigit()} - _accounted(timing, proposed)
    if missing:
        return f"it leaves out {min(missing)}"
    if all(_agrees(draft, timing) for draft in drafts):
        return ""
    return "that is not what the sentence says"


def names_zone(words: Sequence[str], zone: str) -> bool:
    """Whether the zone's city, or a name for the zone, is among the words."""
    names = {
        zone.rpartition("/")[2].lower(),
        *(name for name, zone_name in NAMED.items() if zone_name == zone),
    }
    names |= {name for name, (zone_name, _) in ABBREVIATIONS.items() if zone_name == zone}
    present = set(words)
    return any(set(re.findall(r"[a-z]+", name)) <= present for name in names)


def _is_given(number: int, numbers: set[int]) -> bool:
    """Whether the sentence has the number: an hour may be one of the afternoon."""
    return (
        number in numbers
        or (12 < number < 24 and number - 12 in numbers)
        or (number == 0 and bool({12, 24} & numbers))
    )


def _numbers(timing: Comparable, proposed: str) -> Iterator[int]:
    """The numbers that make the timing what it is."""
    match timing:
        case Interval():
            return
        case Once():
            if proposed.lower().startswith("in "):
                yield from (int(digits) for digits in re.findall(r"\d+", proposed))
            else:
                yield from _clock(timing.at.hour, timing.at.minute)
        case Calendar():
            times, days = timing.times, timing.days
            named = (times.first, times.last) if isinstance(times, Every) else times.minutes
            yield from (part for minute in named for part in _clock(*divmod(minute, 60)))
            if days.every > 2:
                yield days.every
            if isinstance(days, MonthDays):
                yield from (day for day in days.days if day > 0)
        case _:
            assert_never(timing)


def _accounted(timing: Comparable, proposed: str) -> set[int]:
    """The numbers of the sentence that the timing explains."""
    numbers = {*_numbers(timing, proposed), *(count for count, _ in _counts(timing)), 0}
    if isinstance(timing, Once):
        numbers |= {timing.at.year, timing.at.month, timing.at.day}
    if isinstance(timing, Calendar):
        numbers |= {timing.days.every, *timing.months}
    return numbers | {number - 12 for number in numbers if 12 < number < 24}


def _clock(hour: int, minute: int) -> tuple[int, ...]:
    """The numbers of a time: the minutes of a full hour are not written."""
    return (hour, minute) if minute else (hour,)


def _counts(timing: Comparable) -> Iterator[tuple[int, Unit]]:
    """The step between two runs, as a number of the largest unit that fits; empty without a step."""
    seconds = timing.seconds if isinstance(timing, Interval) else 0
    if isinstance(timing, Calendar) and isinstance(timing.times, Every):
        seconds = timing.times.minutes * 60
    units: tuple[Unit, ...] = ("day", "hour", "minute", "second")
    for unit in units:
        if seconds and seconds % SECONDS[unit] == 0:
            yield seconds // SECONDS[unit], unit
            return


def _agrees(draft: TimingDraft, timing: Comparable) -> bool:
    """Whether the timing does what the draft says, where both can be compared."""
    times, noon = _minutes(timing), DAY // 2
    clocks = all(
        reading.minutes in times or (reading.form != "exact" and (reading.minutes + noon) % DAY in times)
        for reading in draft.clocks
    )
    stepped = isinstance(timing, Calendar) and isinstance(timing.times, Every)
    return (
        clocks
        and (draft.window is None or stepped)
        and (draft.weekdays is None or draft.weekdays.weekdays == _weekdays(timing))
        and (draft.step is None or _has_step(draft.step, timing))
        and (draft.ahead is None or isinstance(timing, Once))
        and (not isinstance(draft.day, OnDate) or _is_on(draft.day, timing))
    )


def _is_on(day: OnDate, timing: Comparable) -> bool:
    return not isinstance(timing, Once) or (timing.at.month, timing.at.day) == (day.month, day.day)


def _minutes(timing: Comparable) -> frozenset[int]:
    """The times of day at which it is due, as minutes since midnight; none for an interval."""
    match timing:
        case Calendar():
            return frozenset(minutes_of(timing.times))
        case Once():
            return frozenset([timing.at.hour * 60 + timing.at.minute])
        case Interval():
            return frozenset()
        case _:
            assert_never(timing)


def _weekdays(timing: Comparable) -> frozenset[int]:
    if isinstance(timing, Once):
        return frozenset([timing.at.weekday()])
    if isinstance(timing, Calendar) and isinstance(timing.days, Weekly):
        return frozenset(timing.days.weekdays)
    return frozenset(range(7))


def _has_step(step: Length, timing: Comparable) -> bool:
    """Whether the timing comes as often as the step says."""
    if isinstance(timing, Interval):
        return step.unit not in {"month", "year"} and timing.seconds == step.seconds
    if isinstance(timing, Once):
        return False
    if step.is_small:
        return isinstance(timing.times, Every) and timing.times.minutes * 60 == step.seconds
    return timing.days.every == step.number
