"""From when and until when, and how far ahead: `starting tomorrow`, `until December 24`, `in 2 hours`."""

from __future__ import annotations

from schedules.phrases.clocks import read_clock
from schedules.phrases.dates import read_date, read_relative
from schedules.phrases.durations import read_length
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import (
    Ahead,
    ComingWeekday,
    Found,
    Moment,
    Months,
    OnDate,
    RelativeDay,
    Starting,
    Until,
    Vague,
    Weekdays,
)
from schedules.phrases.tokens import Sentence
from schedules.phrases.words import ABOUT, EXACTLY, PARTS, PLURAL_PARTS, read_day_names, read_month_names


def read_months(sentence: Sentence, at: int, *, led: bool, leads: bool) -> Found | None:
    """`in June and July`; `of June` behind other timing."""
    begin = sentence.after(at, "in the months of", "in the month of", "in every", "in each", "in", "during")
    if begin is None and led:
        begin = sentence.after(at, "of every", "of each", "of")
    named = read_month_names(sentence, begin) if begin is not None else None
    if named is None or sentence.kind(named.end) == "number":
        return None
    return Found((Months(named.months),), named.end, firm=led or leads)


def read_ahead(sentence: Sentence, at: int) -> Found | None:
    """`in 2 hours`, `30 minutes from now`. Raises `Refusal`."""
    if sentence.text(at) == "in":
        if sentence.text(at + 1) in ABOUT and read_length(sentence, at + 2):
            raise Refusal(
                "ambiguous", "A schedule needs an exact time.", f"Leave out {sentence.raw(at + 1)!r}."
            )
        length = read_length(sentence, sentence.skip(at + 1, *EXACTLY))
        if length is None:
            return None
        return Found(
            (Ahead(length.number, length.unit),), sentence.skip(length.end, "' time", "time", "from now")
        )
    if sentence.text(at) == "for" and sentence.text(at - 1) == "timer":
        length = read_length(sentence, at + 1)
        return Found((Ahead(length.number, length.unit),), length.end) if length else None
    length = read_length(sentence, at)
    if length is None:
        return None
    end = sentence.after(length.end, "from now", "from today", "hence")
    return Found((Ahead(length.number, length.unit),), end) if end else None


def read_starting(sentence: Sentence, at: int) -> Found | None:
    """`starting tomorrow`, `beginning on December 1`, `from Monday on`. Raises `Refusal`."""
    begin = sentence.after(
        at, "starting on", "starting from", "starting with", "starting at", "starting", "beginning on",
        "beginning from", "beginning at", "beginning", "commencing", "as of", "effective", "starts on",
        "start on",
    )  # fmt: skip
    plain_from = begin is None and sentence.text(at) == "from"
    if begin is None:
        if not plain_from:
            return None
        begin = at + 1
    if end := sentence.after(begin, "right now", "now", "immediately", "right away", "today on"):
        return Found((Starting(),), sentence.skip(end, "on", "onwards", "onward"))
    day = _day(sentence, begin)
    if day is None:
        return None if plain_from else _starting_clock(sentence, begin)
    (piece,) = day.pieces
    end = sentence.skip(day.end, "onwards", "onward", "on") if plain_from else day.end
    if isinstance(piece, Moment):
        return Found((Starting(moment=piece.at),), end)
    assert isinstance(piece, OnDate | RelativeDay | ComingWeekday | Weekdays), "no other piece is a day"
    clock = read_clock(sentence, sentence.skip(end, "at", "@"), introduced=sentence.text(end) in {"at", "@"})
    if clock is None or plain_from:
        return Found((Starting(piece),), end)
    return Found((Starting(piece, clock.reading),), clock.end)


def read_until(sentence: Sentence, at: int) -> Found | None:
    """`until December 24`. Raises `Refusal`."""
    begin = sentence.after(at, "until", "till", "til", "through", "up to", "ending on", "ending")
    if begin is None:
        return None
    day = _day(sentence, begin)
    if day is None:
        clock = read_clock(sentence, begin, introduced=True)
        if clock is None:
            return None
        words = sentence.shown(at, clock.end)
        return Found((Vague(words, "a window, such as 'every hour between 9 and 17'"),), clock.end)
    (piece,) = day.pieces
    if isinstance(piece, Moment):
        return Found((Vague(sentence.shown(at, day.end), "a last day, such as 'until 2026-12-24'"),), day.end)
    assert isinstance(piece, OnDate | RelativeDay | ComingWeekday | Weekdays), "no other piece is a day"
    return Found((Until(piece),), day.end)


def _starting_clock(sentence: Sentence, at: int) -> Found | None:
    clock = read_clock(sentence, at, introduced=True)
    return Found((Starting(clock=clock.reading),), clock.end) if clock else None


def _day(sentence: Sentence, at: int) -> Found | None:
    """One day that is told alone."""
    if date := read_date(sentence, at):
        return date
    relative = read_relative(sentence, at)
    if relative is not None:
        return (
            relative
            if isinstance(relative.pieces[0], RelativeDay | ComingWeekday) and len(relative.pieces) == 1
            else None
        )
    named = read_day_names(sentence, sentence.skip(at, "on"))
    if (
        named is None
        or named.number != 1
        or named.plural
        or sentence.text(named.end) in {*PARTS, *PLURAL_PARTS}
    ):
        return None
    return Found((Weekdays(named.weekdays, repeats=False),), named.end)
