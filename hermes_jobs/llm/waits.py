"""How long a provider asks to wait: read from its headers, else from its message. Seconds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.IGNORECASE)
_DURATION = r"((?:\d+(?:\.\d+)?\s*(?:ms|[smhd])\s*)+)"
_WORDS = {"millisecond": "ms", "second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d"}
_LONG_UNIT = re.compile(rf"\b(\d+(?:\.\d+)?)\s*({'|'.join(_WORDS)})s?\b", re.IGNORECASE)
_IN_MESSAGE = re.compile(
    rf"(?:try again|retry|wait|available|reset\w*)[^.\d]{{0,30}}?{_DURATION}(?![a-z])"
    rf"|retry_?delay\W{{1,6}}{_DURATION}",
    re.IGNORECASE,
)


def asked_wait(headers: Mapping[str, str], message: str) -> float | None:
    """The wait asked for; null where none is named. Header names in lower case."""
    candidates = (_milliseconds, _seconds_or_date, _exhausted_limit, _openrouter_reset)
    found = (wait for read in candidates if (wait := read(headers)) is not None)
    named = next(found, None)
    return named if named is not None else _from_message(message)


def _milliseconds(headers: Mapping[str, str]) -> float | None:
    wait = _number(headers.get("retry-after-ms"))
    return None if wait is None else wait / 1000


def _seconds_or_date(headers: Mapping[str, str]) -> float | None:
    written = headers.get("retry-after", "")
    wait = _number(written)
    return wait if wait is not None else _since_response(_date(written), headers)


def _exhausted_limit(headers: Mapping[str, str]) -> float | None:
    """OpenAI's and Groq's `x-ratelimit-reset-*`, of those limits of which nothing is left."""
    waits = [
        _duration(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _openrouter_reset(headers: Mapping[str, str]) -> float | None:
    """OpenRouter's `x-ratelimit-reset`: milliseconds since the epoch."""
    reset = _number(headers.get("x-ratelimit-reset"))
    answered = _date(headers.get("date", ""))
    if reset is None or answered is None or headers.get("x-ratelimit-remaining") != "0":
        return None
    return max(0.0, reset / 1000 - answered.timestamp())


def _since_response(moment: datetime | None, headers: Mapping[str, str]) -> float | None:
    """Counted from the response's own date, so that this machine's clock does not matter."""
    answered = _date(headers.get("date", ""))
    if moment is None or answered is None:
        return None
    return max(0.0, moment.timestamp() - answered.timestamp())


def _date(written: str) -> datetime | None:
    try:
        return parsedate_to_datetime(written)
    except ValueError:
        return None


def _from_message(message: str) -> float | None:
    short = _LONG_UNIT.sub(lambda found: found[1] + _WORDS[found[2].lower()], message)
    found = _IN_MESSAGE.search(short)
    return _duration(found[1] or found[2]) if found else None


def _duration(written: str) -> float | None:
    pieces = _PIECE.findall(written)
    if not pieces:
        return _number(written)
    return sum(float(amount) * _UNITS[unit.lower()] for amount, unit in pieces)


def _number(written: str | None) -> float | None:
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
