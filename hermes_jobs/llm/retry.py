"""When a failed call is made again: after the wait that its provider requests, else a growing one. Seconds.

A wait is read from headers, else from the message.

Headers: `retry-after-ms`, `Retry-After` (RFC 9110), and whatever pairs `…ratelimit…reset…` with
`…remaining…` or `…status…`: OpenAI's, Groq's, Azure's and Cerebras' `x-ratelimit-reset-*` (a duration, or
seconds), OpenRouter's `x-ratelimit-reset` (milliseconds since the epoch), Anthropic's
`anthropic-ratelimit-*-reset` (RFC 3339, https://platform.claude.com/docs/en/api/rate-limits).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from hermes_jobs.llm.resets import from_epoch, named_reset
from hermes_jobs.text.patterns import compile_later

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PIECE = compile_later(r"(\d{1,20}(?:\.\d{1,20})?)\s{0,20}(ms|[smhdw])", re.IGNORECASE)
_DURATION = r"((?:\d+(?:\.\d+)?\s*(?:ms|[smhdw])(?![a-z])(?:,? and |[\s,]*))+)"
_WORDS = {
    **dict.fromkeys(("millisecond", "msec"), "ms"),
    **dict.fromkeys(("second", "sec"), "s"),
    **dict.fromkeys(("minute", "min"), "m"),
    **dict.fromkeys(("hour", "hr"), "h"),
    "day": "d",
    "week": "w",
}
_LONG_UNIT = compile_later(rf"\b(\d+(?:\.\d+)?|an?)[\s-]*({'|'.join(_WORDS)})s?\b", re.IGNORECASE)
_IN_MESSAGE = compile_later(
    rf"(?:try again|retry|wait|available|reset\w{{0,10}})[^.\d]{{0,30}}?{_DURATION}(?![a-z])"
    rf"|retry_?delay\W{{1,6}}{_DURATION}",
    re.IGNORECASE,
)
_IN_SECONDS = compile_later(
    r"(?:resets?_?in_?seconds|retry_?after(?:_?seconds)?)\W{1,6}(\d+(?:\.\d+)?)", re.IGNORECASE
)
_ALLOWED = frozenset({"allowed", "allowed_warning"})
_UNIFIED = "ratelimit-unified-"
"""Anthropic's subscriptions: `unified-reset` is of the limit that was exceeded, the others of each limit."""


def retry_after(headers: Mapping[str, str], message: str, now: float | None = None) -> float | None:
    """The requested wait; None if there is none. Header names in lower case.

    `now`: the answer's arrival by this machine's clock. A reset time counts from the response's own `Date` if
    it has one, so that this machine's clock does not matter.
    """
    sent_at = _http_date(headers.get("date", ""))
    sent_at = now if sent_at is None else sent_at
    for wait in (_milliseconds(headers), _seconds_or_date(headers, sent_at), _exhausted(headers, sent_at)):
        if wait is not None:
            return wait
    return _from_message(message, sent_at)


def _milliseconds(headers: Mapping[str, str]) -> float | None:
    wait = _number(headers.get("retry-after-ms"))
    return None if wait is None else wait / 1000


def _seconds_or_date(headers: Mapping[str, str], sent_at: float | None) -> float | None:
    text = headers.get("retry-after", "")
    wait = _number(text)
    return wait if wait is not None else _until(_http_date(text), sent_at)


def _exhausted(headers: Mapping[str, str], sent_at: float | None) -> float | None:
    """The longest wait of the exhausted limits."""
    delays = [
        _reset(text, sent_at)
        for name, text in headers.items()
        if "ratelimit" in name and "reset" in name and _is_exhausted(name, headers)
    ]
    return max((wait for wait in delays if wait is not None), default=None)


def _is_exhausted(name: str, headers: Mapping[str, str]) -> bool:
    if _UNIFIED in name and not name.endswith(f"{_UNIFIED}reset"):
        return False
    if headers.get(name.replace("reset", "status"), "").lower() in _ALLOWED:
        return False
    remaining = _number(headers.get(name.replace("reset", "remaining"), "0"))
    return remaining is None or remaining < 1


def _reset(text: str, sent_at: float | None) -> float | None:
    """A duration, a number of seconds, or a point in time."""
    number = _number(text)
    if number is not None:
        moment = from_epoch(number)
        return number if moment is None else _until(moment, sent_at)
    return _duration(text) if _PIECE.match(text.strip()) else _until(_iso_date(text), sent_at)


def _until(moment: float | None, sent_at: float | None) -> float | None:
    if moment is None or sent_at is None:
        return None
    return max(0.0, moment - sent_at)


def _http_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _iso_date(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _from_message(message: str, sent_at: float | None) -> float | None:
    if match := _IN_SECONDS.search(message):
        return float(match[1])
    if match := _IN_MESSAGE.search(_LONG_UNIT.sub(_short, message)):
        return _duration(match[1] or match[2])
    return None if sent_at is None else _until(named_reset(message, sent_at), sent_at)


def _short(match: re.Match[str]) -> str:
    amount = match[1] if match[1][0].isdigit() else "1"
    return amount + _WORDS[match[2].lower()]


def _duration(text: str) -> float | None:
    pieces = _PIECE.findall(text)
    return sum(float(amount) * _UNITS[unit.lower()] for amount, unit in pieces) if pieces else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


MAX_RETRIES = 3
BASE_SECONDS = 2.0
CAP_SECONDS = 60.0
MAX_WAIT_SECONDS = 600.0
"""A longer requested wait is not waited: the turn fails, and the user decides."""

RETRYABLE = frozenset({"rate_limit", "overloaded", "server", "timeout", "connection", "garbage", "unknown"})
"""Kinds of `ModelError` after which the same call may succeed."""


def delay(kind: str, retries: int, retry_after: float | None, fraction: float) -> float | None:
    """Seconds to wait before the next attempt after `retries`; None to give up.

    Exponential from 2 s to 60 s, of which the `fraction` (0 to 1) selects between half and all. A provider's
    requested wait is waited in full, plus up to a second, so that many callers do not return at once. After
    an output limit that was too large, the call is repeated immediately with a smaller one.
    """
    if retries >= MAX_RETRIES:
        return None
    if kind == "output_limit":
        return 0.0
    if kind not in RETRYABLE:
        return None
    if retry_after is not None:
        return None if is_wait_too_long(retry_after) else max(0.0, retry_after) + fraction
    return min(CAP_SECONDS, BASE_SECONDS * 2.0**retries) * (0.5 + fraction / 2)


def is_wait_too_long(retry_after: float | None) -> bool:
    """Whether the requested wait is too long."""
    return retry_after is not None and retry_after > MAX_WAIT_SECONDS
