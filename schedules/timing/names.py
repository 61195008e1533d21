"""Names of weekdays, months and ordinals; formatting and parsing of lists of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedules.timing.values import LAST

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def joined(words: Sequence[str], link: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} {link} {last}" if most else last


def parted(text: str, link: str = "and") -> list[str]:
    """The words of a list written like that."""
    return re.split(rf", | {link} ", text)


def ordinal_number(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def ordinal_word(number: int) -> str:
    """`first` to `fifth`, `last`, and `second to last` and so on."""
    if number > 0:
        return ORDINALS[number - 1]
    return "last" if number == LAST else f"{ORDINALS[-number - 1]} to last"
