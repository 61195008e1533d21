"""The proposals of one curator's review, folded from a stream `curation-REVIEW`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.skills import events as e

PREFIX = "curation-"


class CurationProposal(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal, and whether it was applied."""

    proposed: e.MergeProposed | e.ArchiveProposed
    applied: bool = False

    @property
    def number(self) -> int:
        """Its number in its review."""
        return self.proposed.number

    @property
    def versions(self) -> Mapping[str, int]:
        """The skills that it changes, each with the version for which it was made."""
        match self.proposed:
            case e.MergeProposed():
                return self.proposed.versions
            case e.ArchiveProposed():
                return {self.proposed.skill: self.proposed.version}
            case _:
                assert_never(self.proposed)


class Curation(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one review's proposals at `version`."""

    stream: str
    version: int = 0
    proposals: tuple[CurationProposal, ...] = ()

    @property
    def review(self) -> str:
        """The review that made the proposals."""
        return self.stream.removeprefix(PREFIX)

    def about(self, skill: str) -> CurationProposal | None:
        """The proposal that concerns the skill."""
        return next((proposal for proposal in self.proposals if skill in proposal.versions), None)


def stream_of(review: str) -> str:
    """The stream of a review's proposals."""
    return f"{PREFIX}{review}"


def evolve(curation: Curation, event: e.CurationEvent) -> Curation:
    """The proposals after one more event."""
    version = curation.version + 1
    match event:
        case e.MergeProposed() | e.ArchiveProposed():
            return replace(
                curation, version=version, proposals=(*curation.proposals, CurationProposal(proposed=event))
            )
        case e.ProposalApplied():
            proposals = tuple(
                replace(proposal, applied=True) if proposal.number == event.number else proposal
                for proposal in curation.proposals
            )
            return replace(curation, version=version, proposals=proposals)
        case _:
            assert_never(event)
