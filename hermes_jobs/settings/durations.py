"""Durations in settings: their form, and their seconds."""

from __future__ import annotations

DURATION = r"^[0-9]+(\.[0-9]+)?(s|m|h|d)?$"
"""A number with a unit; without one it is in seconds."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(duration: int | str) -> float:
    """The seconds of a text that matches `DURATION`, or of a number."""
    text = str(duration)
    unit = _SECONDS.get(text[-1])
    return float(text) if unit is None else float(text[:-1]) * unit
