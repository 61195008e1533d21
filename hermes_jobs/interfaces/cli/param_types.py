"""Types of flags and arguments, beyond click's own."""

from __future__ import annotations

import math
import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.errors import Rejected

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class TextParam(click.ParamType[str]):
    """A text that is valid UTF-8: an argument may have any bytes."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            return self._decoded(value, param, ctx)
        return str(value)

    def _decoded(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Decode bytes that Python could not read in the terminal's encoding, which may be ASCII."""
        try:
            return os.fsencode(value).decode()
        except UnicodeError:
            self.fail("it is not UTF-8 text.", param, ctx)


class NonEmpty(TextParam):
    """A name. An empty one usually is an unset variable of a script, not “none”."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("it is empty.", param, ctx)
        return name


class FolderParam(TextParam):
    """A folder that exists and can be entered, as an absolute path without links."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from pathlib import Path

        text = super().convert(value, param, ctx)
        try:
            path = Path(text).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:
            self.fail(f"{text!r} cannot be read as a path: {error}.", param, ctx)
        if not text.strip() or not path.is_dir():
            self.fail(f"there is no folder {text!r}.", param, ctx)
        if not os.access(path, os.X_OK):
            self.fail(f"the folder {text!r} cannot be entered: permission denied.", param, ctx)
        return str(path)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="dir")]


class SchemaParam(TextParam):
    """A file with a JSON Schema; its value is the schema as JSON text."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from pathlib import Path

        from hermes_jobs.text.json_schema import compact, schema_fault

        text = super().convert(value, param, ctx)
        try:
            schema = Path(text).expanduser().read_bytes().decode("utf-8-sig")
        except (OSError, ValueError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.fail(f"{text!r} cannot be read: {reason}.", param, ctx)
        if fault := schema_fault(schema):
            self.fail(f"{text!r} is not a usable JSON Schema: {fault}.", param, ctx)
        return compact(schema)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


LARGEST = 2**63 - 1
"""The largest number that a database holds."""


class IntParam(click.IntRange):
    """A whole number within bounds, and within those of the database."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; what is wrong with another value is an error of usage."""
        number: int = super().convert(value, param, ctx)
        if abs(number) > LARGEST:
            self.fail(f"{number:,} is too large.", param, ctx)
        return number


class ListedParam(IntParam):
    """A number from 1 of a listing; `command` prints the listing, and errors name it."""

    def __init__(self, command: str) -> None:
        super().__init__(min=1)
        self.command = command

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number: int = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a number from `{self.command}`.", param, ctx)
        return number


class FloatParam(click.FloatRange):
    """A number of at least 0, and no `nan` or `inf`."""

    name = "number"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        amount: float = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value} is not an amount.", param, ctx)
        return amount


class DurationParam(click.ParamType[float]):
    """A duration such as `30s` or `5m`, in seconds, at most `most`, such as `1d`; `none`: the value of that
    word, where it has one."""

    name = "time"

    def __init__(self, none: float | None = None, most: str = "") -> None:
        self._none = none
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from hermes_jobs.settings.durations import DURATION, seconds_of

        text = str(value).strip()
        if self._none is not None and text == "none":
            return self._none
        if not re.fullmatch(DURATION, text):
            self.fail(f"{value!r} is not a duration such as 30s, 5m or 1h.", param, ctx)
        seconds = seconds_of(text)
        if self._most and seconds > seconds_of(self._most):
            self.fail(f"{value!r} is too long: at most {self._most}.", param, ctx)
        return seconds


class DateParam(click.ParamType[datetime]):
    """A day or a time, by default in the local zone; also in words, such as `3 days ago`."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        from hermes_jobs.interfaces.cli.moments import read_moment

        try:
            return read_moment(str(value)).at
        except Rejected as rejection:
            self.fail(f"{rejection.message}\n{rejection.hint}", param, ctx)
