"""A model's price, as configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from hermes_jobs.kernel.streams.usage import Usage

if TYPE_CHECKING:
    from hermes_jobs.kernel.engine.ports import Pricing

Money = Annotated[float, Meta(ge=0)]
_MILLION = 1_000_000
_HOUR = 1.6  # the price of a cache write for an hour, as a multiple of one for five minutes


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars per million tokens. `cache_read` and `cache_write` None: the same as `input`.

    `cache_write` is the price of writes for five minutes; those for an hour cost 1.6 times as much, as at
    Anthropic (2 and 1.25 times the input: https://platform.claude.com/docs/en/about-claude/pricing).
    """

    input: Money
    output: Money
    cache_read: Money | None = None
    cache_write: Money | None = None

    def cost_usd(self, usage: Usage) -> float:
        """The cost of that usage, in US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        lasting = usage.cache_write_1h_tokens or 0
        dearer = 0.0 if self.cache_write is None else write * (_HOUR - 1)
        total = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + lasting * dearer
        )
        return total / _MILLION


FREE = Price(0, 0)
LISTED_BELOW = "models/"
"""Gemini's list of models, and some of its answers, put this before their names."""


class OwnPrices:
    """The `Pricing` of models with a configured price, and `others` for the rest."""

    def __init__(self, own: Mapping[str, Price], others: Pricing) -> None:
        self._configured = own
        self._fallback = others

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `Pricing.cost_usd`."""
        price = self._configured.get(model, self._configured.get(model.removeprefix(LISTED_BELOW)))
        return self._fallback.cost_usd(model, usage) if price is None else price.cost_usd(usage)
