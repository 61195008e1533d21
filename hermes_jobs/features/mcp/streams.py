"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.mcp import rules
from hermes_jobs.kernel.streams.stream_kind import StreamKind

STREAMS = (StreamKind(rules.PREFIX, rules.ServerListings, rules.evolve),)
