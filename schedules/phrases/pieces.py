"""What a sentence can say about when, piece by piece, before the pieces are put together."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from schedules.phrases.clocks import DayPart, Reading
from schedules.phrases.durations import SECONDS, Unit


class Clocks(NamedTuple):
    """`at 9`, `9am and 5pm`."""

    readings: tuple[Reading, ...]


class Window(NamedTuple):
    """`between 9 and 17`."""

    first: Reading
    last: Reading


class PastHour(NamedTuple):
    """`on the hour`, `at :15 and :45`: minutes of each hour. `every_hour` where it says so itself."""

    minutes: tuple[int, ...]
    every_hour: bool


class Part(NamedTuple):
    """`in the morning`, `mornings`. `repeats` where it is every one of them."""

    name: DayPart
    repeats: bool


class Step(NamedTuple):
    """`every 30 minutes`, `every other day`, `weekly`."""

    number: Fraction
    unit: Unit

    @property
    def is_small(self) -> bool:
        """Whether it is told in hours or less."""
        return self.unit in {"second", "minute", "hour"}

    @property
    def seconds(self) -> Fraction:
        """The same in seconds, up to weeks: months and years differ."""
        return self.number * SECONDS[self.unit]


class Weekdays(NamedTuple):
    """`every Monday`, `weekdays`, `on Friday`. `repeats`: whether each one is meant; null if that is open.

    `every`: of every so many weeks, where it says so itself (`every other Monday`).
    """

    weekdays: frozenset[int]
    repeats: bool | None
    every: int = 1


class Except(NamedTuple):
    """`except Sundays`."""

    weekdays: frozenset[int]


class MonthRule(NamedTuple):
    """`on the 1st`, `the last Friday`: days of a month, by number, or by ordinal where `weekdays` are named.

    `every`: of every so many months; null where it does not say of which month. `months`: only of these;
    `yearly` where it is said that they are meant each year.
    """

    numbers: tuple[int, ...]
    weekdays: tuple[int, ...] = ()
    every: int | None = None
    months: tuple[int, ...] = ()
    yearly: bool = False


class Months(NamedTuple):
    """`in June and July`."""

    months: tuple[int, ...]


class OnDate(NamedTuple):
    """`on December 24`, `2026-12-24`. `yearly`: every year; `weekday`: which it is said to be."""

    month: int
    day: int
    year: int | None = None
    yearly: bool = False
    weekday: int | None = None


class RelativeDay(NamedTuple):
    """`today`, `tomorrow`: so many days from today."""

    days: int
    word: str


class ComingWeekday(NamedTuple):
    """`this Friday`, `next Friday`, `coming Friday`, `Friday next week`; `which` is that word."""

    weekday: int
    which: str


class Moment(NamedTuple):
    """`2026-12-24T18:00+01:00`; without an offset it is read in the zone."""

    at: datetime


class Ahead(NamedTuple):
    """`in 2 hours`."""

    number: Fraction
    unit: Unit


class Starting(NamedTuple):
    """`starting tomorrow at 9`: the first day, the first time, or both. `moment` where it is told exactly."""

    day: DayPiece | None = None
    clock: Reading | None = None
    moment: datetime | None = None


class Until(NamedTuple):
    """`until December 24`: the last day."""

    day: DayPiece


class Zone(NamedTuple):
    """`Berlin time`. `plain`: it does say that it is a zone; else it may be a place (`in Berlin`)."""

    name: str
    plain: bool = True
    offset: float | None = None


class Times(NamedTuple):
    """`twice a day`: how many times there have to be in each unit."""

    number: int
    unit: Unit


class Past(NamedTuple):
    """`yesterday`, `2 hours ago`: nothing can be due then."""

    words: str


class Vague(NamedTuple):
    """`this week`, `at lunchtime`: it says when, but not exactly enough. `proposal`: what would be."""

    words: str
    proposal: str


DayPiece: TypeAlias = OnDate | RelativeDay | ComingWeekday | Weekdays
Piece: TypeAlias = (
    Clocks
    | Window
    | PastHour
    | Part
    | Step
    | Weekdays
    | Except
    | MonthRule
    | Months
    | OnDate
    | RelativeDay
    | ComingWeekday
    | Moment
    | Ahead
    | Starting
    | Until
    | Zone
    | Times
    | Past
    | Vague
)


class Found(NamedTuple):
    """The pieces that some words are, and the place behind them.

    `firm`: the words can hardly be anything else; others (`Monday`, `9:30`) may belong to the task.
    """

    pieces: tuple[Piece, ...]
    end: int
    firm: bool = True
