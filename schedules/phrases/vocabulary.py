"""Vocabulary as data: the words for days, months, numbers and units, and the words that change a timing."""

from __future__ import annotations

from typing import Literal

from schedules.timing.names import MONTHS, WEEKDAYS
from schedules.timing.values import LAST

DayPart = Literal["morning", "afternoon", "evening", "night"]
Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]


def word_set(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


def numbered(words: str, first: int = 0) -> dict[str, int]:
    """The words of a text, counted from `first`."""
    return {word: number for number, word in enumerate(words.split(), first)}


# -- numbers

CARDINALS = numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
TENS = {
    word: 10 * tens
    for word, tens in numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()
}
ORDINALS = numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    1,
) | {"thirtieth": 30}
NUMBERS = CARDINALS | TENS | ORDINALS | {"last": LAST}

# -- days, months, parts of the day

FULL_DAYS = numbered(" ".join(WEEKDAYS).lower())
PLURAL_DAYS = {f"{name}s": number for name, number in FULL_DAYS.items()}
SHORT_DAYS = {name[:3]: number for name, number in FULL_DAYS.items()} | {
    "tues": 1, "weds": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
SHORT_MONTHS = {name[:3].lower(): number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
MONTH_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, 1)} | SHORT_MONTHS
PARTS: dict[str, DayPart] = {
    "morning": "morning", "afternoon": "afternoon", "evening": "evening", "night": "night",
}  # fmt: skip
PLURAL_PARTS: dict[str, DayPart] = {f"{word}s": part for word, part in PARTS.items()}

# -- units of time

