"""A server's form at a terminal, filled in field by field."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.kernel.events import InputField, InputRequest
from hermes_jobs.kernel.turns import forms
from hermes_jobs.kernel.turns.titles import printable

SKIP = "-"
"""What is typed for a field that is left as it is."""
KINDS = {
    "text": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "choice": "one of these",
    "choices": "some of these, with commas between",
}
FORMATS = {"email": "e-mail address", "uri": "address", "date": "date", "date-time": "date and time"}


class FormEntry:
    """The values so far. `field` is the next one; None at the end."""

    def __init__(self, request: InputRequest) -> None:
        self.request = request
        self._open_fields = list(request.fields)
        self._values: dict[str, Any] = {}

    @property
    def field(self) -> InputField | None:
        """The next field."""
        return self._open_fields[0] if self._open_fields else None

    def lines(self) -> list[str]:
        """The lines that ask for that field; the last one is the prompt."""
        return [] if self.field is None else [f"  {line}" for line in field_lines(self.field)]

    def take(self, text: str) -> None:
        """Fill in the field. Raises `Rejected`, and the field stays, if the text is invalid."""
        field = self._open_fields[0]
        if text.strip() in {"", SKIP}:
            default = forms.default(field)
            if default is None and field.required:
                raise Rejected(f"The field {field.name} has to be filled in.", kind="usage")
            if default is not None:
                self._values[field.name] = default
        else:
            self._values[field.name] = forms.typed(field, text)
        del self._open_fields[0]

    @property
    def content(self) -> str:
        """The filled in values as a JSON object."""
        return msgspec.json.encode(self._values).decode()


def field_lines(field: InputField) -> list[str]:
    """A field for users: its title, choices and valid input."""
    name = one_line(printable(forms.label(field)))
    about = f": {one_line(printable(field.description))}" if field.description else ""
    kind = FORMATS.get(field.format, KINDS[field.kind])
    default = forms.default(field)
    hints = [
        kind,
        limits(field),
        "required" if field.required else f"{SKIP} skips",
        "" if default is None else f"{SKIP} takes {one_line(printable(forms.shown(field, default)))}",
    ]
    if default is not None:
        hints[2] = ""
    choices = [
        f"  {number} {one_line(printable(choice.title or choice.value))}"
        for number, choice in enumerate(field.choices, 1)
    ]
    return [f"{name}{about}", *choices, f"({', '.join(filter(None, hints))}) › "]


def limits(field: InputField) -> str:
    """The limits of a value, in words; empty without limits."""
    unit = {"text": " characters", "choices": " of them"}.get(field.kind, "")
    match field.least, field.most:
        case None, None:
            return ""
        case minimum, None:
            return f"at least {minimum:g}{unit}"
        case None, maximum:
            return f"at most {maximum:g}{unit}"
        case minimum, maximum:
            return f"{minimum:g} to {maximum:g}{unit}"


def usage_of(field: InputField) -> str:
    """A field for answers by command: its name and valid values."""
    values = "|".join(choice.value for choice in field.choices) or FORMATS.get(
        field.format, KINDS[field.kind]
    )
    parts = (values, limits(field), "required" if field.required else "")
    about = field.description or field.title
    text = f"{field.name} ({', '.join(filter(None, parts))})"
    return one_line(printable(f"{text}: {about}" if about and about != field.name else text))
