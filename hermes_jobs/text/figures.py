"""Times, durations, money and amounts as people read them, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Protocol


def pluralize(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`; `many` is the plural where no `s` makes it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def file_size(size: int) -> str:
    """Bytes as people read them: `12 bytes`, `3.4 kB`, `1.2 MB`."""
    if size < 1_000:
        return pluralize(size, "byte")
    return f"{size / 1e6:.1f} MB" if size >= 999_950 else f"{size / 1e3:.1f} kB"


PRICE = "{input: 0.25, output: 2}"
"""An example of a price: US dollars for a million tokens."""

UNNAMED = "an unnamed model"


class Unpriced(Protocol):
    """Responses of a model whose cost is not known; of `unreported` ones not even the usage is."""

    @property
    def model(self) -> str:
        """The model's name; may be empty."""

    @property
    def requests(self) -> int:
        """How many there were."""

    @property
    def unreported(self) -> int:
        """How many of them without usage."""


_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))


def duration(seconds: float) -> str:
    """Such as `4 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    for unit, size, smaller, part in _UNITS:
        if rounded >= size:
            rest = rounded % size // part
            return f"{rounded // size} {unit} {rest} {smaller}" if rest else f"{rounded // size} {unit}"
    return f"{rounded} s"


def money(cost_usd: float | None, at_least: float = 0.0) -> str:
    """US dollars; an unknown cost is said, not guessed, with what is known of the sum."""
    if cost_usd is None:
        return f"≥ {money(at_least)}" if at_least else "unknown"
    if cost_usd >= 0.1 or cost_usd == 0:
        return f"${cost_usd:,.2f}"
    if 0 < cost_usd < 0.001:  # four decimals would lose most of it, and show a small budget as none
        return f"${_two_digits(cost_usd)}"
    return f"${cost_usd:.4f}"


def _two_digits(amount: float) -> str:
    """At least four decimals, and as many as two significant digits need: 0.0005, 0.00012, 0.0000001."""
    text = f"{Decimal(f'{amount:.2g}'):f}"
    return text if len(text) >= len("0.0000") else f"{amount:.4f}"


def cost_text(cost_usd: float | None, known_usd: float = 0.0) -> str:
    """`money` in a line without a name for the figure: `cost unknown` where nothing of it is known."""
    return "cost unknown" if cost_usd is None and not known_usd else money(cost_usd, known_usd)


def unknown_costs(rows: Sequence[Unpriced]) -> str:
    """What a cost leaves out: responses whose own is not known, by model; empty for none."""
    unpriced = {row.model or UNNAMED: row.requests - row.unreported for row in rows}
    unreported = {row.model or UNNAMED: row.unreported for row in rows}
    parts = [
        *(f"{pluralize(n, 'call')} of {name} without a price" for name, n in unpriced.items() if n),
        *(f"{pluralize(n, 'call')} of {name} without reported usage" for name, n in unreported.items() if n),
    ]
    hint = " (set one in models.prices)" if any(unpriced.values()) else ""
    return f"{', '.join(parts)}{hint}"


def price_command(rows: Sequence[Unpriced]) -> str:
    """The command that sets a price for the first of those models that lacks one; empty for none."""
    model = next((row.model for row in rows if row.model and row.requests > row.unreported), None)
    return f"hermes-jobs config set models.prices.{model} '{PRICE}'" if model else ""


def amount(number: float) -> str:
    """A count for narrow places: `950`, `1.2k`, `3.4M`."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return f"{number:g}"


NAMED_DAYS = {-1: "yesterday", 0: "today", 1: "tomorrow"}


def moment(at: datetime, now: datetime | None = None, *, seconds: bool = False) -> str:
    """A moment, with the zone in which it is read: `tomorrow 09:00`, `Mon 23 Nov 08:00`.

    `now` is in the same zone; without it, for what is read on another day, the day and year stand there.
    """
    clock = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    return f"{day(at, now)} {clock}"


def day(at: datetime, now: datetime | None = None) -> str:
    """The day of a moment: `today`, `Mon 23 Nov`, with the year where it is another one, or without `now`."""
    near = None if now is None else NAMED_DAYS.get((at.date() - now.date()).days)
    year = "" if now is not None and at.year == now.year else f" {at.year}"
    return near or f"{at:%a} {at.day} {at:%b}{year}"


def when(period: str, kind: str) -> str:
    """A period, which is called by its first day, in few characters: `21 Sep`, or `Sep 2026` for a month."""
    return f"{date.fromisoformat(period):{'%b %Y' if kind == 'month' else '%-d %b'}}"
