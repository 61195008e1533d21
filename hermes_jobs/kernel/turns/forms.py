"""Forms for users: parsing the text of a field, and validating an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from math import isfinite
from typing import Any

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.events import InputField

YES, NO = frozenset({"y", "yes", "true", "1", "on"}), frozenset({"n", "no", "false", "0", "off"})
ANSWER = "answer"
"""The name of the only field of a question."""
LONGEST_TEXT = 10_000
"""Characters of a text in a form."""
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s]+")


def label(field: InputField) -> str:
    """The label of the field for users."""
    return field.title or field.name


def is_free(field: InputField) -> bool:
    """Whether any text is an answer."""
    return field.open or field.kind == "text"


def typed(field: InputField, text: str) -> Any:
    """The value of the text typed into the field. Raises `Rejected`."""
    return _fits(field, _read(field, text.strip()))


def _read(field: InputField, text: str) -> Any:
    match field.kind:
        case "text":
            return text
        case "integer" | "number":
            try:
                return int(text) if field.kind == "integer" else float(text)
            except ValueError:
                kind = "a whole number" if field.kind == "integer" else "a number"
                raise _wrong(field, f"has to be {kind}, not {text!r}") from None
        case "boolean":
            if text.lower() not in YES | NO:
                raise _wrong(field, f"is answered with yes or no, not {text!r}")
            return text.lower() in YES
        case "choice":
            return _chosen(field, text)
        case "choices":
            return _several(field, text)


def _several(field: InputField, text: str) -> list[str]:
    """The choices with commas between; a text that names none of them is one answer in other words."""
    whole = _chosen(field, text)
    if _is_offered(field, whole):
        return [whole]
    parts = _distinct(_chosen(field, part.strip()) for part in text.split(",") if part.strip())
    in_other_words = field.open and not any(_is_offered(field, part) for part in parts)
    return [text] if in_other_words and text else parts


def answered(field: InputField, answer: str | int | Sequence[str | int]) -> Any:
    """The value of a program's answer: a text, the number of a choice, or several of them.

    Raises `Rejected`.
    """
    if isinstance(answer, str | int):
        return typed(field, str(answer))
    if field.kind != "choices":
        if len(answer) == 1:
            return answered(field, answer[0])
        raise _wrong(field, f"has to be one, not {len(answer)}")
    return _fits(field, _distinct(_chosen(field, str(item).strip()) for item in answer))


def checked(fields: Sequence[InputField], content: str) -> str:
    """The validated JSON object of a form, encoded again. Raises `Rejected`, which names the field."""
    try:
        content_values = msgspec.json.decode(content or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise Rejected(f"The answer is not a JSON object: {error}.", kind="usage") from error
    by_name = {field.name: field for field in fields}
    for name in content_values:
        if name not in by_name:
            hint = f"The fields are: {', '.join(by_name)}." if by_name else "The form has no fields."
            raise Rejected(f"There is no field {name!r}.", kind="usage", hint=hint)
    for field in fields:
        if field.name not in content_values and field.required:
            raise _wrong(field, "is missing")
    values = {name: _fits(by_name[name], value) for name, value in content_values.items()}
    return msgspec.json.encode(values).decode()


def from_texts(fields: Sequence[InputField], texts: Mapping[str, str]) -> str:
    """The JSON object of a form whose fields were given as texts; a missing field has its default.

    Raises `Rejected`.
    """
    by_name = {field.name: field for field in fields}
    return filled_in(
        fields,
        {name: typed(by_name[name], text) if name in by_name else text for name, text in texts.items()},
    )


def filled_in(fields: Sequence[InputField], values: Mapping[str, Any]) -> str:
    """The JSON object of a form with these values; a missing field has its default. Raises `Rejected`."""
    defaults = {field.name: default(field) for field in fields if field.default}
    return checked(fields, msgspec.json.encode(defaults | dict(values)).decode())


def default(field: InputField) -> Any:
    """The default value of the field; None for none."""
    return msgspec.json.decode(field.default) if field.default else None


def shown(field: InputField, value: Any) -> str:
    """A value of the field for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(shown(field, item) for item in value)
    titles = {choice.value: choice.title for choice in field.choices}
    return titles.get(value) or str(value)


