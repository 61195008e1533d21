"""Who answered a call, and what it cost."""

from __future__ import annotations

import msgspec

from hermes_jobs.domain.usage import NO_USAGE
from hermes_jobs.engine.ports import Pricing, Reply


class Bill(msgspec.Struct, frozen=True):
    """The model that answered, and the cost in US dollars; None where no usage was reported, or the price is
    not known."""

    model: str
    cost_usd: float | None


def bill(reply: Reply, asked: str, pricing: Pricing) -> Bill:
    """The bill of a reply; `asked` is the model where the endpoint does not say which one answered."""
    model = reply.model or asked
    return Bill(model, None if reply.usage == NO_USAGE else pricing.cost_usd(model, reply.usage))
