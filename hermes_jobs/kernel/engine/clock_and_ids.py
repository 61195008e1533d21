"""The host's clocks and random ids: adapters of `Clock` and `Ids`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo

from hermes_jobs.system.randomness import random_bits

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no characters that look alike
BITS = 5  # of a character
NAME_LENGTH = 12  # 60 bits


class SystemClock:
    """The host's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class RandomIds:
    """Random ids, unique across processes."""

    def name(self, prefix: str) -> str:
        drawn = random_bits(BITS * NAME_LENGTH)  # read at once, because each read is a system call
        return prefix + "".join(ALPHABET[drawn >> at & 31] for at in range(0, BITS * NAME_LENGTH, BITS))

    def fence(self) -> int:
        return random_bits(63)

    def fraction(self) -> float:
        return random_bits(32) / (1 << 32)


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def day_end(seconds: float, zone: tzinfo | None = None) -> float:
    """When the day of a moment ends, both in seconds since the epoch; `zone` as of `day_of`."""
    day = datetime.fromtimestamp(seconds, UTC).astimezone(zone).date()
    return datetime.combine(day + timedelta(days=1), datetime.min.time(), zone).timestamp()


def day_of(seconds: float, zone: tzinfo | None = None) -> str:
    """The day of a moment (seconds since the epoch), as YYYY-MM-DD; `zone` None for the machine's."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone).date().isoformat()
