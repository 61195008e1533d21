"""What Anthropic's refusals, and the reasons for which its answers stop, mean here.

Sources: https://platform.claude.com/docs/en/api/errors,
https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons,
https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hermes_jobs.agent.llm.errors import model_error
from hermes_jobs.domain.usage import Usage
from hermes_jobs.engine.ports import ModelError

AUTH_HINT = "Check ANTHROPIC_API_KEY, and that it belongs to the endpoint that is asked."

_ABOUT_THOUGHTS = re.compile(
    r"signature.{0,20} in .{0,3}(?:redacted_)?thinking"
    r"|thinking.{0,120}(?:cannot be modified|signature|bound to|must be passed back)"
    r"|expected .{0,3}thinking.{0,60}found"
)


def stopped(reason: str, details: Mapping[str, object], window: int, usage: Usage) -> ModelError | None:
    """The error that a stop reason means; None where what was said counts as a reply. `window` in tokens."""
    match reason:
        case "refusal":
            category, said = details.get("category"), details.get("explanation")
            why = f" (category: {category})" if category else ""
            message = f"The model declined to answer{why}." + (f" {said}" if said else "")
            return model_error("content_policy", message, usage=usage)
        case "model_context_window_exceeded":
            message = f"The answer reached the end of the model's context window of {window:,} tokens."
            return model_error("context_overflow", message, limit=window, usage=usage)
        case _:
            return None


def is_about_thoughts(said: str) -> bool:
    """Whether a refusal is about what was thought before and sent back."""
    return _ABOUT_THOUGHTS.search(said.lower()) is not None
