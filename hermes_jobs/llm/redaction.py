"""Removes secrets from the error messages of providers."""

from __future__ import annotations

import re
from collections.abc import Iterable

REDACTED = "[REDACTED]"

_SHORTEST_SECRET = 6  # a shorter "key" is a placeholder such as `none`, and occurs in ordinary text
_SHAPES = (
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|sess)[-_][A-Za-z0-9_*.-]{8,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"(?<=Bearer )[A-Za-z0-9._~+/*=-]{8,}", re.IGNORECASE),
    re.compile(r"(?<=[?&]key=)[^&\s\"']+", re.IGNORECASE),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
)


def redact_request(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets, also encoded, and without anything in the form of a key."""
    values = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
    if values:
        from hermes_jobs.system.secret_forms import SecretForms  # only an error needs it

        text = SecretForms(values).redact(text, REDACTED)
    for shape in _SHAPES:
        text = shape.sub(REDACTED, text)
    return text