def _chosen(field: InputField, text: str) -> str:
    """The value that a number in the list, a value or its title refers to."""
    values = [choice.value for choice in field.choices]
    if text not in values and text.isdecimal() and 0 < int(text) <= len(values):
        return values[int(text) - 1]
    key = text.casefold()
    for choice in field.choices:
        if key in {choice.value.casefold(), (choice.title or choice.value).casefold()}:
            return choice.value
    return text


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _fits(field: InputField, value: Any) -> Any:
    """The value, if it fits the field. Raises `Rejected`."""
    match field.kind, value:
        case "text", str():
            _fits_text(field, value)
        case "integer", int() if not isinstance(value, bool):
            _within(field, value, "")
        case "number", int() | float() if not isinstance(value, bool) and isfinite(value):
            _within(field, value, "")
        case "boolean", bool():
            pass
        case "choice", str():
            value = _chosen(field, value) if field.open else value
            _offered(field, value)
        case "choices", list() if all(isinstance(item, str) for item in value):
            value = _distinct(_chosen(field, item) for item in value) if field.open else value
            for item in value:
                _offered(field, item)
            _within(field, len(value), " choices")
        case _:
            raise _wrong(
                field, f"has to be {_KINDS[field.kind]}, not {msgspec.json.encode(value).decode()[:100]}"
            )
    return value


_KINDS = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "choice": "one of its choices",
    "choices": "a list of its choices",
}


def _fits_text(field: InputField, value: str) -> None:
    if len(value) > LONGEST_TEXT:
        raise _wrong(field, f"may have {LONGEST_TEXT:,} characters")
    _within(field, len(value), " characters")
    match field.format:
        case "email" if not EMAIL.fullmatch(value):
            raise _wrong(field, f"has to be an e-mail address, not {value!r}")
        case "uri" if not URI.fullmatch(value):
            raise _wrong(field, f"has to be an address such as https://example.com, not {value!r}")
        case "date":
            _parsed(field, value, date.fromisoformat, "2026-03-14")
        case "date-time":
            _parsed(field, value, datetime.fromisoformat, "2026-03-14T15:09:26+01:00")
        case _:
            pass
    from hermes_jobs.text.scan.credentials import redact_credentials  # its rules are read from files

    if redact_credentials(f"{field.name}: {value}", "") != f"{field.name}: {value}":
        raise _wrong(
            field, "looks like a key or password; a form is no place for secrets, and nothing was recorded"
        )


def _parsed(field: InputField, value: str, parse: Any, example: str) -> None:
    try:
        parse(value)
    except ValueError:
        raise _wrong(field, f"has to be written like {example}, not {value!r}") from None


def _within(field: InputField, number: float, unit: str) -> None:
    if field.least is not None and number < field.least:
        raise _wrong(field, f"has to be at least {field.least:g}{unit}")
    if field.most is not None and number > field.most:
        raise _wrong(field, f"may be at most {field.most:g}{unit}")


def _is_offered(field: InputField, value: str) -> bool:
    return value in {choice.value for choice in field.choices}


def _offered(field: InputField, value: str) -> None:
    values = [choice.value for choice in field.choices]
    if value in values:
        return
    # Where the choices are no numbers themselves, another number is a slip and not an answer in other words.
    if field.open and (not value.isdecimal() or any(map(str.isdecimal, values))):
        _fits_text(msgspec.structs.replace(field, least=1, most=None), value)
    else:
        raise _wrong(field, f"has to be one of {', '.join(values)}, not {value!r}")


def _wrong(field: InputField, why: str) -> Rejected:
    name = "The answer" if field.name == ANSWER else f"The field {field.name}"
    return Rejected(f"{name} {why}.", kind="usage")
