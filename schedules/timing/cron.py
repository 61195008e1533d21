"""Cron expressions: parsing, error messages, and times on the wall clock.

Fields and their meaning are those of Debian's cron(8), by the package `cronsim`. It is used for wall-clock
times only: daylight saving is handled in one place for all kinds of timing.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from schedules.timing.names import MONTHS, WEEKDAYS
from schedules.timing.values import Cron

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
NAMES = (
    frozenset[str](),
    frozenset[str](),
    frozenset(["L", "LW"]),
    frozenset(month[:3].upper() for month in MONTHS),
    frozenset(day[:3].upper() for day in WEEKDAYS),
)

_SOMEWHERE = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall clock's
_LONE = re.compile(r"\b(\w+)-\1/\d+")
"""A range of one value with a step: cron reads that value only, `cronsim` also all that follow it."""

_ITEM = re.compile(r"(?:\*|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:/(\d+))?")


class BadCron(ValueError):
    """The text is not a cron expression; the message names the wrong part and its permitted values."""


def as_cron(text: str) -> Cron:
    """The expression with macros expanded, and spaces and names normalised. Raises `BadCron`."""
    stripped = text.strip()
    if stripped.startswith("@"):
        return Cron(_macro(stripped.lower()))
    fields = stripped.upper().split()
    if len(fields) != len(FIELDS):
        raise BadCron(
            f"A cron expression has five fields ({', '.join(FIELDS)}), "
            f"this one has {len(fields)}: {stripped!r}."
        )
    for number, field in enumerate(fields):
        for item in field.split(","):
            _check_item(number, item)
    expression = _LONE.sub(r"\1", " ".join(fields))
    try:
        next_time = next(CronSim(expression, _SOMEWHERE), None)
    except CronSimError as error:
        raise BadCron(f"{stripped!r} is not a cron expression that can ever be due ({error}).") from error
    if next_time is None:
        raise BadCron(f"{stripped!r} is never due: no month has such a day.")
    return Cron(expression)


def after_wall(cron: Cron, wall: datetime) -> datetime | None:
    """The first matching wall-clock time after `wall`, both without a zone; None where there is none."""
    return next(CronSim(cron.expression, wall), None)


@lru_cache(maxsize=256)
def runs_each_hour(cron: Cron) -> bool:
    """Whether it matches in every hour of a day."""
    return len(CronSim(cron.expression, _SOMEWHERE).hours) == 24


def _macro(name: str) -> str:
    if name not in MACROS:
        raise BadCron(f"{name!r} is not known; {', '.join(MACROS)} are.")
    return MACROS[name]


def _check_item(number: int, item: str) -> None:
    """Reject what cron rejects, and valid but unintended forms, with a message that names the field."""
    name, (low, high) = FIELDS[number], RANGES[number]
    if number == 4 and re.fullmatch(r"(?:[0-7]|[A-Z]{3})#[1-5]|[0-7]L", item):
        return
    matched = _ITEM.fullmatch(item)
    if matched is None:
        raise BadCron(f"The field {name} cannot be {item!r}.")
    for value in matched.group(1, 2):
        if value is None or value in NAMES[number]:
            continue
        if not value.isdigit() or not low <= int(value) <= high:
            raise BadCron(f"The field {name} goes from {low} to {high} and cannot be {value!r}.")
    step = matched[3]
    if step is not None and not 1 <= int(step) <= high:
        raise BadCron(f"The field {name} cannot go in steps of {step}; it starts again after {high}.")
