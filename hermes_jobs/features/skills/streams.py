"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.skills.rules import curation, skill
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (
    StreamKind(skill.PREFIX, skill.Skill, skill.evolve),
    StreamKind(curation.PREFIX, curation.Curation, curation.evolve),
)
