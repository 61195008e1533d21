"""Charts as numbers: the positions of bars and lines. Widths are in percent, so that text keeps its size.

Heights are in pixels from the top; a template draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10

import msgspec

HEIGHT = 150.0
MAX_SERIES = 6
OTHERS = "others"


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a bar; `series` counts from 1, `title` is its tooltip."""

    series: int
    x: float
    width: float
    y: float
    height: float
    title: str


class AxisLabel(msgspec.Struct, frozen=True):
    """A label on an axis, at a percentage (x) or at so many pixels (y)."""

    at: float
    text: str


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """Stacked bars, a bar a period."""

    height: float
    series: tuple[str, ...]
    blocks: tuple[Block, ...]
    grid: tuple[AxisLabel, ...]
    ticks: tuple[AxisLabel, ...]


class ChartLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line over periods: `points` are for a box of 100 by 100."""

    series: int
    name: str
    points: str
    last: str


Values = Mapping[str, Mapping[str, float]]
"""By series, by period."""


def stacked(periods: Sequence[str], values: Values, format_value: Callable[[float], str]) -> Chart:
    """The values as stacked bars; beyond `MAX_SERIES` series the smallest are added up as others."""
    series = _largest(values)
    sums = [sum(by.get(period, 0.0) for by in series.values()) for period in periods]
    top = nice(max(sums, default=0.0))
    slot = 100.0 / max(1, len(periods))
    blocks: list[Block] = []
    for index, period in enumerate(periods):
        y = HEIGHT
        for number, (name, by) in enumerate(series.items(), 1):
            value = by.get(period, 0.0)
            if value <= 0:
                continue
            height = HEIGHT * value / top
            y -= height
            blocks.append(
                Block(
                    series=number,
                    x=round(slot * (index + 0.14), 3),
                    width=round(slot * 0.72, 3),
                    y=round(y, 2),
                    height=round(height, 2),
                    title=f"{period} · {name}: {format_value(value)}",
                )
            )
    return Chart(
        height=HEIGHT,
        series=tuple(series),
        blocks=tuple(blocks),
        grid=tuple(
            AxisLabel(HEIGHT * (1 - part), format_value(top * part) if part else "0")
            for part in (0.0, 0.5, 1.0)
        ),
        ticks=ticks(periods),
    )


def bars(periods: Sequence[str], layers: Sequence[Mapping[str, float]], height: float) -> Sequence[Block]:
    """Bars over each other, the first layer behind, all on one scale: for a row of a table."""
    top = max((value for layer in layers for value in layer.values()), default=0.0) or 1.0
    slot = 100.0 / max(1, len(periods))
    return [
        Block(
            series=number,
            x=round(slot * (index + 0.1), 3),
            width=round(slot * 0.8, 3),
            y=round(height * (1 - layer[period] / top), 2),
            height=round(height * layer[period] / top, 2),
            title="",
        )
        for number, layer in enumerate(layers, 1)
        for index, period in enumerate(periods)
        if layer.get(period)
    ]


def line(
    number: int, name: str, periods: Sequence[str], values: Mapping[str, float], top: float
) -> ChartLine:
    """A line that keeps its last value through periods without one."""
    points, value = [], 0.0
    for index, period in enumerate(periods):
        value = values.get(period, value)
        x = 100.0 * (index + 0.5) / len(periods)
        points.append(f"{x:.2f},{100 - 100 * min(1.0, value / top):.2f}")
    return ChartLine(series=number, name=name, points=" ".join(points), last=points[-1] if points else "")


def ticks(periods: Sequence[str]) -> tuple[AxisLabel, ...]:
    """At most five of the periods, the first and the last among them."""
    if not periods:
        return ()
    last = len(periods) - 1
    chosen = sorted({round(last * part / 4) for part in range(5)}) if last >= 8 else sorted({0, last})
    return tuple(
        AxisLabel(round(100.0 * (index + 0.5) / len(periods), 3), periods[index]) for index in chosen
    )


def nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, … that is not smaller; 1 for nothing."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** max(floor(log10(value)), -300)  # below, powers of ten are not exact, and then zero
    return next(unit * step for step in (1, 2, 4, 5, 10, 20) if unit * step >= value * 0.999999)


def _largest(values: Values) -> dict[str, Mapping[str, float]]:
    """The series by their sums, the largest first, without empty ones."""
    sums = {name: sum(by.values()) for name, by in values.items()}
    ordered = sorted((name for name in values if sums[name] > 0), key=lambda name: (-sums[name], name))
    largest = ordered if len(ordered) <= MAX_SERIES else ordered[: MAX_SERIES - 1]
    chosen = {name: values[name] for name in largest}
    rest = ordered[len(largest) :]
    if rest:
        periods = {period for name in rest for period in values[name]}
        chosen[OTHERS] = {period: sum(values[name].get(period, 0.0) for name in rest) for period in periods}
    return chosen
