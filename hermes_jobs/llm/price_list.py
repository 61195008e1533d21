"""Prices from the maintained list in the package `genai-prices`, without network access.

A price is known only if the endpoint is one of the list's providers: the same model is free on a local server
and dearer at a reseller, and a guess must not look like a known price.
"""

from __future__ import annotations

from datetime import UTC, datetime

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.dialect import OPENAI_URL
from hermes_jobs.llm.price import LISTED_BELOW
from hermes_jobs.llm.rehearsal import REHEARSAL
from hermes_jobs.system.clock import Clock


class PriceList:
    """The `Pricing` of one endpoint; `base_url` None is OpenAI's. The list is loaded on first use."""

    def __init__(self, base_url: str | None, clock: Clock) -> None:
        self._base_url = base_url or OPENAI_URL
        self._clock = clock

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """See `Pricing.cost_usd`. No usage costs nothing; a rehearsal is free."""
        if usage == NO_USAGE or model == REHEARSAL:
            return 0.0
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cache_write_1h_tokens=usage.cache_write_1h_tokens or 0,
            output_tokens=usage.output_tokens,
            input_audio_tokens=usage.audio_tokens or None,
        )
        try:
            price = genai_prices.calc_price(
                tokens,
                model.removeprefix(LISTED_BELOW),
                provider_api_url=self._base_url,
                genai_request_timestamp=datetime.fromtimestamp(self._clock.now(), UTC),
            )
        except (LookupError, ValueError):
            return None
        return float(price.total_price)
