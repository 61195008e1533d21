"""The parts of a sentence's timing as typed values, before they are resolved."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import msgspec

from schedules.phrases.clock_times import Reading
from schedules.phrases.outcome import contradictory
from schedules.phrases.vocabulary import SECONDS, DayPart, Unit


class Length(NamedTuple):
    """So many of a unit; where several units were added up, of seconds."""

    number: Fraction
    unit: Unit

    @property
    def is_small(self) -> bool:
        """Whether it is given in hours or less."""
        return self.unit in {"second", "minute", "hour"}

    @property
    def seconds(self) -> Fraction:
        """The same in seconds. Raises `KeyError` for months and years, whose lengths differ."""
        return self.number * SECONDS[self.unit]


class TimeWindow(NamedTuple):
    """`between 9 and 17`."""

    first: Reading
    last: Reading


class PastHour(NamedTuple):
    """`on the hour`, `at :15 and :45`: minutes of each hour. `every_hour` where the words say so."""

    minutes: tuple[int, ...]
    every_hour: bool = False


class Part(NamedTuple):
    """`in the morning`, `mornings`. `repeats` where it is every one of them."""

    name: DayPart
    repeats: bool = False


class Weekdays(NamedTuple):
    """`every Monday`, `weekdays`, `on Friday`. `repeats`: whether each one is meant; None if that is open.

    `every`: of every so many weeks, where the words say so (`every other Monday`).
    """

    weekdays: frozenset[int]
    repeats: bool | None
    every: int = 1


class MonthRule(NamedTuple):
    """`on the 1st`, `the last Friday`: days of a month, by number, or by ordinal where `weekdays` are named.

    `every`: of every so many months; None where the months are not named. `months`: only of these;
    `yearly` where they are meant each year.
    """

    numbers: tuple[int, ...]
    weekdays: tuple[int, ...] = ()
    every: int | None = None
    months: tuple[int, ...] = ()
    yearly: bool = False


class OnDate(NamedTuple):
    """`on December 24`, `2026-12-24`. `yearly`: every year; `weekday`: the one named beside it."""

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


OneDay: TypeAlias = OnDate | RelativeDay | ComingWeekday
Bound: TypeAlias = OneDay | Weekdays


class Starting(NamedTuple):
    """`starting tomorrow at 9`: the first day, the first time, or both; `moment` where both are exact."""

    day: Bound | None = None
    clock: Reading | None = None
    moment: datetime | None = None


class Zone(NamedTuple):
    """`Berlin time`. `plain`: it can only be a zone; else it may be a place (`in Berlin`)."""

    name: str
    plain: bool = True
    offset: float | None = None


class Vague(NamedTuple):
    """`this week`, `at lunchtime`: words that are not exact enough, and a proposal that is."""

    words: str
    proposal: str


class TimingDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The named parts of a timing. A part that was not named is None or empty.

    `ahead` is the length of `in 2 hours`, `step` that of `every 2 hours`, `runs` how many runs there are to
    be in each unit (`twice a day`); `past` are words that speak of the past.
    """

    clocks: tuple[Reading, ...] = ()
    window: TimeWindow | None = None
    past_hour: PastHour | None = None
    part: Part | None = None
    step: Length | None = None
    weekdays: Weekdays | None = None
    exception: frozenset[int] = frozenset()
    month_rule: MonthRule | None = None
    months: tuple[int, ...] = ()
    day: OneDay | None = None
    moment: datetime | None = None
    ahead: Length | None = None
    starting: Starting | None = None
    until: Bound | None = None
    zone: Zone | None = None
    runs: Length | None = None
    past: str = ""
    vague: Vague | None = None

    @property
    def named(self) -> frozenset[str]:
        """The names of the parts that were named."""
        return frozenset(name for name in self.__struct_fields__ if getattr(self, name))

    @property
    def small_step(self) -> Length | None:
        """The step, where it is given in hours or less."""
        return self.step if self.step is not None and self.step.is_small else None

    @property
    def day_step(self) -> Length | None:
        """The step, where it is given in days or more."""
        return self.step if self.step is not None and not self.step.is_small else None

    @property
    def part_name(self) -> DayPart | None:
        """The part of the day that was named."""
        return self.part.name if self.part is not None else None

    @property
    def part_repeats(self) -> bool:
        """Whether every morning, or another part of each day, was named."""
        return self.part is not None and self.part.repeats

    @property
    def is_yearly(self) -> bool:
        """Whether it names a date of every year."""
        return isinstance(self.day, OnDate) and self.day.yearly

    @property
    def names_wall(self) -> bool:
        """Whether it says something that only the wall clock or the calendar can show."""
        wall = {"window", "weekdays", "months", "past_hour", "exception", "month_rule"}
        return bool(self.named & wall) or isinstance(self.day, OnDate)

    @property
    def names_day(self) -> bool:
        """Whether it says on which day or days, or how often."""
        return bool(self.named & _OF_DAYS) or self.part_repeats

    @property
    def names_time(self) -> bool:
        """Whether it names a time of day, or how often a day."""
        started = self.starting is not None and self.starting.clock is not None
        return bool(self.named & _OF_TIMES) or self.small_step is not None or started

    @property
    def repeats(self) -> bool:
        """Whether it is due more than once."""
        weekly = self.weekdays is not None and self.weekdays.repeats is not False
        return bool(self.named & _OFTEN) or weekly or self.part_repeats or self.is_yearly


_OFTEN = frozenset(["step", "month_rule", "months", "runs", "past_hour", "window"])
_OF_DAYS = frozenset(
    ["step", "weekdays", "month_rule", "months", "day", "moment", "ahead", "runs", "past_hour"]
)
_OF_TIMES = frozenset(["clocks", "window", "past_hour", "moment", "ahead"])


def merged(drafts: Iterable[TimingDraft]) -> TimingDraft:
    """One draft of several. Raises `Refusal` where two of them differ about the same."""
    values: dict[str, Any] = {}
    for draft in drafts:
        for name in draft.named:
            value = getattr(draft, name)
            before = values.get(name, value)
            values[name] = value if before == value else _both(before, value)
    return TimingDraft(**values)


def _both(before: object, value: object) -> Part:
    """The part of the day that two mentions of it come to. Raises `Refusal`."""
    if isinstance(before, Part) and isinstance(value, Part) and before.name == value.name:
        return Part(value.name, before.repeats or value.repeats)
    raise contradictory(
        "The sentence says twice when, and not the same.",
        "Ask for one timing at a time, such as 'every weekday at 9'.",
    )
