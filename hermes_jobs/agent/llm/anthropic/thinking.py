"""Parameters for thinking and output length, for each family of models.

Sources: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (a budget is at least 1,024
tokens and less than `max_tokens`), https://platform.claude.com/docs/en/build-with-claude/thinking (`display`:
newer models return no text of it unless it is asked for), https://platform.claude.com/docs/en/build-with-claude/effort.
"""

from __future__ import annotations

from typing import Any, assert_never

from hermes_jobs.agent.llm.anthropic.abilities import Abilities
from hermes_jobs.agent.llm.families import Effort

Json = dict[str, Any]

BUDGETS: dict[Effort, int] = {"none": 0, "low": 2_048, "medium": 8_192, "high": 16_384, "max": 32_000}
SMALLEST_BUDGET = 1_024
USUAL_ANSWER = 64_000
"""The output limit if nothing limits it and the model could write more."""


def limited(can: Abilities, effort: Effort | None, max_tokens: int | None) -> Json:
    """`max_tokens`, `thinking` and `output_config` of a request.

    `max_tokens` None: the model's limit, or the usual one. A budget is at most half of the limit; if that is
    too small for a budget there is none.
    """
    limit = min(can.longest, USUAL_ANSWER) if max_tokens is None else max_tokens
    return {"max_tokens": limit, **_thought(can, effort, limit)}


def has_budget(fields: Json) -> bool:
    """Whether those fields request thinking with a budget, which binds every message of a tool loop."""
    return bool(fields.get("thinking", {}).get("type") == "enabled")


def _thought(can: Abilities, effort: Effort | None, limit: int) -> Json:
    if effort is None or can.thinking == "none":
        return {}
    if effort == "none":
        return _off(can)
    match can.thinking:
        case "adaptive":
            return {"thinking": {"type": "adaptive", "display": "summarized"}, **_level(can, effort)}
        case "budget":
            budget = min(BUDGETS[effort], limit // 2)
            thinking = {"type": "enabled", "budget_tokens": budget}
            return {**({"thinking": thinking} if budget >= SMALLEST_BUDGET else {}), **_level(can, effort)}
        case _:
            assert_never(can.thinking)


def _off(can: Abilities) -> Json:
    match can.off:
        case "omitted":
            return {}
        case "never":
            return _level(can, "low")
        case _:
            return {"thinking": {"type": can.off}}


def _level(can: Abilities, effort: Effort) -> Json:
    """The effort, if the model has such levels; its highest level in place of an unknown one."""
    if not can.efforts:
        return {}
    return {"output_config": {"effort": effort if effort in can.efforts else can.efforts[-1]}}
