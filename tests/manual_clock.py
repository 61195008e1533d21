"""A clock that a test sets."""

from __future__ import annotations


class ManualClock:
    """Stands at a moment until the test moves it: as a `Clock`, and as a function."""

    def __init__(self, moment: float = 1_000_000.0) -> None:
        """`moment` is in seconds."""
        self.moment = moment

    def now(self) -> float:
        return self.moment

    def monotonic(self) -> float:
        return self.moment

    def __call__(self) -> float:
        return self.moment
