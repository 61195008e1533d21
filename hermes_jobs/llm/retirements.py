"""Models whose end their provider has announced, with the date and the provider's recommended replacement.

The dates hold at the provider's own address; resellers and other clouds have their own.
"""

from __future__ import annotations

import re
from datetime import date

import msgspec

from hermes_jobs.llm.providers import ProviderName

_DATED = r"(?:-\d{4}-?\d\d-?\d\d)?"
"""The end of a snapshot's name."""


class Retirement(msgspec.Struct, frozen=True):
    """The announced end of the models whose names fit the pattern. `successor`: what replaces them."""

    provider: ProviderName
    models: str
    ends: date
    successor: str

    def sentence(self, model: str, today: date) -> str:
        """What to know about the model on that day."""
        verb = "was retired" if self.ends <= today else "will be retired"
        return f"{model} {verb} by its provider on {self.ends}; its replacement is {self.successor}"


_TABLE = (
    # https://developers.openai.com/api/docs/deprecations
    Retirement("openai", rf"gpt-5{_DATED}|o3{_DATED}", date(2026, 12, 11), "gpt-6.1-sol"),
    Retirement("openai", rf"gpt-5-mini{_DATED}", date(2026, 12, 11), "gpt-6.1-terra"),
    Retirement("openai", rf"gpt-5-nano{_DATED}", date(2026, 12, 11), "gpt-6-luna"),
    Retirement("openai", rf"(?:gpt-5|o3)-pro{_DATED}", date(2026, 12, 11), "gpt-6.1-sol"),
    Retirement("openai", rf"gpt-4(?:o|\.1)(?:-mini)?{_DATED}", date(2027, 1, 14), "gpt-6-luna"),
    Retirement("openai", rf"o1(?:-pro)?{_DATED}|o3-mini{_DATED}", date(2026, 10, 23), "gpt-6.1-sol"),
    Retirement(
        "openai",
        rf"o4-mini{_DATED}|gpt-3\.5-turbo.*|gpt-4(?:-\d{{4}}.*|-turbo.*)?|gpt-4\.1-nano{_DATED}",
        date(2026, 10, 23),
        "gpt-6.1-terra",
    ),
    # https://platform.claude.com/docs/en/release-notes/overview
    Retirement("anthropic", r"claude-sonnet-4-(?:20250514|0)", date(2026, 6, 15), "claude-sonnet-4-6"),
    Retirement("anthropic", r"claude-opus-4-(?:20250514|0)", date(2026, 6, 15), "claude-opus-4-8"),
    # https://ai.google.dev/gemini-api/docs/deprecations
    Retirement("gemini", r"gemini-2\.0-flash.*", date(2026, 6, 1), "gemini-3.5-flash-lite"),
    Retirement("gemini", r"gemini-2\.5-pro", date(2026, 12, 1), "gemini-3.8-flash"),
    Retirement("gemini", r"gemini-2\.5-flash", date(2026, 12, 1), "gemini-3.5-flash-lite"),
    # https://api-docs.deepseek.com/updates
    Retirement("deepseek", r"deepseek-(?:chat|reasoner)", date(2026, 7, 24), "deepseek-v4-flash"),
    # https://docs.x.ai/docs/migration/may-15-retirement
    Retirement(
        "xai", r"grok-4-(?:1-)?fast.*|grok-4-0709|grok-code-fast-1|grok-3", date(2026, 5, 15), "grok-4.3"
    ),
)


def retirement_of(provider: ProviderName, model: str) -> Retirement | None:
    """The announced end of a model at its provider's own address; None if none is known."""
    name = model.lower().removeprefix("models/")
    fitting = (entry for entry in _TABLE if entry.provider == provider and re.fullmatch(entry.models, name))
    return next(fitting, None)
