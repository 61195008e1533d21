"""The lines of the page that `make bench` prints: figures, and the baselines of the same run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Line(NamedTuple):
    """What was measured. Figures are durations in milliseconds: less is better, also of the ratio."""

    name: str
    ms: float
    beside: str
    base_ms: float

    @property
    def ratio(self) -> float:
        """How many times the baseline."""
        return self.ms / self.base_ms


def show(lines: Iterable[Line]) -> None:
    """Print each as it comes."""
    for line in lines:
        print(
            f"{line.name:<46}{line.ms:>9.1f} ms {line.ratio:>7.2f} x {line.beside} ({line.base_ms:.1f})",
            flush=True,
        )
