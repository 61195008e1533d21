"""Token counts in one canonical form, for all providers."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class Usage(msgspec.Struct, frozen=True, omit_defaults=False):
    """Tokens of one or more responses.

    `input_tokens` are uncached; `reasoning_tokens` are part of `output_tokens`. `cache_write_1h_tokens` are
    those of `cache_write_tokens` with a lifetime of an hour, `audio_tokens` those of the prompt that are
    sound; both have their own price, and are unset for none, and then not stored.
    `prompt_tokens = input + cache_read + cache_write`, `total_tokens = prompt + output`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_1h_tokens: int | UnsetType = UNSET
    audio_tokens: int | UnsetType = UNSET

    @property
    def prompt_tokens(self) -> int:
        """All tokens sent, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """All tokens sent and received."""
        return self.prompt_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            (self.cache_write_1h_tokens or 0) + (other.cache_write_1h_tokens or 0) or UNSET,
            (self.audio_tokens or 0) + (other.audio_tokens or 0) or UNSET,
        )

    def __neg__(self) -> Usage:
        return Usage(
            -self.input_tokens,
            -self.output_tokens,
            -self.cache_read_tokens,
            -self.cache_write_tokens,
            -self.reasoning_tokens,
            -(self.cache_write_1h_tokens or 0) or UNSET,
            -(self.audio_tokens or 0) or UNSET,
        )


NO_USAGE = Usage()


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated usage and cost of a model call, reserved before the call.

    `input_tokens` estimates the request's size, `output_tokens` the longest expected answer. `max_tokens` is
    the output limit of the request, None for the provider's default. `cost_usd` is None where the price is
    unknown. `day`, as YYYY-MM-DD, is the day that the call is charged to.
    """

    model: str
    input_tokens: int
    output_tokens: int
    day: str
    max_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def usage(self) -> Usage:
        """The reservation as usage, as if it were used up."""
        return Usage(self.input_tokens, self.output_tokens)
