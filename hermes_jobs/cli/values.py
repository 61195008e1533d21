"""What the value of a flag or an argument may be, beyond click's own types."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import click

YEARS = range(1900, 9999)  # those that every zone and every database can write


class Text(click.ParamType[str]):
    """A text that every file and database takes: an argument may hold any bytes."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail("it is not UTF-8 text.", param, ctx)
        return str(value)


class Name(Text):
    """What something is called. An empty one is a script's variable that was never set, not «none»."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("it is empty.", param, ctx)
        return name


class Amount(click.FloatRange):
    """A number of at least 0, and no `nan` or `inf`."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        amount: float = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount.", param, ctx)
        return amount


class Moment(click.DateTime):
    """A day or a moment, of whichever zone."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        moment: datetime = super().convert(value, param, ctx)
        if moment.year not in YEARS:
            self.fail(f"{value!r} is not of the years {YEARS.start} to {YEARS.stop - 1}.", param, ctx)
        return moment
