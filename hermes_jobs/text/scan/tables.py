"""Secrets in tables: CSV, tab-separated and Markdown rows under a heading that names a secret.

Such as the file of access keys that AWS offers, or passwords exported by a browser.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from hermes_jobs.text.scan.matcher import Span

_LINE = re.compile(r"(?P<line>[^\r\n]{1,4000})")
_ESCAPED_LINE = re.compile(r'(?:\\[rn])+|(?P<line>(?:[^\\"\r\n]|\\[^rn]){1,4000})')
"""A line of a text within a JSON string."""
_COLUMN = re.compile(
    r"""(?: [\w.-]{1,20} [ _-]? ){0,3}?
    (?: passwords? | passwd | passphrase | passwort | kennwort | mot[ ]de[ ]passe | contraseña | senha
    | parola | пароль | 密码 | secret (?:[ _-]?access)? (?:[ _-]?key)?
    | (?:api|private|auth|access) [ _-]? (?:key|token) | token | otpauth | totp )
    (?: [ ] \([^()]{1,20}\) )?""",
    re.IGNORECASE | re.VERBOSE,
)
_SEPARATORS = (",", ";", "\t", "|")
_DASHES = re.compile(r"[\s|:-]+")


def secrets_of_tables(text: str) -> Iterator[Span]:
    """The fields below a heading that names a secret, to the first line with another number of fields."""
    yield from _secrets_of_lines(_LINE.finditer(text))
    if r"\n" in text:
        yield from _secrets_of_lines(_ESCAPED_LINE.finditer(text.replace(r"\t", " \t")))


def _secrets_of_lines(lines: Iterator[re.Match[str]]) -> Iterator[Span]:
    separator, width, columns = "", 0, frozenset[int]()
    for match in lines:
        line = match["line"]
        if not line:
            continue
        fields = _fields(line, separator) if width else []
        if width and len(fields) == width:
            if not _DASHES.fullmatch(line):
                yield from _secrets(line, match.start(), fields, columns)
            continue
        width = 0
        for each in _SEPARATORS if _may_be_heading(line) else ():
            names = [line[first:last].strip(" \\\"'") for first, last in _fields(line, each)]
            columns = frozenset(at for at, name in enumerate(names) if _COLUMN.fullmatch(name))
            if columns and len(names) > 1:
                separator, width = each, len(names)
                break


def _may_be_heading(line: str) -> bool:
    return len(line) <= 1_000 and any(each in line for each in _SEPARATORS)


def _secrets(line: str, start: int, fields: list[Span], columns: Collection[int]) -> Iterator[Span]:
    for at in columns:
        first, last = fields[at]
        value = line[first:last].strip(" \\\"'")
        if value:
            first += line[first:last].index(value)
            yield start + first, start + first + len(value)


def _fields(line: str, separator: str) -> list[Span]:
    """Where the fields are; a separator within double quotes does not end one."""
    spans: list[Span] = []
    start, quoted = 0, False
    for at, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            spans.append((start, at))
            start = at + 1
    spans.append((start, len(line)))
    return spans
