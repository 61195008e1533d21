"""Events of a stream `skill-NAME`: the files of one skill, each as it reads after the write.

Every write is one event, so each can be undone by itself. `undoes` is the version of the write that an
event takes back; a hand edit is what a person did to the files of a home.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.memory import Author, Evidence

SkillAction = Literal["create", "edit", "patch", "delete", "write_file", "remove_file"]


class SkillFile(msgspec.Struct, frozen=True):
    """A file's content; `base64` where it is no text."""

    content: str
    base64: bool = False


class SkillRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done to a skill, as it was asked for. `path` empty: SKILL.md."""

    action: SkillAction
    content: str = ""
    category: str | None = None
    path: str = ""
    old_string: str = ""
    new_string: str = ""
    replace_all: bool = False


class SkillCreated(Event, frozen=True, kw_only=True):
    """A new skill; `content` is its whole SKILL.md, `category` the folder above its own ("" for none).

    `files`: the others that it came with, by path.
    """

    name: str
    content: str
    author: Author
    category: str = ""
    files: Mapping[str, SkillFile] = {}
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillEdited(Event, frozen=True, kw_only=True):
    """SKILL.md was written again, whole. `category`: where the skill lies from here on; None: where it lay.

    `conflict`: a hand edit of lines that the agent had changed as well; both forms are kept.
    """

    name: str
    content: str
    author: Author
    category: str | None = None
    evidence: Evidence | None = None
    undoes: int | None = None
    conflict: bool = False


class SkillPatched(Event, frozen=True, kw_only=True):
    """One passage of a file was replaced; `content` is the whole file after that."""

    name: str
    path: str
    old_string: str
    new_string: str
    content: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillDeleted(Event, frozen=True, kw_only=True):
    """The skill and all its files are gone."""

    name: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillFileWritten(Event, frozen=True, kw_only=True):
    """A support file, whole; `base64` where it is no text.

    `conflict`: a hand edit of lines that the agent had changed as well; both forms are kept.
    """

    name: str
    path: str
    content: str
    author: Author
    base64: bool = False
    evidence: Evidence | None = None
    undoes: int | None = None
    conflict: bool = False


class SkillFileRemoved(Event, frozen=True, kw_only=True):
    """A support file is gone."""

    name: str
    path: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillProposed(Event, frozen=True, kw_only=True):
    """A write that waits for a person, because the guard's `rules` fit what it brings."""

    name: str
    request: SkillRequest
    rules: tuple[str, ...]
    author: Author
    evidence: Evidence | None = None


class SkillApproved(Event, frozen=True, kw_only=True):
    """A person allowed the write that was proposed as that version; it follows in the same append.

    `proposal` 0: it had not been proposed, but refused; `rules` is then what the guard finds in it.
    """

    name: str
    proposal: int
    by: str
    rules: tuple[str, ...] = ()


class SkillDenied(Event, frozen=True, kw_only=True):
    """A person refused the write that was proposed as that version."""

    name: str
    proposal: int
    by: str


SkillWritten = SkillCreated | SkillEdited | SkillPatched | SkillDeleted | SkillFileWritten | SkillFileRemoved
SkillEvent = SkillWritten | SkillProposed | SkillApproved | SkillDenied
