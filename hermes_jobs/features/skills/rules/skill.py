"""The state of one skill: its files, proposals and history; folded from a stream `skill-NAME`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory.rules.memory import PERSONS
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.events import SkillFile
from hermes_jobs.kernel.events.origins import Author, Evidence

PREFIX = "skill-"
ARCHIVE = "archive"
"""The category of archived skills: stored, and not shown to the model."""
MAIN_FILE = "SKILL.md"
UNDOABLE = 50  # writes that can be undone, one after the other

Files = Mapping[str, SkillFile]


class SkillProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A write that waits for approval. `version` is that of its event, `before` the file at that time."""

    version: int
    request: skills_events.SkillRequest
    rules: tuple[str, ...]
    author: Author
    evidence: Evidence | None
    before: SkillFile | None

    @property
    def path(self) -> str:
        """The file that it is about."""
        return self.request.path or MAIN_FILE


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """The skill as it was before the write of that version."""

    version: int
    category: str
    files: Files
    origin: skills_events.SkillOrigin | None = None


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one skill's stream at `version`: its files by path. Without files it is deleted.

    `conflicts`: the versions at which the agent and a person had changed the same lines. `persons`: the files
    that a person wrote last. `origin`: where it was installed from. `provisional`: the review whose write has
    to be verified; empty for none.
    """

    stream: str
    version: int = 0
    category: str = ""
    files: Files = {}
    proposals: tuple[SkillProposal, ...] = ()
    past: tuple[Past, ...] = ()
    conflicts: tuple[int, ...] = ()
    persons: frozenset[str] = frozenset()
    origin: skills_events.SkillOrigin | None = None
    provisional: str = ""

    @property
    def name(self) -> str:
        """The skill's name, which is its folder's."""
        return self.stream.removeprefix(PREFIX)

    @property
    def exists(self) -> bool:
        """Whether it was created, and not deleted since."""
        return MAIN_FILE in self.files

    @property
    def is_archived(self) -> bool:
        """Whether it is archived."""
        return self.exists and self.category == ARCHIVE

    @property
    def main(self) -> str:
        """The text of SKILL.md; empty if the skill does not exist."""
        return self.files[MAIN_FILE].content if self.exists else ""


def stream_of(name: str) -> str:
    """The stream of the skill with that name."""
    return f"{PREFIX}{name}"


def history(stream: str, events: Iterable[skills_events.SkillEvent]) -> tuple[Skill, ...]:
    """The skill as it was at each version, from version 0 on."""
    return tuple(accumulate(events, evolve, initial=Skill(stream=stream)))


def evolve(skill: Skill, event: skills_events.SkillEvent) -> Skill:
    """The skill after one more event."""
    version = skill.version + 1
    match event:
        case skills_events.SkillProposed():
            proposals = (*_proposals_without(skill, path=event.request.path), _proposal(skill, event))
            return replace(skill, version=version, proposals=proposals)
        case skills_events.SkillApproved() | skills_events.SkillDenied():
            proposals = tuple(proposal for proposal in skill.proposals if proposal.version != event.proposal)
            return replace(skill, version=version, proposals=proposals)
        case _:
            after = _written(skill, event)
            conflicts = (*skill.conflicts, version) if _is_conflict(event) else skill.conflicts
            persons = _persons(skill, after, event)
            past = _past(skill, event)
            return replace(
                after,
                version=version,
                past=past,
                conflicts=conflicts,
                persons=persons,
                provisional=_provisional(skill, event),
            )


def _provisional(skill: Skill, event: skills_events.SkillWritten) -> str:
    """The review whose write has to be verified; a write by a person accepts the skill."""
    if isinstance(
        event,
        skills_events.SkillCreated
        | skills_events.SkillEdited
        | skills_events.SkillPatched
        | skills_events.SkillFileWritten,
    ):
        if event.provisional and event.evidence is not None:
            return event.evidence.session
    elif isinstance(event, skills_events.SkillDeleted | skills_events.SkillInstalled):
        return ""
    return "" if event.author in PERSONS else skill.provisional


def _persons(before: Skill, after: Skill, event: skills_events.SkillWritten) -> frozenset[str]:
    changed = {path for path, file in after.files.items() if before.files.get(path) != file}
    unchanged = before.persons & after.files.keys()
    return unchanged | changed if event.author in PERSONS else unchanged - changed


def _is_conflict(event: skills_events.SkillWritten) -> bool:
    return isinstance(event, skills_events.SkillEdited | skills_events.SkillFileWritten) and event.conflict


def _proposals_without(skill: Skill, path: str) -> tuple[SkillProposal, ...]:
    """A newer proposal for a file replaces the one before."""
    return tuple(proposal for proposal in skill.proposals if proposal.path != (path or MAIN_FILE))


def _proposal(skill: Skill, event: skills_events.SkillProposed) -> SkillProposal:
    return SkillProposal(
        version=skill.version + 1,
        request=event.request,
        rules=event.rules,
        author=event.author,
        evidence=event.evidence,
        before=skill.files.get(event.request.path or MAIN_FILE),
    )


def _written(skill: Skill, event: skills_events.SkillWritten) -> Skill:
    match event:
        case skills_events.SkillCreated():
            files = {**event.files, MAIN_FILE: SkillFile(event.content)}
            return replace(skill, category=event.category, files=files)
        case skills_events.SkillEdited():
            category = skill.category if event.category is None else event.category
            return replace(skill, category=category, files=_with(skill, MAIN_FILE, SkillFile(event.content)))
        case skills_events.SkillPatched():
            return replace(skill, files=_with(skill, event.path, SkillFile(event.content)))
        case skills_events.SkillDeleted():
            return replace(skill, category="", files={}, proposals=(), origin=None)
        case skills_events.SkillFileWritten():
            file = SkillFile(event.content, base64=event.base64)
            return replace(skill, files=_with(skill, event.path, file))
        case skills_events.SkillFileRemoved():
            return replace(
                skill, files={path: file for path, file in skill.files.items() if path != event.path}
            )
        case skills_events.SkillInstalled():
            return replace(skill, category=event.category, files=event.files, origin=event.origin)
        case _:
            assert_never(event)


def _with(skill: Skill, path: str, file: SkillFile) -> Files:
    return {**skill.files, path: file}


def _past(skill: Skill, event: skills_events.SkillWritten) -> tuple[Past, ...]:
    """The writes that can be undone after the event: its own too, unless it undoes another."""
    if event.undoes is not None:
        return tuple(earlier for earlier in skill.past if earlier.version < event.undoes)
    now = Past(version=skill.version + 1, category=skill.category, files=skill.files, origin=skill.origin)
    return (*skill.past, now)[-UNDOABLE:]


def undone(skill: Skill) -> skills_events.SkillWritten:
    """The event that undoes the last write that was not undone. Raises `Rejected`."""
    if not skill.past:
        raise Rejected(
            f"There is nothing to undo in the skill {skill.name!r}.",
            kind="nothing_to_undo",
            hint=f"`hermes-jobs skills log {skill.name}` lists its versions; --to VERSION brings one back.",
        )
    return back_to(skill, skill.past[-1])


def undone_since(skill: Skill, versions: Collection[int]) -> skills_events.SkillWritten:
    """The event that undoes the writes of these versions at once. Raises `Rejected` if others have written to
    the skill since, or the writes are undone already."""
    own = [earlier for earlier in skill.past if earlier.version in versions]
    if not own or list(skill.past[-len(own) :]) != own:
        raise Rejected(
            f"The skill {skill.name!r} was changed since, or that was undone.",
            kind="skill_changed",
            hint=f"See `hermes-jobs skills log {skill.name}`.",
        )
    return back_to(skill, own[0])


def restored(skill: Skill, then: Skill) -> skills_events.SkillWritten:
    """The event that restores the skill at that version. Raises `Rejected` if nothing would change."""
    if (skill.files, skill.category, skill.origin) == (then.files, then.category, then.origin):
        raise Rejected(
            f"The skill {skill.name!r} is as it was at version {then.version}.",
            kind="nothing_to_undo",
            hint=f"See `hermes-jobs skills log {skill.name}`.",
        )
    return back_to(skill, then)


def back_to(skill: Skill, before: Past | Skill) -> skills_events.SkillWritten:
    """The event that restores the former skill. One from a `Past` undoes that write."""
    undoes = before.version if isinstance(before, Past) else None
    events = changes(skill, before.files, author="user", category=before.category, undoes=undoes)
    if MAIN_FILE not in before.files or (len(events) == 1 and skill.origin == before.origin):
        return events[0]
    return skills_events.SkillInstalled(
        name=skill.name,
        files=before.files,
        category=before.category,
        origin=before.origin,
        author="user",
        undoes=undoes,
    )


def changes(
    skill: Skill,
    files: Files,
    *,
    author: Author,
    category: str | None = None,
    undoes: int | None = None,
    conflicts: Collection[str] = (),
) -> tuple[skills_events.SkillWritten, ...]:
    """The events after which the skill has these files; none if it has them already. No files: it is deleted.
    `category` None: unchanged. `conflicts`: the files of which both sides changed the same lines.
    """
    if MAIN_FILE not in files:
        deleted = skills_events.SkillDeleted(name=skill.name, author=author, undoes=undoes)
        return (deleted,) if skill.exists else ()
    if not skill.exists:
        others = {path: file for path, file in files.items() if path != MAIN_FILE}
        content = files[MAIN_FILE].content
        return (
            skills_events.SkillCreated(
                name=skill.name,
                content=content,
                category=category or "",
                files=others,
                author=author,
                undoes=undoes,
            ),
        )
    moved = None if category in (None, skill.category) else category
    events: list[skills_events.SkillWritten] = []
    if moved is not None or skill.files[MAIN_FILE] != files[MAIN_FILE]:
        content = files[MAIN_FILE].content
        events.append(
            skills_events.SkillEdited(
                name=skill.name,
                content=content,
                category=moved,
                author=author,
                undoes=undoes,
                conflict=MAIN_FILE in conflicts,
            )
        )
    for path in sorted({*skill.files, *files} - {MAIN_FILE}):
        events.extend(_change_of(skill, path, files.get(path), author, undoes, conflict=path in conflicts))
    return tuple(events)


def _change_of(
    skill: Skill,
    path: str,
    file: SkillFile | None,
    author: Author,
    undoes: int | None,
    *,
    conflict: bool,
) -> Iterable[skills_events.SkillWritten]:
    if file == skill.files.get(path):
        return
    if file is None:
        yield skills_events.SkillFileRemoved(name=skill.name, path=path, author=author, undoes=undoes)
    else:
        yield skills_events.SkillFileWritten(
            name=skill.name,
            path=path,
            content=file.content,
            base64=file.base64,
            author=author,
            undoes=undoes,
            conflict=conflict,
        )
