"""Token counts in one canonical form, whatever shape a provider reports."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class Usage(msgspec.Struct, frozen=True, omit_defaults=False):
    """Tokens of one or several responses.

    `input_tokens` are uncached; `reasoning_tokens` are part of `output_tokens`. `cache_write_1h_tokens` are
    those of `cache_write_tokens` that are kept for an hour, at a price of their own; unset for none, and then
    not stored.
    `prompt_tokens = input + cache_read + cache_write`, `total_tokens = prompt + output`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_1h_tokens: int | UnsetType = UNSET

    @property
    def prompt_tokens(self) -> int:
        """Everything that was sent, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Everything that was sent and received."""
        return self.prompt_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            (self.cache_write_1h_tokens or 0) + (other.cache_write_1h_tokens or 0) or UNSET,
        )

    def __neg__(self) -> Usage:
        return Usage(
            -self.input_tokens,
            -self.output_tokens,
            -self.cache_read_tokens,
            -self.cache_write_tokens,
            -self.reasoning_tokens,
            -(self.cache_write_1h_tokens or 0) or UNSET,
        )


NO_USAGE = Usage()


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What a model call may come to, set aside before it is made.

    `input_tokens` is about the request's size, `output_tokens` the longest answer that is counted on.
    `max_tokens` is the limit that the answer is asked for with, None for the provider's own. `cost_usd` is
    None where the price is not known. `day`, as YYYY-MM-DD, is the one that the call counts for.
    """

    model: str
    input_tokens: int
    output_tokens: int
    day: str
    max_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def usage(self) -> Usage:
        """The reservation as if it had been used up."""
        return Usage(self.input_tokens, self.output_tokens)
