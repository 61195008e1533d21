"""Formats skills for users and scripts: rows of a list, one skill, the entries of its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.features.replay.api import VerificationsBySubject, verifications_by_subject
from hermes_jobs.features.replay.cli.verifications import mark_of
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.features.skills.catalog import SkillEntry
from hermes_jobs.features.skills.disk import Problem
from hermes_jobs.features.skills.front_matter import NO_NEEDS, Needs
from hermes_jobs.features.skills.guard import concerns_of, verdict
from hermes_jobs.features.skills.rules.skill import MAIN_FILE, Skill, stream_of
from hermes_jobs.features.skills.tables import SkillUse, select_skill_uses
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.kernel.events.origins import Author, Evidence
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.text.scan.scanner import scan

Status = Literal["active", "hidden", "unreadable", "proposed"]


class ProposalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A write that waits for approval."""

    version: int
    action: skills_events.SkillAction
    path: str
    rules: tuple[str, ...]
    content: str
    old_string: str
    new_string: str
    author: Author
    evidence: Evidence | None

    def text(self) -> str:
        """The text that it would write."""
        if self.action == "patch":
            return f"--- before\n{self.old_string}\n+++ after\n{self.new_string}"
        return self.content


class SkillRow(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in a list. `status`: `hidden` from the agent here, with the `reason`.

    `rules` are the matching scan rules: for an installed skill on its whole text, else on its description.
    `provisional`: the mark of a review's write; empty if it is not provisional.
    """

    name: str
    category: str
    description: str
    status: Status
    reason: str
    version: str
    source: Literal["home", "external", "bundled"]
    folder: str
    files: tuple[str, ...]
    use: SkillUse
    proposals: tuple[ProposalRow, ...]
    rules: tuple[str, ...] = ()
    provisional: str = ""

    @property
    def standing(self) -> str:
        """Its status in a list: states that need attention first."""
        if self.rules or self.proposals:
            return "suspect" if self.rules else "waiting"
        if self.source == "bundled" and self.status == "active":
            return "bundled"
        return self.provisional.partition(":")[0] or self.status


class SkillDetails(SkillRow, frozen=True, kw_only=True):
    """A complete skill. `verdict` is the guard's on its current content."""

    content: str
    tags: tuple[str, ...]
    platforms: tuple[str, ...]
    requires_toolsets: tuple[str, ...]
    verdict: str
    origin: skills_events.SkillOrigin | None = None
    needs: Needs = NO_NEEDS
    lacks: Needs = NO_NEEDS

    @property
    def needs_line(self) -> str:
        """The required toolsets, variables, commands and packages, and the missing ones."""
        toolsets = f"toolsets {', '.join(self.requires_toolsets)}" if self.requires_toolsets else ""
        missing = f"(missing: {self.lacks})" if self.lacks else ""
        return " ".join(filter(None, ["; ".join(filter(None, [toolsets, str(self.needs)])), missing]))

    @property
    def installed_from(self) -> str:
        """Where it was installed from; empty if it was not."""
        return origin_line(self.origin) if self.origin is not None else ""

    def fields(self) -> list[tuple[str, str]]:
        """The fields above its text."""
        return [
            ("Skill", self.name),
            ("Category", self.category),
            ("Description", self.description),
            ("Status", self.status + (f": {self.reason}" if self.reason else "")),
            ("Learned", self.provisional),
            ("Version", self.version),
            ("Tags", ", ".join(self.tags)),
            ("Platforms", ", ".join(self.platforms)),
            ("Needs", self.needs_line),
            ("Folder", self.folder),
            ("Origin", self.installed_from),
            ("Files", ", ".join(self.files)),
            *use_fields(self.use),
            ("Guard", self.verdict),
        ]


def use_fields(use: SkillUse) -> Sequence[tuple[str, str]]:
    """The uses of a skill, the outcomes of those turns, and the last use."""
    ended = f"{use.completed} completed, {use.failed} failed, {use.cancelled} cancelled"
    return (
        ("Uses", f"{use.uses} ({ended})" if use.uses else "0"),
        ("Last used", format_time(use.last_used_at)),
    )


class WriteRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a skill's log. `undone`: the entry that undid it. `is_update`: it was an update. `by`: the
    person who asked for it, if one is named."""

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
    is_update: bool = False
    by: str = ""

    @property
    def _installed(self) -> str:
        if self.undoes is not None:
            return "all files written"
        return "updated" if self.is_update else "installed"

    def description(self) -> str:
        """The write, in words."""
        file = self.path or MAIN_FILE
        what = {
            "SkillCreated": "created",
            "SkillEdited": f"{file} written",
            "SkillPatched": f"{file} patched",
            "SkillDeleted": "deleted",
            "SkillFileWritten": f"{file} written",
            "SkillFileRemoved": f"{file} removed",
            "SkillInstalled": self._installed,
            "SkillProposed": f"proposed: {self.action.replace('_', ' ')} {file}",
            "SkillApproved": "approved",
            "SkillDenied": "denied",
        }.get(self.type, self.type)
        if self.undoes is not None:
            what += f" (undoes {self.undoes})"
        if self.undone is not None:
            what += f" (undone by {self.undone})"
        if self.proposal is not None:
            what += f" (version {self.proposal})" if self.proposal else " (what the guard refused)"
        if self.conflict:
            what += " (conflict: you and the agent changed the same lines)"
        return what


SKILLS: Resource[SkillRow] = Resource(
    (
        Column("SKILL", lambda row: row.name),
        Column("CATEGORY", lambda row: row.category, rank=3),
        Column("STATUS", lambda row: row.standing),
        Column("USES", lambda row: str(row.use.uses), rank=2, right=True),
        moment_column("LAST USED", lambda row: row.use.last_used_at, rank=1),
        Column("DESCRIPTION", lambda row: row.description or row.reason, is_main=True),
    ),
    "No skills.",
)
SKILL: Resource[SkillDetails] = Resource((), "", fields=SkillDetails.fields)
SKILL_WRITES: Resource[WriteRow] = Resource(
    (
        Column("VERSION", lambda write: str(write.version), right=True),
        moment_column("WHEN", lambda write: write.at),
        Column("BY", lambda write: write.by or write.author, rank=1),
        Column("TURN", lambda write: write.turn or "", rank=2),
        Column("WHAT", WriteRow.description, is_main=True),
    ),
    "Nothing was written.",
    by_day=True,
)


def skill_rows(application: Application) -> tuple[list[SkillRow], Sequence[Problem]]:
    """Every skill, also proposed ones, by name; and unusable folders."""
    catalog = application.skills.preview()
    entries, problems = catalog.read_entries()
    uses = application.views.read(select_skill_uses)
    verified = verifications_by_subject(application)
    rows = [_row(entry, uses.get(entry.name, SkillUse()), catalog.platform, verified) for entry in entries]
    names = {row.name for row in rows}
    rows += [_proposed(skill) for skill in catalog.proposals() if skill.name not in names]
    return sorted(rows, key=lambda row: row.name), problems


def skill_details(application: Application, name: str) -> SkillDetails:
    """One skill. Raises `Rejected`, kind `unknown_skill`."""
    catalog = application.skills.preview()
    try:
        entry = catalog.find(name)
    except Rejected:
        proposed = [skill for skill in catalog.proposals() if skill.name == name]
        if not proposed:
            raise
        row = _proposed(proposed[0])
        return SkillDetails(
            **msgspec.structs.asdict(row), content="", tags=(), platforms=(), requires_toolsets=(), verdict=""
        )
    use = application.views.read(select_skill_uses).get(entry.name, SkillUse())
    files = {MAIN_FILE: catalog.file(entry, MAIN_FILE)} if entry.skill is None else entry.skill.files
    text = entry.text
    return SkillDetails(
        **msgspec.structs.asdict(_row(entry, use, catalog.platform, verifications_by_subject(application))),
        content=entry.main,
        tags=text.tags if text else (),
        platforms=text.platforms if text else (),
        requires_toolsets=text.requires_toolsets if text else (),
        verdict=verdict(concerns_of(files)),
        origin=entry.skill.origin if entry.skill is not None else None,
        needs=text.needs if text else NO_NEEDS,
        lacks=catalog.lacking(entry),
    )


def origin_line(origin: skills_events.SkillOrigin) -> str:
    """The origin of a skill, and its pinned revision."""
    path = f", {origin.path}" if origin.path else ""
    revision = f" at {origin.revision[:12]}" if origin.revision else ""
    return f"{origin.source}{path}{revision} (sha256 {origin.digest[:12]}…)"


def skill_writes(application: Application, name: str) -> list[WriteRow]:
    """The entries of a skill's log, oldest first. Raises `Rejected`, kind `unknown_skill`."""
    stream = stream_of(application.skills.preview().past(name).name)
    recorded = application.log.read(stream)
    undone = {
        event.event.undoes: event.version
        for event in recorded
        if isinstance(event.event, skills_events.SkillWritten) and event.event.undoes is not None
    }
    rows = []
    exists = False
    for event in recorded:
        rows.append(_write(event, undone.get(event.version), is_update=exists))
        if isinstance(event.event, skills_events.SkillWritten):
            exists = not isinstance(event.event, skills_events.SkillDeleted)
    return rows


def _write(recorded: RecordedEvent, undone: int | None, *, is_update: bool) -> WriteRow:
    event = recorded.event
    evidence: Evidence | None = getattr(event, "evidence", None)
    request: skills_events.SkillRequest | None = getattr(event, "request", None)
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
        is_update=is_update and isinstance(event, skills_events.SkillInstalled),
        by=recorded.meta.by,
    )


