"""Formats a curator's proposals for users and scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Literal, cast

import click
import msgspec

from hermes_jobs.features.skills.events import MergeProposed
from hermes_jobs.features.skills.rules import curation as curations
from hermes_jobs.features.skills.rules.curation import Curation, CurationProposal
from hermes_jobs.features.skills.rules.skill import Skill, stream_of
from hermes_jobs.interfaces.cli.output import note, print_heading, print_text

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application


class ProposalView(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal. `skills` are to be archived; for a merge `into` then reads `content`.

    `status`: `stale` if one of its skills has changed since, so that it can no longer be applied.
    """

    number: int
    action: Literal["merge", "archive"]
    status: Literal["open", "applied", "stale"]
    skills: tuple[str, ...]
    into: str | None
    category: str | None
    content: str | None
    reason: str

    def heading(self) -> str:
        """The proposal in a line."""
        names = ", ".join(self.skills)
        what = f"archive {names}" if self.into is None else f"merge {names} into {self.into}"
        state = "" if self.status == "open" else f" ({self.status})"
        return f"Proposal {self.number}: {what}{state}"


def curation_of(application: Application, review: str) -> Curation:
    """The proposals of a review, from the log."""
    return cast(Curation, application.engine().state(curations.stream_of(review)))


def proposal_views(application: Application, review: str) -> tuple[ProposalView, ...]:
    """The proposals of a review, in order."""
    curation = curation_of(application, review)
    if not curation.proposals:
        return ()
    skills = application.skills.preview().all_known()
    return tuple(_shown(proposal, skills) for proposal in curation.proposals)


def print_proposals(application: Application, review: str) -> None:
    """Print them, each with the text that it would write."""
    skills = application.skills.preview().of_home()
    proposals = proposal_views(application, review)
    for proposal in proposals:
        click.echo()
        print_heading(proposal.heading())
        print_text(proposal.reason)
        if proposal.into is not None and proposal.content is not None and proposal.status != "applied":
            click.echo()
            present = skills.get(proposal.into)
            print_text("\n".join(_difference(present.main if present else "", proposal.content)))
    if any(proposal.status == "open" for proposal in proposals):
        note(f"Nothing has changed yet. To apply: hermes-jobs reviews apply {review} [--only N]")


def _shown(proposal: CurationProposal, skills: Collection[Skill]) -> ProposalView:
    proposed = proposal.proposed
    merge = proposed if isinstance(proposed, MergeProposed) else None
    return ProposalView(
        number=proposal.number,
        action="archive" if merge is None else "merge",
        status="applied" if proposal.applied else "stale" if _is_stale(proposal, skills) else "open",
        skills=(proposed.skill,) if not isinstance(proposed, MergeProposed) else proposed.skills,
        into=merge.into if merge else None,
        category=merge.category if merge else None,
        content=merge.content if merge else None,
        reason=proposed.reason,
    )


def _is_stale(proposal: CurationProposal, skills: Collection[Skill]) -> bool:
    versions = {skill.stream: skill.version for skill in skills}
    return any(versions.get(stream_of(name), 0) != version for name, version in proposal.versions.items())


def _difference(before: str, after: str) -> Iterator[str]:
    """The new text, as a diff if there is an old one."""
    if not before:
        yield from after.splitlines()
        return
    yield from list(unified_diff(before.splitlines(), after.splitlines(), lineterm=""))[2:]
