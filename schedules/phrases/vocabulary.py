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
GROUPS = word_set("weekday weekdays workday workdays weekend weekends")
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

# -- words that lead to a time, or follow one

ABOUT = word_set("about around approximately roughly circa approx nearly almost")
REMINDERS = word_set("reminder alarm timer task job alert it them me this that run")
"""Words that may stand before `for` and a time."""

GOVERNORS = word_set(
    "the a an my our your his her their its of for about since than before after by until till due from "
    "with last past previous around approximately roughly within over per as re regarding 's this"
)
"""Words that make the time after them a part of the task: `the 9am standup`, `news of today`."""

HAPPENED = word_set("happened did done changed arrived learned new due")
"""Words after which `today` belongs to the task: `what happened today`."""

EVENTS = word_set(
    "meeting call appointment standup stand-up event flight train bus lunch dinner breakfast deadline "
    "class lesson interview session concert game match show party exam lecture webinar demo review retro "
    "sync reservation booking visit conference workshop dentist doctor ceremony wedding"
)
"""Things that have a time of their own."""

AFTER_HOUR = word_set(
    "thanks thank cheers and on every each to in from for starting until till please sharp exactly daily "
    "weekly monthly yearly local then tomorrow today tonight this next with about via using by if when "
    "whether because so that which but as into onto over under without after before o'clock or of "
    "weekdays weekends mornings evenings except utc gmt between beginning once at also i time only not "
    "during unless nightly annually the"
)
"""Words that can follow a bare hour; before any other word the number may count what the word names."""

ADVERB_OWNERS = word_set(
    "the a an my our your his her their its this that these those some any no last past previous 's"
)
"""Words before an adverb such as `daily` that make it describe a thing: `the daily report`."""

AFTER_ADVERB = word_set(
    "at on from between starting beginning in until till except and @ during every to please then - "
    "starts noon midnight"
)
"""Words after which an adverb such as `daily` is a timing; before any other word it describes that word."""

CONNECTORS = word_set(", and ; ( ) - : once only just")
"""Words that may stand between the parts of one timing."""

POLITE = word_set("please hi hey hello ok okay hermes can could would will you and then , : ; . ! - so")
SENTENCE_MARKS = word_set(": . ! ?")

# -- words that change a timing, or speak of one that is not understood

CHANGING_BEFORE = word_set(
    "not never no except excluding unless until till before after by since from around about "
    "approximately roughly circa nearly almost or than but within between during starting beginning "
    "ending past minus plus half even odd some any most few several other alternate alternating first "
    "second third fourth fifth last next previous quarter black cyber ash palm easter super shrove least "
    "maybe perhaps possibly probably sometimes usually often again each every what which whichever"
)
"""Words that change the timing after them."""

CHANGING_AFTER = word_set(
    "or except excluding unless until till til but before after ago ish during starting beginning within "
    "times percent of not even odd instead onwards onward past through apart besides without skipping "
    "skip excepting barring minus excluded excepted omitted skipped between hundred thereabouts latest "
    "earliest max min maximum minimum + / % * ± ~ '"
)
"""Words that change the timing before them."""

CONDITIONS = word_set("while whenever if when as depending provided plus")
"""Words that change the timing before them, or begin a condition that belongs to the task."""

LIMITS = word_set("before after by until till since from around about approximately roughly within than over")
"""Words that make a limit of the time after them."""

AGAIN = word_set(
    "every each daily weekly monthly hourly yearly nightly annually quarterly fortnightly regularly "
    "always repeatedly recurring recurrent usual usually constantly continuously periodically weekdays "
    "weekends mornings evenings nights afternoons everyday twice thrice alternate alternating biweekly "
    "bimonthly often frequently repeat repeats repeating"
)
"""Words that ask for more than one run."""

HOLIDAYS = word_set(
    "christmas xmas easter thanksgiving halloween birthday birthdays payday holiday holidays vacation "
    "anniversary ramadan hanukkah diwali valentine valentine's nye sunrise sunset dawn dusk eclipse moon "
    "overnight daytime nighttime midweek solstice equinox spring summer autumn winter semester term eve"
)
"""Days and times that no clock shows."""

STATING = word_set(
    "is are was were be been being am runs ran happens happened starts started begins began opens closes "
    "occurs occurred arrives arrived leaves meets works worked comes came goes went fires airs ends means "
    "meant lasts wakes woke sleeps slept rings"
)
"""Verbs whose time is that of a fact, not of a task."""

TELLING = word_set("say tell me us show give print read write down out log report announce post send")
"""Words before `the time` where the time itself is asked for."""

STRETCHES = word_set("rest next whole entire following coming remainder duration")
"""Words after `for the` that say how long."""

UNKNOWN_DAYS = word_set("full new leap public bank school other few couple so now single")
"""Words after `every` that say when in a way that is not understood."""

OWNERS = word_set("the my our your his her their its this last past previous")
"""Words that make a thing of the time after them: `my day`, `the last 24 hours`."""

TIES = OWNERS | word_set("that next coming of a an 's")

ABBREVIATED = word_set("mwf mw tth tuth mtwtf mtwthf")
"""Weekdays by their letters, as in timetables."""

DAY_NAMES = ABBREVIATED | word_set("tomorrow tonight noon midnight")
DAY_NAMES |= GROUPS | FULL_DAYS.keys() | PLURAL_DAYS.keys() | PARTS.keys() | PLURAL_PARTS.keys()
SHORT_NAMES = frozenset(SHORT_DAYS.keys() | MONTH_NUMBERS.keys())
"""Names of days and months that may be other words too."""

TIME_WORDS = DAY_NAMES | frozenset(word for word in UNITS if len(word) > 3 and word != "second")
TIME_WORDS |= word_set("day hour today yesterday quarter fortnight date hr hrs")
DATED = HOLIDAYS | TIME_WORDS | frozenset(MONTH_NUMBERS)
WEEKS = word_set("week weeks fortnight fortnights")
STRETCHING = DAY_NAMES | WEEKS | word_set("day month year")
RELATING = word_set("of before after following")
"""Words after a day that tell it from something else: `the day before the deadline`."""

CHOOSING = word_set("all most some any")
"""Words before a day that leave open which: `most weekdays`."""

LEADING = CHOOSING | word_set("the a an on in at during throughout through over within")
"""What `during the week` begins with. Except for `the`, none of them ties a time to the words before it."""

FEW = word_set("few several many some more")
COUNTING = frozenset(NUMBERS) - {"first", "second", "third", "last"}
"""Numbers in words; the low ordinals are left to `first do this`."""

VAGUE_TIMES = {
    "lunchtime": "12:00", "lunch": "12:00", "dawn": "6:00", "sunrise": "6:00", "breakfast": "8:00",
    "dusk": "18:00", "sunset": "18:00", "dinner": "19:00", "bedtime": "22:00",
}  # fmt: skip
"""Times that differ from person to person, each with a time to propose."""
