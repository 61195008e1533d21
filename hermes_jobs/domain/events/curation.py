"""Events of a stream `curation-REVIEW`: what a curator proposes for the skills, and what was carried out.

`number` counts the proposals of a review from 1. A proposal holds for its skills at these versions alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.memory import Evidence


class MergeProposed(Event, frozen=True, kw_only=True):
    """`skills` are to give way to `into`, whose SKILL.md then reads `content`; it may be there or be new.

    `category`: where a new one lies; None: at the top, or where it lay.
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
    """The skill is to be put away: kept, and no longer told of."""

    review: str
    number: int
    skill: str
    reason: str
    version: int
    evidence: Evidence


class ProposalApplied(Event, frozen=True, kw_only=True):
    """A person had the proposal carried out; the writes of its skills stand in the same append."""

    review: str
    number: int
    by: str


CurationEvent = MergeProposed | ArchiveProposed | ProposalApplied
