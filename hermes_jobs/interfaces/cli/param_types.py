"""What the value of a flag or an argument may be, beyond click's own types."""

from __future__ import annotations

import math
import os
from datetime import datetime
from typing import Any

import click

from hermes_jobs.interfaces.cli.zones import to_local

YEARS = range(1900, 9999)  # those that every zone and every database can write


class TextParam(click.ParamType[str]):
    """A text that every file and database takes: an argument may hold any bytes."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            return self._decoded(value, param, ctx)
        return str(value)

    def _decoded(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """What Python could not read in the terminal's encoding, which may be plain ASCII."""
        try:
            return os.fsencode(value).decode()
        except UnicodeError:
            self.fail("it is not UTF-8 text.", param, ctx)


class NonEmpty(TextParam):
    """What something is called. An empty one is a script's variable that was never set, not «none»."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("it is empty.", param, ctx)
        return name


class IntParam(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class FloatParam(click.FloatRange):
    """A number of at least 0, and no `nan` or `inf`."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        amount: float = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is no amount.", param, ctx)
        return amount


class DateParam(click.ParamType[datetime]):
    """A day or a moment, of the zone here where it names none."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            moment = datetime.fromisoformat(str(value).strip())
        except ValueError:
            self.fail(f"{value!r} is no date: write 2026-11-01, or 2026-11-01 12:30.", param, ctx)
        if moment.year not in YEARS:
            self.fail(f"{value!r} is not of the years {YEARS.start} to {YEARS.stop - 1}.", param, ctx)
        return to_local(moment)
