"""The pieces of one timing, each in its place; two that want the same place exclude each other."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from schedules.phrases.clocks import DayPart
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import (
    Ahead,
    Clocks,
    ComingWeekday,
    Except,
    Moment,
    MonthRule,
    Months,
    OnDate,
    Part,
    Past,
    PastHour,
    Piece,
    RelativeDay,
    Starting,
    Step,
    Times,
    Until,
    Vague,
    Weekdays,
    Window,
    Zone,
)


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What was said about when, before it is decided what that comes to."""

    clocks: Clocks | None = None
    window: Window | None = None
    past_hour: PastHour | None = None
    part: Part | None = None
    step: Step | None = None
    weekdays: Weekdays | None = None
    exception: Except | None = None
    month_rule: MonthRule | None = None
    months: Months | None = None
    date: OnDate | None = None
    relative: RelativeDay | None = None
    coming: ComingWeekday | None = None
    moment: Moment | None = None
    ahead: Ahead | None = None
    starting: Starting | None = None
    until: Until | None = None
    zone: Zone | None = None
    times: Times | None = None
    past: Past | None = None
    vague: Vague | None = None

    @property
    def small_step(self) -> Step | None:
        """The step, where it is told in hours or less."""
        return self.step if self.step is not None and self.step.is_small else None

    @property
    def day_step(self) -> Step | None:
        """The step, where it is told in days or more."""
        return self.step if self.step is not None and not self.step.is_small else None

    @property
    def part_name(self) -> DayPart | None:
        """The part of the day that was named."""
        return self.part.name if self.part is not None else None

    @property
    def names_wall(self) -> bool:
        """Whether it says something that only the wall clock or the calendar can show."""
        told = (self.window, self.weekdays, self.months, self.past_hour, self.exception, self.month_rule)
        return any(told) or self.date is not None

    @property
    def names_day(self) -> bool:
        """Whether it says on which day or days, or how often."""
        told = (
            self.step, self.weekdays, self.month_rule, self.months, self.date, self.relative, self.coming,
            self.moment, self.ahead, self.times,
        )  # fmt: skip
        return any(told) or (self.part is not None and self.part.repeats) or self.past_hour is not None

    @property
    def names_time(self) -> bool:
        """Whether it says at what time, or how often a day."""
        small = self.small_step is not None
        told = (self.clocks, self.window, self.past_hour, self.moment, self.ahead)
        return small or any(told) or (self.starting is not None and self.starting.clock is not None)

    @property
    def repeats(self) -> bool:
        """Whether it is due more than once."""
        often = (self.step, self.month_rule, self.months, self.times, self.past_hour, self.window)
        return (
            any(often)
            or (self.weekdays is not None and self.weekdays.repeats is not False)
            or (self.part is not None and self.part.repeats)
            or (self.date is not None and self.date.yearly)
        )


_PLACES: dict[type, str] = {
    Clocks: "clocks",
    Window: "window",
    PastHour: "past_hour",
    Part: "part",
    Step: "step",
    Weekdays: "weekdays",
    Except: "exception",
    MonthRule: "month_rule",
    Months: "months",
    OnDate: "date",
    RelativeDay: "relative",
    ComingWeekday: "coming",
    Moment: "moment",
    Ahead: "ahead",
    Starting: "starting",
    Until: "until",
    Zone: "zone",
    Times: "times",
    Past: "past",
    Vague: "vague",
}


def drafted(pieces: Iterable[Piece]) -> Draft:
    """Each piece in its place. Raises `Refusal` where two differ about the same."""
    draft = Draft()
    for piece in pieces:
        place = _PLACES[type(piece)]
        before = getattr(draft, place)
        same = before is None or before == piece
        draft = replace(draft, **{place: piece if same else _both(before, piece)})
    return draft


def _both(before: object, piece: Piece) -> Piece:
    """The one piece that two of a kind come to. Raises `Refusal`."""
    if isinstance(before, Part) and isinstance(piece, Part) and before.name == piece.name:
        return Part(piece.name, before.repeats or piece.repeats)
    raise Refusal(
        "contradictory",
        "The sentence says twice when, and not the same.",
        "Ask for one timing at a time, such as 'every weekday at 9'.",
    )
