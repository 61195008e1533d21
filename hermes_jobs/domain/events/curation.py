"""Events of a stream `curation-REVIEW`: a curator's proposals for skills, and their application.

`number` counts the proposals of a review from 1. A proposal is valid for these versions of its skills only.
"""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.memory import Evidence


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
