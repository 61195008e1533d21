"""Words beside a timing that change it, and words that speak of time without being understood."""

from __future__ import annotations

from schedules.phrases.durations import UNITS
from schedules.phrases.numbers import CARDINALS, ORDINALS, TENS
from schedules.phrases.tokens import word_set
from schedules.phrases.words import (
    FULL_DAYS,
    GROUPS,
    MONTH_NUMBERS,
    PARTS,
    PLURAL_DAYS,
    PLURAL_PARTS,
    SHORT_DAYS,
)

CHANGING_BEFORE = word_set(
    "not never no except excluding unless until till before after by since from around about "
    "approximately roughly circa nearly almost or than but within between during starting beginning "
    "ending past minus plus half even odd some any most few several other alternate alternating first "
    "second third fourth fifth last next previous quarter black cyber ash palm easter super shrove least "
    "maybe perhaps possibly probably sometimes usually often again each every what which whichever"
)
"""Words that change the timing behind them."""

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
"""Words that make a limit of the time behind them."""

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
"""What stands before `the time`, where that is what is asked for."""

STRETCHES = word_set("rest next whole entire following coming remainder duration")
"""What stands behind `for the`, where that says how long."""

UNKNOWN_DAYS = word_set("full new leap public bank school other few couple so now single")
"""What stands behind `every`, where that says when in a way that is not understood."""

OWNERS = word_set("the my our your his her their its this last past previous")
"""Words that make a thing of the time behind them: `my day`, `the last 24 hours`."""

TIES = OWNERS | word_set("that next coming of a an 's")

ABBREVIATED = word_set("mwf mw tth tuth mtwtf mtwthf")
"""Days of the week by their letters, as timetables have them."""

DAY_NAMES = ABBREVIATED | frozenset(
    {*FULL_DAYS, *PLURAL_DAYS, *GROUPS, *PARTS, *PLURAL_PARTS, "tomorrow", "tonight", "noon", "midnight"}
)
SHORT_NAMES = frozenset({*SHORT_DAYS, *MONTH_NUMBERS})
"""Names of days and months that may be other words too."""

TIME_WORDS = DAY_NAMES | frozenset(word for word in UNITS if len(word) > 3 and word != "second")
TIME_WORDS |= word_set("day hour today yesterday quarter fortnight date hr hrs")
WEEKS = word_set("week weeks fortnight fortnights")
STRETCHING = DAY_NAMES | WEEKS | word_set("day month year")
RELATING = word_set("of before after following")
"""Behind such a word: `the day before the deadline`, `the evening of the 24th`."""

CHOOSING = word_set("all most some any")
"""And before it: `most weekdays`."""

LEADING = CHOOSING | word_set("the a an on in at during throughout through over within")
"""What `during the week` begins with. But for `the` none of them ties a time to the words before it."""

COUNTING = frozenset({*CARDINALS, *TENS, *ORDINALS}) - {"first", "second", "third"}
"""Numbers in words; the low ordinals are left to `first do this`."""