_SPELLINGS: dict[Unit, str] = {
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w wk wks week weeks",
    "month": "month months",
    "year": "y yr yrs year years",
}
UNITS: dict[str, Unit] = {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}
SECONDS: dict[Unit, int] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""Seconds of the units that always have the same length."""

VAGUE_TIMES = {
    "lunchtime": "12:00", "lunch": "12:00", "dawn": "6:00", "sunrise": "6:00", "breakfast": "8:00",
    "dusk": "18:00", "sunset": "18:00", "dinner": "19:00", "bedtime": "22:00",
}  # fmt: skip
"""Times that differ from person to person, each with a time to propose."""

# fmt: off
_SETS = {
    # before a time or a timing
    "about": "about around approximately roughly circa approx nearly almost",
    "reminder": "reminder alarm timer task job alert it them me this that run",  # before `for` and a time
    "governor":  # makes the time after it a part of the task: `the 9am standup`, `news of today`
        "the a an my our your his her their its of for about since than before after by until till due from "
        "with last past previous around approximately roughly within over per as re regarding 's this",
    "happened": "happened did done changed arrived learned new due",  # `what happened today`
    "event":  # an event with its own time
        "meeting call appointment standup stand-up event flight train bus lunch dinner breakfast deadline "
        "class lesson interview session concert game match show party exam lecture webinar demo review retro "
        "sync reservation booking visit conference workshop dentist doctor ceremony wedding",
    "adverb_owner":  # before `daily`, which then describes a noun: `the daily report`
        "the a an my our your his her their its this that these those some any no last past previous 's",
    "changing_before":  # changes the timing after it
        "not never no except excluding unless until till before after by since from around about "
        "approximately roughly circa nearly almost or than but within between during starting beginning "
        "ending past minus plus half even odd some any most few several other alternate alternating first "
        "second third fourth fifth last next previous quarter black cyber ash palm easter super shrove "
        "least maybe perhaps possibly probably sometimes usually often again each every what which whichever",
    "limit": "before after by until till since from around about approximately roughly within than over",
    "stating":  # a verb whose time is that of a fact
        "is are was were be been being am runs ran happens happened starts started begins began opens closes "
        "occurs occurred arrives arrived leaves meets works worked comes came goes went fires airs ends "
        "means meant lasts wakes woke sleeps slept rings",
    "telling":  # before `the time`, if that is requested
        "say tell me us show give print read write down out log report announce post send",
    "owner": "the my our your his her their its this last past previous",  # `my day`, `the last 24 hours`
    "choosing": "all most some any",  # leaves open which day: `most weekdays`
    "few": "few several many some more",
    # after a time or a timing
    "after_hour":  # before any other word, a bare number may count what the word names
        "thanks thank cheers and on every each to in from for starting until till please sharp exactly daily "
        "weekly monthly yearly local then tomorrow today tonight this next with about via using by if when "
        "whether because so that which but as into onto over under without after before o'clock or of "
        "weekdays weekends mornings evenings except utc gmt between beginning once at also i time only not "
        "during unless nightly annually the",
    "after_adverb":  # before any other word, `daily` describes that word
        "at on from between starting beginning in until till except and @ during every to please then - "
        "starts noon midnight",
    "changing_after":  # changes the timing before it
        "or except excluding unless until till til but before after ago ish during starting beginning within "
        "times percent of not even odd instead onwards onward past through apart besides without skipping "
        "skip excepting barring minus excluded excepted omitted skipped between hundred thereabouts latest "
        "earliest max min maximum minimum + / % * ± ~ '",
    "condition":  # changes the timing before it, or begins a condition that belongs to the task
        "while whenever if when as depending provided plus",
    "stretch": "rest next whole entire following coming remainder duration",  # `for the rest of`
    # between the parts of one timing, or around it
    "connector": ", and ; ( ) - : once only just",
    "polite": "please hi hey hello ok okay hermes can could would will you and then , : ; . ! - so",
    # about when, but not understood
    "again":  # asks for more than one run
        "every each daily weekly monthly hourly yearly nightly annually quarterly fortnightly regularly "
        "always repeatedly recurring recurrent usual usually constantly continuously periodically weekdays "
        "weekends mornings evenings nights afternoons everyday twice thrice alternate alternating biweekly "
        "bimonthly often frequently repeat repeats repeating",
    "holiday":  # days and times that no clock shows
        "christmas xmas easter thanksgiving halloween birthday birthdays payday holiday holidays vacation "
        "anniversary ramadan hanukkah diwali valentine valentine's nye sunrise sunset dawn dusk eclipse moon "
        "overnight daytime nighttime midweek solstice equinox spring summer autumn winter semester term eve",
    "unknown_day": "full new leap public bank school other few couple so now single",  # after `every`
    "week": "week weeks fortnight fortnights",
}
# fmt: on

WORDS: dict[str, frozenset[str]] = {name: word_set(words) for name, words in _SETS.items()}
"""Groups of words by their effect on a timing; patterns name them as `<limit>`."""

WORDS["tie"] = WORDS["owner"] | word_set("that next coming of a an 's")
WORDS["leading"] = WORDS["choosing"] | word_set("the a an on in at during throughout through over within")
WORDS["day_name"] = word_set("mwf mw tth tuth mtwtf mtwthf tomorrow tonight noon midnight")
WORDS["day_name"] |= word_set("weekday weekdays workday workdays weekend weekends")
WORDS["day_name"] |= FULL_DAYS.keys() | PLURAL_DAYS.keys() | PARTS.keys() | PLURAL_PARTS.keys()
WORDS["short_name"] = frozenset(SHORT_DAYS.keys() | MONTH_NUMBERS.keys())
WORDS["time_word"] = WORDS["day_name"] | word_set("day hour today yesterday quarter fortnight date hr hrs")
WORDS["time_word"] |= {word for word in UNITS if len(word) > 3 and word != "second"}
WORDS["dated"] = WORDS["holiday"] | WORDS["time_word"] | MONTH_NUMBERS.keys()
WORDS["stretching"] = WORDS["day_name"] | WORDS["week"] | word_set("day month year")
WORDS["counting"] = frozenset(NUMBERS) - {"first", "second", "third", "last"}
WORDS["any_unit"] = frozenset(UNITS)
