"""Which commands see which keys: `data/credentials.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_jobs.agent.tools.tables import load


def needed_by() -> Mapping[str, Sequence[str]]:
    """By program, the secrets that it may use if a command line has only such programs."""
    needed: Mapping[str, Sequence[str]] = load("credentials")["needed"]
    return needed
