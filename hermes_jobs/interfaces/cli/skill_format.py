"""Skills as people and scripts see them: rows of a list, one whole, the entries of its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hermes_jobs.agent.skills.catalog import SkillEntry
from hermes_jobs.agent.skills.disk import Problem
from hermes_jobs.agent.skills.guard import concerns_of, verdict
from hermes_jobs.bootstrap import Application
from hermes_jobs.domain import events as e
from hermes_jobs.domain.skill.skill import MAIN_FILE, Skill, stream_of
from hermes_jobs.errors import Rejected
from hermes_jobs.eventlog.log import RecordedEvent
from hermes_jobs.interfaces.cli.output import format_short_time, format_time
from hermes_jobs.text.scan import scan
from hermes_jobs.views.skills import SkillUse

HEADERS = ("SKILL", "CATEGORY", "STATUS", "USES", "LAST USED", "DESCRIPTION")
LOG_HEADERS = ("VERSION", "WHEN", "BY", "TURN", "WHAT")

Status = Literal["active", "hidden", "unreadable", "proposed"]


class ProposalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A write that waits for a person."""

    version: int
    action: e.SkillAction
    path: str
    rules: tuple[str, ...]
    content: str
    old_string: str
    new_string: str
    author: e.Author
    evidence: e.Evidence | None

    def text(self) -> str:
        """What it would write."""
        if self.action == "patch":
            return f"--- instead of\n{self.old_string}\n+++ stands\n{self.new_string}"
        return self.content


class SkillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in a list. `status`: `hidden` from the agent here, and `reason` says why.

    `rules` are those of the scan that fit what it says: one from elsewhere as a whole, else its description.
    """

    name: str
    category: str
    description: str
    status: Status
    reason: str
    version: str
    source: Literal["home", "external"]
    folder: str
    files: tuple[str, ...]
    use: SkillUse
    proposals: tuple[ProposalRow, ...]
    rules: tuple[str, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        last = format_short_time(self.use.last_used_at) if self.use.last_used_at else ""
        status = "suspect" if self.rules else "waiting" if self.proposals else self.status
        text = self.description or self.reason
        return (self.name, self.category, status, str(self.use.uses), last, text)


class SkillDetails(SkillRow, frozen=True, kw_only=True):
    """A skill whole. `verdict` is the guard's on what it holds now."""

    content: str
    tags: tuple[str, ...]
    platforms: tuple[str, ...]
    requires_toolsets: tuple[str, ...]
    verdict: str

    def fields(self) -> list[tuple[str, str]]:
        """What stands above its text."""
        use = self.use
        ended = f"{use.completed} completed, {use.failed} failed, {use.cancelled} cancelled"
        return [
            ("Skill", self.name),
            ("Category", self.category),
            ("Description", self.description),
            ("Status", self.status + (f": {self.reason}" if self.reason else "")),
            ("Version", self.version),
            ("Tags", ", ".join(self.tags)),
            ("Platforms", ", ".join(self.platforms)),
            ("Needs", ", ".join(self.requires_toolsets)),
            ("Folder", self.folder),
            ("Files", ", ".join(self.files)),
            ("Uses", f"{use.uses} ({ended})" if use.uses else "0"),
            ("Last used", format_time(use.last_used_at)),
            ("Guard", self.verdict),
        ]


class WriteRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a skill's log. `undone`: the entry that took it back."""

    version: int
    at: str
    type: str
    action: str
    path: str
    author: str
    session: str | None
    turn: str | None
    call: str | None
    undoes: int | None
    undone: int | None
    proposal: int | None
    conflict: bool

    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        what = " ".join(each for each in (self.type, self.action, self.path) if each)
        if self.undoes is not None:
            what += f" (takes back {self.undoes})"
        if self.undone is not None:
            what += f" (taken back by {self.undone})"
        if self.proposal is not None:
            what += f" (of {self.proposal})"
        if self.conflict:
            what += " (conflict: you and the agent changed the same lines)"
        return (str(self.version), format_short_time(self.at), self.author, self.turn or "", what)


