"""Days of the calendar: `December 24`, `24.12.2026`, `tomorrow`, `this Friday`; from and until when."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime

from schedules.phrases.clock_times import read_clock
from schedules.phrases.draft import (
    Bound,
    ComingWeekday,
    OnDate,
    Part,
    RelativeDay,
    Starting,
    TimingDraft,
    Vague,
    Weekdays,
)
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import ambiguous, impossible
from schedules.phrases.rules import PhraseRule, TimingFragment, read_first
from schedules.phrases.tokens import Phrase, ReadValue, Sentence
from schedules.phrases.vocabulary import MONTH_NUMBERS, PARTS, VAGUE_TIMES
from schedules.phrases.weekdays import DAYS, ONE_DATE, day_names
from schedules.timing.names import MONTHS

LEAP_YEAR = 2000
_DATE = "[on the | on | at | the] [<weekday=weekday> [, the | , | the]]"
_YEAR = r"[[, | .] year=(`n:20\d\d`)]"
_VAGUE = (
    "first thing in the morning | first thing | end of [the] (day | month | week) | end of the year | eod"
    " | close of business | cob | (business | office | working | work) hours | later today | later | soon"
    " | sometime | at some point | from time to time | once in a while | now and then | regularly"
    " | occasionally | periodically | frequently | (beginning | start) of the (week | month | year)"
    " | year's end"
    " | middle of the (day | month | night) | day and night | around the clock | n:24 / n:7"
)


def months_of(phrase: Phrase, slot: str) -> tuple[int, ...]:
    """The months in the slot, ascending."""
    names = phrase.text(slot).split()
    return tuple(sorted({MONTH_NUMBERS[name] for name in names if name in MONTH_NUMBERS}))


def _on_date(phrase: Phrase, date: OnDate) -> TimingFragment:
    weekday = DAYS[phrase.text("weekday").split()[0]] if phrase.has("weekday") else None
    firm = phrase.sentence.text(phrase.start) == "on"
    return TimingFragment(TimingDraft(day=date._replace(weekday=weekday)), phrase.end, firm)


def _iso(phrase: Phrase) -> TimingFragment:
    """`2026-12-24`, `2026-12-24T18:00Z`."""
    text = phrase.sentence.text(phrase.end - 1).upper()
    if len(text) <= 10:
        year, month, day = (int(part) for part in text.split("-"))
        return _on_date(phrase, _checked(month, day, year))
    try:
        moment = datetime.fromisoformat(text).replace(microsecond=0)
    except ValueError:
        raise impossible(f"There is no {text}.", "Write 2026-12-24T18:00.") from None
    return TimingFragment(TimingDraft(moment=moment), phrase.end)


def _numeric(phrase: Phrase) -> TimingFragment:
    """`24.12.2026`, `12/24/2026`. Raises `Refusal` for `05/06/2027`."""
    text = phrase.sentence.text(phrase.end - 1)
    first, second, year = (int(part) for part in re.split(r"[./]", text))
    if "." in text or first > 12:
        return _on_date(phrase, _checked(second, first, year))
    if second <= 12 and first != second:
        raise ambiguous(
            f"{text!r} may be {_month_name(second)} {first} or {_month_name(first)} {second}.",
            f"Write {year}-{first:02}-{second:02} or {year}-{second:02}-{first:02}.",
        )
    return _on_date(phrase, _checked(first, second, year))


def _named(phrase: Phrase) -> TimingFragment | None:
    """`December 24`, `Dec 24th, 2026`, `the 24th of December`."""
    (month,), day = months_of(phrase, "month"), phrase.number("day")
    if not 1 <= day <= 99:
        return None
    return _on_date(phrase, _checked(month, day, phrase.number("year") if phrase.has("year") else None))


def _checked(month: int, day: int, year: int | None) -> OnDate:
    if not 1 <= month <= 12 or (year is not None and not 1 <= year <= 9999):
        raise impossible(f"There is no month {month}.", "Write dates as 2026-12-24.")
    if not 1 <= day <= monthrange(year or LEAP_YEAR, month)[1]:
        of_year = f" {year}" if year else ""
        raise impossible(f"There is no {_month_name(month)} {day}{of_year}.", "Name a day that exists.")
    return OnDate(month, day, year)


def _month_name(month: int) -> str:
    return MONTHS[month - 1] if 1 <= month <= 12 else str(month)


def _day_with_part(phrase: Phrase, day: RelativeDay | ComingWeekday, part: str = "") -> TimingDraft:
    name = PARTS.get(phrase.text("part") or part)
    return TimingDraft(day=day, part=Part(name) if name else None)


def _relative(phrase: Phrase) -> TimingDraft:
    """`today`, `tomorrow morning`, `tonight`, `the day after tomorrow`, `this evening`."""
    word = phrase.text("word")
    if word == "tonight":
        return _day_with_part(phrase, RelativeDay(0, word), "night")
    days = 2 if word.endswith("after tomorrow") else 1 if word == "tomorrow" else 0
    return _day_with_part(phrase, RelativeDay(days, "today" if word == "this" else word))


def _coming(phrase: Phrase) -> TimingDraft:
    """`this Friday`, `next Monday morning`, `the coming Sunday`, `next week on Friday`."""
    which = phrase.text("which")
    weekday = DAYS[phrase.text("weekday")]
    which = "coming" if "coming" in which else "next week" if phrase.has("week") else which.split()[-1]
    return _day_with_part(phrase, ComingWeekday(weekday, which))


def _vague_date(phrase: Phrase) -> TimingDraft:
    return TimingDraft(vague=Vague(phrase.shown, ONE_DATE))


def _past(phrase: Phrase) -> TimingDraft:
    return TimingDraft(past=phrase.shown)


def _vague(phrase: Phrase) -> TimingDraft:
    proposal = "a time such as 9:00, or a window such as 9 to 17"
    if phrase.has("time"):
        proposal = f"a time, such as {VAGUE_TIMES[phrase.text('time')]}"
    return TimingDraft(vague=Vague(phrase.shown, proposal))


def _bound(sentence: Sentence, at: int) -> ReadValue[Bound | datetime] | None:
    """One day that is named alone, or a moment, and the place after it."""
    if reading := read_first((*DATE_RULES, *RELATIVE_RULES), sentence, at):
        day = reading.draft.day or reading.draft.moment
        return ReadValue(day, reading.end) if day and reading.draft.part is None else None
    phrase = sentence.match("[on] <days=days> [parted=(<part> | <parts>)]", at)
    named = day_names(phrase, "days") if phrase else None
    if phrase is None or named is None or named.number != 1 or named.plural or phrase.has("parted"):
        return None
    return ReadValue(Weekdays(named.weekdays, repeats=False), phrase.end)


def _starting(phrase: Phrase) -> TimingFragment | None:
    """`starting tomorrow at 9`, `beginning on December 1`, `as of now`."""
    sentence = phrase.sentence
    bound = _bound(sentence, phrase.end)
    if bound is None:
        clock = read_clock(sentence, phrase.end, introduced=True)
        return TimingFragment(TimingDraft(starting=Starting(clock=clock.value)), clock.end) if clock else None
    day, end = bound
    if isinstance(day, datetime):
        return TimingFragment(TimingDraft(starting=Starting(moment=day)), end)
    introduced = sentence.match("<at>", end)
    clock = read_clock(sentence, sentence.skip(end, "<at>"), introduced=introduced is not None)
    starting = Starting(day, clock.value) if clock else Starting(day)
    return TimingFragment(TimingDraft(starting=starting), clock.end if clock else end)


def _from(phrase: Phrase) -> TimingFragment | None:
    """`from Monday on`, `from 1 December`."""
    bound = _bound(phrase.sentence, phrase.end)
    if bound is None:
        return None
    day, end = bound
    end = phrase.sentence.skip(end, "onwards | onward | on")
    starting = Starting(moment=day) if isinstance(day, datetime) else Starting(day)
    return TimingFragment(TimingDraft(starting=starting), end)


def _until(phrase: Phrase) -> TimingFragment | None:
    """`until December 24`."""
    sentence = phrase.sentence
    bound = _bound(sentence, phrase.end)
    if bound is not None and not isinstance(bound[0], datetime):
        return TimingFragment(TimingDraft(until=bound[0]), bound[1])
    clock = read_clock(sentence, phrase.end, introduced=True) if bound is None else None
    end = bound[1] if bound else clock.end if clock else None
    if end is None:
        return None
    window, last_day = "'every hour between 9 and 17'", "a last day, such as 'until 2026-12-24'"
    proposal = last_day if bound else f"a window, such as {window}"
    return TimingFragment(TimingDraft(vague=Vague(sentence.shown(phrase.start, end), proposal)), end)


def _ahead(phrase: Phrase) -> TimingFragment | None:
    """`in 2 hours`, `a timer for 20 minutes`. Raises `Refusal` for `in about 2 hours`."""
    sentence = phrase.sentence
    length = read_length(sentence, phrase.end)
    if length is None or (phrase.text("word") == "for" and sentence.text(phrase.start - 1) != "timer"):
        return None
    if phrase.has("about"):
        raise ambiguous("A schedule needs an exact time.", f"Leave out {phrase.text('about')!r}.")
    return TimingFragment(
        TimingDraft(ahead=length.value), sentence.skip(length.end, "' time | time | from now")
    )


def _from_now(phrase: Phrase) -> TimingFragment | None:
    """`30 minutes from now`, `a week from today`."""
    length = read_length(phrase.sentence, phrase.start)
    end = phrase.sentence.after(length.end, "from now | from today | hence") if length else None
    return TimingFragment(TimingDraft(ahead=length.value), end) if length and end else None


def _in_months(phrase: Phrase) -> TimingFragment | None:
    """`in June and July`; `of June` after other timing."""
    if phrase.sentence.kind(phrase.end) == "number":
        return None
    firm = phrase.led or phrase.leads
    return TimingFragment(TimingDraft(months=months_of(phrase, "months")), phrase.end, firm)


_COMING = (
    "the (coming | next | upcoming | following) | this (coming | upcoming) | coming | upcoming | next | this"
)
_START = (
    "starting [on | from | with | at] | beginning [on | from | at] | commencing | as of | effective"
    " | starts on | start on"
)
_EXACTLY = "exactly | precisely | promptly"
_NUMBER = r"`n:\d\S*|\d\S*` | <cardinal> | a | an | half | quarter"
DATE_RULES = (
    PhraseRule(f"{_DATE} `iso:`", _iso),
    PhraseRule(f"{_DATE} `date:`", _numeric),
    PhraseRule(rf"{_DATE} <month=month> [the] day=(<ordinal> | <whole>) {_YEAR}", _named),
    PhraseRule(rf"{_DATE} <day=ordinal> [of | day of] <month=month> {_YEAR}", _named),
    PhraseRule(rf"{_DATE} <day=digits> <month=month> {_YEAR}", _named),
)
_RELATIVE = {
    "[on] word=([the] day after tomorrow | today | tomorrow | tonight) [<part=part>]": _relative,
    "[on] word=(this) <part=part>": _relative,
    "[on] [the] which=(next) week=(week) [on | ,] weekday=(DAY | SHORTDAY) [<part=part>]": _coming,
    f"[on] which=({_COMING}) (week | month | year | quarter | weekend)": _vague_date,
    f"[on] which=({_COMING}) (DAY | SHORTDAY) [next] week": _vague_date,
    f"[on] which=({_COMING}) weekday=(DAY | SHORTDAY) [<part=part>]": _coming,
    "[on] (yesterday | last (DAY | SHORTDAY | night) | ago)": _past,
    f"[at the | at | during | in the | by the | over] ({_VAGUE})": _vague,
    f"(at the | at | during | in the | by the | over) time=({' | '.join(VAGUE_TIMES)})": _vague,
}
RELATIVE_RULES = tuple(PhraseRule(pattern, says, firm=False) for pattern, says in _RELATIVE.items())
RULES = (
    PhraseRule(
        f"({_START} | from) (right now | now | immediately | right away | today on) [on | onwards | onward]",
        TimingDraft(starting=Starting()),
    ),
    PhraseRule(_START, _starting),
    PhraseRule("from", _from),
    PhraseRule("until | till | til | through | up to | ending [on]", _until),
    PhraseRule(f"word=(in) [<about=about>] [{_EXACTLY}]", _ahead),
    PhraseRule("word=(for)", _ahead),
    PhraseRule(_NUMBER, _from_now),
)
MONTH_RULES = (
    PhraseRule(
        "(in the months of | in the month of | in every | in each | in | during) <months=months>", _in_months
    ),
    PhraseRule("(of every | of each | of) <months=months>", _in_months, after_timing=True),
)
