"""The configured limits of a turn."""

from __future__ import annotations

import msgspec


class TurnLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The configured limits of a turn, in seconds and tokens.

    `memory_nudge` user turns, or `skill_nudge` rounds of tool calls, of a conversation make a review due.
    `listeners` are told what a session comes to. `wait_for_quota`: the longest wait for a quota that resets;
    `wait_for_required`: for what a session cannot begin without;
    `fallback`: the models that are tried, in order, where the one asked cannot be used.
    """

    max_iterations: int
    max_tokens: int | None
    approval_seconds: float
    result_chars: int = 100_000
    turn_chars: int = 200_000
    preview_chars: int = 1_500
    memory_nudge: int = 0
    skill_nudge: int = 0
    listeners: tuple[str, ...] = ()
    wait_for_quota: float = 0.0
    wait_for_required: float = 0.0
    fallback: tuple[str, ...] = ()
