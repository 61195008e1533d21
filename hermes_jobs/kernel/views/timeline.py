"""A turn as spans of time: waits, parallel runs, and their workers. Pure: the log's times alone.

Clocks of hosts may disagree; a moment is never earlier than that of the preceding event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.views.spans import TURN_LANE, Spans, TimeSpan


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's spans, in the order in which they began. `began` is when it was submitted (ISO 8601, UTC)."""

    turn: str
    began: str
    seconds: float
    spans: tuple[TimeSpan, ...]

    @property
    def workers(self) -> tuple[str, ...]:
        """Its workers, in the order of their first span."""
        return tuple(dict.fromkeys(span.worker for span in self.spans if span.worker))


class Track(msgspec.Struct, frozen=True):
    """An attempt with its preceding wait: one line of the drawing."""

    spans: tuple[TimeSpan, ...]

    @property
    def last(self) -> TimeSpan:
        """The attempt of the line."""
        return self.spans[-1]

    @property
    def name(self) -> str:
        """Its name."""
        span = self.last
        if span.kind == "waiting":
            return "until begun" if span.step.endswith("-prefetch") else "waits for a worker"
        if span.kind == "queued":
            return "behind another turn"
        return span.label


def tracks(spans: Iterable[TimeSpan]) -> Sequence[Track]:
    """The lines, in the order in which they begin: each attempt ends one."""
    done: list[tuple[TimeSpan, ...]] = []
    open_: dict[str, tuple[TimeSpan, ...]] = {}
    for span in spans:
        gathered = (*open_.pop(span.step, ()), span)
        if span.kind in {"ordered", "waiting", "approval", "question"}:
            open_[span.step] = gathered
        else:
            done.append(gathered)
    found = sorted([*done, *open_.values()], key=lambda found: (found[0].start, found[-1].number))
    return [Track(each) for each in found]


def timeline(turn: str, events: Iterable[RecordedEvent], now: float | None = None) -> Timeline:
    """The turn's time, from its stream's events, of which those before its submission are not needed.

    Open spans end at `now`, in seconds since the epoch, or at the last event of the turn.
    Raises `ValueError` where it was never submitted.
    """
    fold = Spans(turn)
    for recorded in events:
        fold.apply(recorded)
    if fold.began is None:
        raise ValueError(f"turn {turn!r} is not submitted in these events")
    spans = fold.close(now)
    zero = fold.zero
    counted = [replace(span, start=_since(zero, span.start), end=_since(zero, span.end)) for span in spans]
    in_order = sorted(counted, key=lambda span: (span.start, span.end, span.position))
    return Timeline(turn=turn, began=fold.began, seconds=_since(zero, fold.last), spans=_in_lanes(in_order))


def _first_begun(item: tuple[str, tuple[float, float]]) -> tuple[float, int, str]:
    """By the beginning; calls of one reply, which are numbered, in its order."""
    step, (start, _) = item
    return start, len(step), step


def _since(zero: float, moment: float) -> float:
    return round(moment - zero, 6)


def _in_lanes(spans: Sequence[TimeSpan]) -> tuple[TimeSpan, ...]:
    """Each tool call with its wait, in the first queue that is free at that time."""
    extents: dict[str, tuple[float, float]] = {}
    for span in spans:
        if span.lane != TURN_LANE and span.kind != "ordered":
            start, end = extents.get(span.step, (span.start, span.end))
            extents[span.step] = (min(start, span.start), max(end, span.end))
    free: list[float] = []
    lanes: dict[str, int] = {}
    for step, (start, end) in sorted(extents.items(), key=_first_begun):
        lane = next((at for at, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        lanes[step] = lane + 1
    return tuple(
        span if span.lane == TURN_LANE else replace(span, lane=lanes.get(span.step, span.lane))
        for span in spans
    )
