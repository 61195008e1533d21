"""The rhythm of a session: how long it rested between turns, and what that says of the provider's cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

CacheTtl = Literal["5m", "1h"]

SECONDS: dict[CacheTtl, float] = {"5m": 300.0, "1h": 3600.0}
"""How long a cached prompt is kept after its last use."""
REMEMBERED = 8
"""The newest rests that are remembered."""
_SAVED, _WASTED = 1.15, 0.75
"""What an hour saves at a rest that ends within it, and costs at a longer one, in input prices of the whole
prompt: a read is 0.1, a write 1.25 for five minutes and 2 for an hour (Anthropic)."""


def remembered(rests: Sequence[float], newest: float) -> tuple[float, ...]:
    """The rests, in seconds, with one more."""
    return (*rests, newest)[-REMEMBERED:]


def cache_ttl(rests: Sequence[float]) -> CacheTtl:
    """The lifetime that would have been the cheaper one for those rests."""
    within = sum(SECONDS["5m"] < rest <= SECONDS["1h"] for rest in rests)
    beyond = sum(rest > SECONDS["1h"] for rest in rests)
    return "1h" if within * _SAVED > beyond * _WASTED else "5m"


def return_probability(rests: Sequence[float], ttl: CacheTtl) -> float:
    """How probable it is that a person comes back who has let the cache end: by the rests that were longer,
    all of which ended, and this one, which may not (Laplace). 0 without experience."""
    longer = sum(rest > SECONDS[ttl] for rest in rests)
    return longer / (longer + 1)
