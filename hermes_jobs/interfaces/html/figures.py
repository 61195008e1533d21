"""Figures as people read them on a page."""

from __future__ import annotations

from datetime import date, datetime, tzinfo

_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def duration(seconds: float) -> str:
    """Such as `4 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, smaller, part in _UNITS:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def money(cost_usd: float | None) -> str:
    """US dollars; an unknown price is said, not guessed."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:,.2f}" if cost_usd >= 0.1 or cost_usd == 0 else f"${cost_usd:.4f}"


def amount(number: float) -> str:
    """A count for narrow places: `950`, `1.2k`, `3.4M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return f"{number:g}"


def moment(at: str, zone: tzinfo | None = None) -> str:
    """A moment of the log (ISO 8601) in that zone, else in this machine's."""
    return f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M:%S}"


def when(period: str, kind: str) -> str:
    """A period, which is called by its first day, in few characters: `21 Sep`, or `Sep 2026` for a month."""
    return f"{date.fromisoformat(period):{'%b %Y' if kind == 'month' else '%-d %b'}}"
