"""Events of a stream `skill-NAME`: the files of one skill, each with its content after the write.

Every write is one event, so that each can be undone separately. `undoes` is the version of the write that an
event reverts; a hand edit is a user's change of the files in the home. `provisional`: a review wrote it, and
its verification has to show whether it helps.

And of a stream `curation-REVIEW`: a curator's proposals for skills, and their application. `number` counts
the proposals of a review from 1; a proposal is valid for these versions of its skills only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.origins import Author, Evidence

SkillAction = Literal["create", "edit", "patch", "delete", "write_file", "remove_file"]


class SkillFile(msgspec.Struct, frozen=True):
    """A file's content; in `base64` where it is not text."""

    content: str
    base64: bool = False


class SkillRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested write to a skill. `path` empty: SKILL.md."""

    action: SkillAction
    content: str = ""
    category: str | None = None
    path: str = ""
    old_string: str = ""
    new_string: str = ""
    replace_all: bool = False


class SkillOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill came from: `source` as it was named, `path` of its folder there ("" for the top), the
    `revision` of a git repository, and the SHA-256 of its files as installed.
    """

    source: str
    digest: str
    path: str = ""
    revision: str = ""


class SkillCreated(Event, frozen=True, kw_only=True):
    """A new skill; `content` is its whole SKILL.md, `category` the folder above its own ("" for none).

    `files`: its support files, by path.
    """

    name: str
    content: str
    author: Author
    category: str = ""
    files: Mapping[str, SkillFile] = {}
    evidence: Evidence | None = None
    undoes: int | None = None
    provisional: bool = False


class SkillEdited(Event, frozen=True, kw_only=True):
    """SKILL.md was replaced as a whole. `category`: the skill's new folder; None: unchanged.

    `conflict`: a hand edit of lines that the agent had changed, too; both versions are kept in the text.
    """

    name: str
    content: str
    author: Author
    category: str | None = None
    evidence: Evidence | None = None
    undoes: int | None = None
    conflict: bool = False
    provisional: bool = False


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
    provisional: bool = False


class SkillDeleted(Event, frozen=True, kw_only=True):
    """The skill and all its files were deleted."""

    name: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillFileWritten(Event, frozen=True, kw_only=True):
    """A support file was written as a whole; in `base64` where it is not text.

    `conflict`: a hand edit of lines that the agent had changed, too; both versions are kept in the text.
    """

    name: str
    path: str
    content: str
    author: Author
    base64: bool = False
    evidence: Evidence | None = None
    undoes: int | None = None
    conflict: bool = False
    provisional: bool = False


class SkillFileRemoved(Event, frozen=True, kw_only=True):
    """A support file was removed."""

    name: str
    path: str
    author: Author
    evidence: Evidence | None = None
    undoes: int | None = None


class SkillInstalled(Event, frozen=True, kw_only=True):
    """All files of a skill at once, SKILL.md among them: as they came from `origin`, or, where `undoes` is
    set, as they were before. `rules`: what the guard found in them and a person accepted.
    """

    name: str
    files: Mapping[str, SkillFile]
    author: Author
    category: str = ""
    origin: SkillOrigin | None = None
    rules: tuple[str, ...] = ()
    undoes: int | None = None


class SkillProposed(Event, frozen=True, kw_only=True):
    """A write that needs a user's approval because `rules` of the guard match it."""

    name: str
    request: SkillRequest
    rules: tuple[str, ...]
    author: Author
    evidence: Evidence | None = None


class SkillApproved(Event, frozen=True, kw_only=True):
    """A user approved the write that was proposed as that version; the write follows in the same append.

    `proposal` 0: the write had been refused, not proposed; `rules` are then the guard's findings.
    """

    name: str
    proposal: int
    by: str
    rules: tuple[str, ...] = ()


class SkillDenied(Event, frozen=True, kw_only=True):
    """A user denied the write that was proposed as that version."""

    name: str
    proposal: int
    by: str


SkillWritten = (
    SkillCreated
    | SkillEdited
    | SkillPatched
    | SkillDeleted
    | SkillFileWritten
    | SkillFileRemoved
    | SkillInstalled
)
SkillEvent = SkillWritten | SkillProposed | SkillApproved | SkillDenied


class MergeProposed(Event, frozen=True, kw_only=True):
    """Proposes to merge `skills` into `into`, whose SKILL.md is then `content`; `into` may exist or be new.

    `category`: the folder of a new skill; None: the top folder, or the current one of an existing skill.
    """

    review: str
    number: int
    into: str
    skills: tuple[str, ...]
    content: str
    reason: str
    versions: Mapping[str, int]
    evidence: Evidence
    category: str | None = None


class ArchiveProposed(Event, frozen=True, kw_only=True):
    """Proposes to archive the skill: its files stay stored, and it is not offered to the model."""

    review: str
    number: int
    skill: str
    reason: str
    version: int
    evidence: Evidence


class ProposalApplied(Event, frozen=True, kw_only=True):
    """A user applied the proposal; the writes to its skills are in the same append."""

    review: str
    number: int
    by: str


CurationEvent = MergeProposed | ArchiveProposed | ProposalApplied
StreamEvents = SkillEvent | CurationEvent