def _row(entry: SkillEntry, use: SkillUse, platform: str, verified: VerificationsBySubject) -> SkillRow:
    reason = entry.hidden(None, platform)
    status: Status = "unreadable" if entry.text is None else "hidden" if reason else "active"
    return SkillRow(
        name=entry.name,
        category=entry.place.category,
        description=entry.text.description if entry.text else "",
        status=status,
        reason=reason,
        version=entry.text.version if entry.text else "",
        source="bundled" if entry.is_bundled else "home" if entry.skill is not None else "external",
        folder=str(entry.folder),
        files=entry.paths,
        use=use,
        proposals=_proposals(entry.skill) if entry.skill is not None else (),
        rules=_rules(entry),
        provisional=_provisional(entry, verified),
    )


def _provisional(entry: SkillEntry, verified: VerificationsBySubject) -> str:
    review = entry.skill.provisional if entry.skill is not None else ""
    return mark_of(review, verified.get(("skill", entry.name, review)))


def _rules(entry: SkillEntry) -> tuple[str, ...]:
    description = entry.text.description if entry.text else ""
    text = entry.main if entry.skill is None else description
    return tuple(dict.fromkeys(finding.rule for finding in scan(text)))


def _proposed(skill: Skill) -> SkillRow:
    """A skill that exists only as a proposal."""
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
            version=proposal.version,
            action=proposal.request.action,
            path=proposal.path,
            rules=proposal.rules,
            content=proposal.request.content,
            old_string=proposal.request.old_string,
            new_string=proposal.request.new_string,
            author=proposal.author,
            evidence=proposal.evidence,
        )
        for proposal in skill.proposals
    )
