"""Scripted users over weeks of sessions, with facts that must be stored, removed, or never written.

Each is a data file, `people/*.toml`: `sessions` by day, each with the texts that the user says; `facts`,
each with a question that needs it later; and what must `never` be in a memory. A text holds a fact where
each of the fact's `words` (regular expressions, case ignored) occurs in it. `saves` are the calls of the
memory tool that an attentive model makes at that text: scripted models make them, real ones decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Literal

import msgspec

from hermes_jobs.features.memory.rules.writes import Operation
from hermes_jobs.system.struct_types import described

FOLDER = "people"


class ScriptedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One text of the user, and the writes of an ideal model."""

    says: str
    saves: tuple[Operation, ...] = ()


class Meeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session, `day` days after the first one."""

    day: int
    turns: tuple[ScriptedText, ...]


class ExpectedFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that must be stored. `stale` is its previous value, which must be removed; `answer` is part of
    a right answer to `question`."""

    name: str
    kind: Literal["identity", "preference", "correction", "change of mind", "contradiction", "long tail"]
    words: tuple[str, ...]
    question: str
    answer: tuple[str, ...]
    stale: tuple[str, ...] = ()


class ForbiddenText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that must never be in a memory."""

    name: str
    kind: Literal["noise", "misread", "secret", "injection"]
    words: tuple[str, ...]


class ScriptedPerson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One person's weeks."""

    language: str
    sessions: tuple[Meeting, ...]
    facts: tuple[ExpectedFact, ...]
    never: tuple[ForbiddenText, ...] = ()
    name: str = ""

    @property
    def days(self) -> int:
        """From the first session to the last."""
        return self.sessions[-1].day

    @property
    def texts(self) -> tuple[ScriptedText, ...]:
        """All texts of the user, in order."""
        return tuple(text for meeting in self.sessions for text in meeting.turns)


def people() -> tuple[ScriptedPerson, ...]:
    """The bundled users, by name."""
    folder = resources.files(__package__).joinpath(FOLDER)
    files = sorted(
        (traversable for traversable in folder.iterdir() if traversable.name.endswith(".toml")),
        key=lambda f: f.name,
    )
    return tuple(
        msgspec.structs.replace(
            msgspec.toml.decode(file.read_text("utf-8"), type=described(ScriptedPerson)),
            name=file.name.removesuffix(".toml"),
        )
        for file in files
    )


def holds(text: str, words: Sequence[str]) -> bool:
    """Whether each of the expressions occurs in the text."""
    return all(re.search(word, text, re.IGNORECASE | re.DOTALL) for word in words)


def is_held(texts: Iterable[str], words: Sequence[str]) -> bool:
    """Whether one of the texts holds them all."""
    return bool(words) and any(holds(text, words) for text in texts)
