"""How long a setting says something takes."""

from __future__ import annotations

DURATION = r"^[0-9]+(\.[0-9]+)?(s|m|h|d)?$"
"""A number with its unit; without one it counts seconds."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(duration: int | str) -> float:
    """Seconds of a text that fits `DURATION`, or of a number of seconds."""
    text = str(duration)
    unit = _SECONDS.get(text[-1])
    return float(text) if unit is None else float(text[:-1]) * unit