def skill_rows(application: Application) -> tuple[list[SkillRow], Sequence[Problem]]:
    """Every skill, also those that are only proposed, by name; and what lies there and is not used."""
    shelf = application.skills
    volumes, problems = shelf.volumes()
    uses = application.views.skill_uses()
    found = [_row(volume, uses.get(volume.name, SkillUse()), shelf.platform) for volume in volumes]
    known = {row.name for row in found}
    found += [_proposed(skill) for skill in shelf.proposals() if skill.name not in known]
    return sorted(found, key=lambda row: row.name), problems


def skill_details(application: Application, name: str) -> SkillDetails:
    """One skill whole. Raises `Rejected`, kind `unknown_skill`."""
    shelf = application.skills
    try:
        volume = shelf.find(name)
    except Rejected:
        proposed = [skill for skill in shelf.proposals() if skill.name == name]
        if not proposed:
            raise
        row = _proposed(proposed[0])
        return SkillDetails(
            **msgspec.structs.asdict(row), content="", tags=(), platforms=(), requires_toolsets=(), verdict=""
        )
    use = application.views.skill_uses().get(volume.name, SkillUse())
    files = {MAIN_FILE: shelf.file(volume, MAIN_FILE)} if volume.skill is None else volume.skill.files
    text = volume.text
    return SkillDetails(
        **msgspec.structs.asdict(_row(volume, use, shelf.platform)),
        content=volume.main,
        tags=text.tags if text else (),
        platforms=text.platforms if text else (),
        requires_toolsets=text.requires_toolsets if text else (),
        verdict=verdict(concerns_of(files)),
    )


def skill_writes(application: Application, name: str) -> list[WriteRow]:
    """The entries of a skill's log, oldest first. Raises `Rejected`, kind `unknown_skill`."""
    stream = stream_of(application.skills.past(name).name)
    recorded = application.log.read(stream)
    undone = {
        each.event.undoes: each.version
        for each in recorded
        if isinstance(each.event, e.SkillWritten) and each.event.undoes is not None
    }
    return [_write(each, undone.get(each.version)) for each in recorded]


def _write(recorded: RecordedEvent, undone: int | None) -> WriteRow:
    event = recorded.event
    evidence: e.Evidence | None = getattr(event, "evidence", None)
    request: e.SkillRequest | None = getattr(event, "request", None)
    path = request.path if request else getattr(event, "path", "")
    return WriteRow(
        version=recorded.version,
        at=recorded.recorded_at,
        type=recorded.type,
        action=request.action if request else "",
        path=path,
        author=str(getattr(event, "author", None) or getattr(event, "by", "")),
        session=evidence.session if evidence else None,
        turn=evidence.turn if evidence else None,
        call=evidence.call if evidence else None,
        undoes=getattr(event, "undoes", None),
        undone=undone,
        proposal=getattr(event, "proposal", None),
        conflict=getattr(event, "conflict", False),
    )


def _row(volume: SkillEntry, use: SkillUse, platform: str) -> SkillRow:
    reason = volume.hidden(None, platform)
    status: Status = "unreadable" if volume.text is None else "hidden" if reason else "active"
    return SkillRow(
        name=volume.name,
        category=volume.place.category,
        description=volume.text.description if volume.text else "",
        status=status,
        reason=reason,
        version=volume.text.version if volume.text else "",
        source="home" if volume.skill is not None else "external",
        folder=str(volume.folder),
        files=volume.paths,
        use=use,
        proposals=_proposals(volume.skill) if volume.skill is not None else (),
        rules=_rules(volume),
    )


def _rules(volume: SkillEntry) -> tuple[str, ...]:
    description = volume.text.description if volume.text else ""
    text = volume.main if volume.skill is None else description
    return tuple(dict.fromkeys(finding.rule for finding in scan(text)))


def _proposed(skill: Skill) -> SkillRow:
    """A skill that would begin with what is proposed."""
    return SkillRow(
        name=skill.name,
        category=skill.category,
        description="",
        status="proposed",
        reason="it waits for your approval",
        version="",
        source="home",
        folder="",
        files=(),
        use=SkillUse(),
        proposals=_proposals(skill),
    )


def _proposals(skill: Skill) -> tuple[ProposalRow, ...]:
    return tuple(
        ProposalRow(
            version=each.version,
            action=each.request.action,
            path=each.path,
            rules=each.rules,
            content=each.request.content,
            old_string=each.request.old_string,
            new_string=each.request.new_string,
            author=each.author,
            evidence=each.evidence,
        )
        for each in skill.proposals
    )
