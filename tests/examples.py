"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

IN_CI = 100
"""As many as a property gets that states no number, by the profile `repeatable`; by `quick` it gets fewer."""


def examples(count: int) -> int:
    """This many in CI; in `make test` as small a part as of all other properties, and others on every run."""
    return max(1, count * settings().max_examples // IN_CI)
