"""Tools of a review of all skills: it reads skills and proposes changes for the user to decide."""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Meta

from hermes_jobs.agent.tools.tool import Tool, ToolFailed, evidence_of, shared, tool
from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.events import Evidence
from hermes_jobs.domain.session.reviews import CURATED
from hermes_jobs.engine.ports import ToolContext, ToolOutcome

Names = Annotated[tuple[str, ...], Meta(min_length=1, max_length=20)]


class Curator(Protocol):
    """Records proposals. Every method may raise `Rejected`."""

    def read(self, name: str, path: str) -> str:
        """A skill whole, or one of its files."""

    def merge(
        self,
        review: str,
        *,
        into: str,
        skills: tuple[str, ...],
        content: str,
        category: str | None,
        reason: str,
        evidence: Evidence,
    ) -> Decision:
        """The change by which a merge is proposed."""

    def archive(self, review: str, *, skill: str, reason: str, evidence: Evidence) -> Decision:
        """The change by which archiving a skill is proposed."""


def curator_tools(curator: Curator) -> tuple[Tool, ...]:
    """The tools of this curator."""
    tools = _CuratorTools(curator)
    writes = shared("/the proposals of this review")
    proposing = tool(toolset="curation", effect="idempotent", writes=writes)
    return (
        tool(toolset="curation", effect="read")(tools.skill_read),
        proposing(tools.propose_merge),
        proposing(tools.propose_archive),
    )


class _CuratorTools:
    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def skill_read(
        self,
        name: str,
        file_path: Annotated[str, "One of its files, such as references/api.md; left out: SKILL.md."] = "",
    ) -> str:
        """Read a skill, or one file of it. Read skills whole before you propose to merge them."""
        return self._curator.read(name.strip(), file_path.strip())

    def propose_merge(
        self,
        context: ToolContext,
        into: Annotated[str, "The skill that stays, or the name of a new one."],
        skills: Annotated[Names, "Those that give way to it: they are archived, with their files."],
        content: Annotated[str, "The whole SKILL.md of the one that stays, front matter included."],
        reason: Annotated[str, "For the user, in a sentence: what they share, and why one is better."],
        category: Annotated[str | None, "The folder to sort a new one into."] = None,
    ) -> ToolOutcome:
        """Propose that skills become one. A skill can be in one proposal only."""
        change = self._curator.merge(
            _review(context),
            into=into.strip(),
            skills=tuple(each.strip() for each in skills),
            content=content,
            category=(category or "").strip() or None,
            reason=" ".join(reason.split()),
            evidence=evidence_of(context),
        )
        return ToolOutcome(content="", change=change)

    def propose_archive(
        self,
        context: ToolContext,
        name: str,
        reason: Annotated[str, "For the user, in a sentence: why it is of no more use."],
    ) -> ToolOutcome:
        """Propose to put a skill away: it is kept with its files, and no longer told of."""
        change = self._curator.archive(
            _review(context),
            skill=name.strip(),
            reason=" ".join(reason.split()),
            evidence=evidence_of(context),
        )
        return ToolOutcome(content="", change=change)


def _review(context: ToolContext) -> str:
    """The review whose session that is."""
    if context.source != CURATED:
        raise ToolFailed("proposals are made in a review of all skills only.")
    return context.lineage
