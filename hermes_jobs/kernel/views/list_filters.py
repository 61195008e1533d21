"""The default filters of lists: SQL conditions on rows of `lineages` and `turns`."""

from __future__ import annotations

from typing import Final

from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE

HIDDEN_KINDS: Final = ("review", "child", "subagent")
"""Kinds of sessions without a user."""

OF_PEOPLE: Final = f"kind NOT IN {HIDDEN_KINDS} AND coalesce(ended_because, '') <> '{ENDED_BECAUSE}'"
LISTED_SESSIONS: Final = f"{OF_PEOPLE} AND undone_into IS NULL"
LISTED_TURNS: Final = f"EXISTS (SELECT 1 FROM lineages l WHERE l.lineage = turns.lineage AND {OF_PEOPLE})"
"""Also those of an undone lineage, because the one that continues it includes its earlier turns."""
