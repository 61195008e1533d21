"""A turn's unrecorded usage and cost: the sums of its responses since the last record."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events.paid import PaidOutcome, billed_usd
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage


class UsageTally(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of usage; a cost is None where the price of one of its responses is unknown.

    `estimated` is separate from reported usage: calls that ended without a response.
    """

    usage: Usage = NO_USAGE
    cost_usd: float | None = 0.0
    num_model_calls: int = 0
    num_tool_calls: int = 0
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0

    def with_response(self, usage: Usage, cost_usd: float | None) -> UsageTally:
        """The tally with one more response."""
        return replace(
            self,
            usage=self.usage + usage,
            cost_usd=_sum(self.cost_usd, cost_usd),
            num_model_calls=self.num_model_calls + 1,
        )

    def with_outcome(self, event: PaidOutcome) -> UsageTally:
        """The tally with the outcome of a model call."""
        return self.with_response(event.usage, billed_usd(event)).with_estimate(
            event.estimated, event.estimated_cost_usd
        )

    def with_estimate(self, usage: Usage, cost_usd: float | None) -> UsageTally:
        """The tally with the estimated usage of a call without a response."""
        return replace(
            self,
            estimated=self.estimated + usage,
            estimated_cost_usd=_sum(self.estimated_cost_usd, cost_usd),
        )

    def without_estimate(self, reserved: Reservation) -> UsageTally:
        """The tally without the estimate for a call whose response arrived late; the estimate may be recorded
        already.
        """
        if self.estimated.total_tokens < reserved.usage.total_tokens:
            return self
        cost = None if reserved.cost_usd is None else -reserved.cost_usd
        return self.with_estimate(-reserved.usage, cost)


EMPTY = UsageTally()


def _sum(total: float | None, added: float | None) -> float | None:
    return None if total is None or added is None else total + added
