"""A turn's books: what its responses used and cost since they were last recorded."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage


class UsageTally(msgspec.Struct, frozen=True, kw_only=True):
    """Sums; a cost is None where the price of one of its responses is not known.

    `estimated` stands apart from what was reported: calls that ended without their response.
    """

    usage: Usage = NO_USAGE
    cost_usd: float | None = 0.0
    num_model_calls: int = 0
    num_tool_calls: int = 0
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0

    def booked(self, usage: Usage, cost_usd: float | None) -> UsageTally:
        """With one more response."""
        return replace(
            self,
            usage=self.usage + usage,
            cost_usd=_sum(self.cost_usd, cost_usd),
            num_model_calls=self.num_model_calls + 1,
        )

    def with_estimate(self, usage: Usage, cost_usd: float | None) -> UsageTally:
        """With what a call may have used that ended without its response."""
        return replace(
            self,
            estimated=self.estimated + usage,
            estimated_cost_usd=_sum(self.estimated_cost_usd, cost_usd),
        )

    def without_estimate(self, reserved: Reservation) -> UsageTally:
        """Without the estimate for a call whose response came after all; it may have been recorded before."""
        if self.estimated.total_tokens < reserved.usage.total_tokens:
            return self
        cost = None if reserved.cost_usd is None else -reserved.cost_usd
        return self.with_estimate(-reserved.usage, cost)


EMPTY = UsageTally()


def _sum(known: float | None, added: float | None) -> float | None:
    return None if known is None or added is None else known + added
