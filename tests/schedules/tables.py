"""The tables of sentences: what people write, and what it means or why it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from schedules.phrases import Reason, Refused, Understood, parse

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 11, 18, 10, 0, tzinfo=ZoneInfo(BERLIN))
"""The moment that the tables speak of, a Wednesday."""

FOLDER = Path(__file__).parent


class Meaning(msgspec.Struct, frozen=True):
    """A sentence, the canonical timing, the task (null: none) and the zone."""

    sentence: str
    canonical: str
    task: str | None
    zone: str


def understood() -> list[Meaning]:
    """The sentences that become a schedule."""
    return [Meaning(row[0], row[1], row[2] or None, row[3] or BERLIN) for row in _rows("understood.txt")]


def bare() -> list[Meaning]:
    """Those of them that are a timing alone, in words."""
    return [
        each
        for each in understood()
        if each.task is None and each.sentence[0] != "@" and "*" not in each.sentence
    ]


def refused() -> list[tuple[str, Reason]]:
    """The sentences that do not, and the kind of the refusal."""
    return [(row[0], msgspec.convert(row[1], Reason)) for row in _rows("refused.txt")]


def read(sentence: str) -> Understood | Refused:
    """What the rules make of the sentence at that moment."""
    return parse(sentence, NOW, BERLIN)


def _rows(name: str) -> Iterator[list[str]]:
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            columns = [column.strip() for column in re.split(r" \|(?= |$)", line)]
            yield [*columns, "", "", ""][:4]
