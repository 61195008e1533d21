"""Timings: four kinds of values, their canonical text, and the next due time."""

from schedules.timing.canonical import Unreadable, read, written
from schedules.timing.cron import as_cron
from schedules.timing.due import next_due, upcoming
from schedules.timing.values import (
    At,
    Calendar,
    Cron,
    Daily,
    Days,
    Every,
    Interval,
    Kind,
    MonthDays,
    MonthWeekdays,
    Once,
    Times,
    Timing,
    Weekly,
    kind_of,
)
