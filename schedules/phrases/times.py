"""At what times of a day: `at 9 and 17`, `between 9 and 17`, `on the hour`, `in the morning`."""

from __future__ import annotations

from schedules.phrases.clocks import NOON, Reading, minute_of_day, read_clock
from schedules.phrases.numbers import read_whole
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Clocks, Found, Part, PastHour, Window
from schedules.phrases.repeating import read_weekdays
from schedules.phrases.tokens import Sentence, word_set
from schedules.phrases.words import ABOUT, EXACTLY, PARTS, PLURAL_PARTS, REMINDERS

GOING_ON = word_set(
    "thanks thank cheers and on every each to in from for starting until till please sharp exactly daily "
    "weekly monthly yearly local then tomorrow today tonight this next with about via using by if when "
    "whether because so that which but as into onto over under without after before o'clock or of "
    "weekdays weekends mornings evenings except utc gmt between beginning once at also i time only not "
    "during unless nightly annually the"
)
"""Words that can follow a bare hour; before any other word the number may count what the word names."""


def read_clocks(sentence: Sentence, at: int, *, leads: bool) -> Found | None:
    """The times of day that begin there; `leads`: nothing but timing stands before them. Raises `Refusal`."""
    begin = sentence.after(at, "at the time of", "at", "@", "time :")
    if sentence.text(at) == "for" and sentence.text(at - 1) in REMINDERS:
        begin = at + 1
    introduced = begin is not None
    begin = sentence.skip(at if begin is None else begin, *EXACTLY, "both")
    if introduced and sentence.text(begin) in ABOUT:
        near = read_clock(sentence, begin + 1, introduced=True)
        if near is not None:
            raise Refusal(
                "ambiguous", "A schedule needs an exact time.", f"Leave out {sentence.raw(begin)!r}."
            )
        return None
    first = read_clock(sentence, begin, introduced=introduced)
    if first is None or not _ends_well(sentence, first.reading, first.end, leads=leads):
        return None
    readings, end = _with_part([first.reading], sentence, first.end)
    while (behind := sentence.skip(end, ", and", ",", "and", "&", ", or", "or")) > end:
        begin = sentence.skip(behind, "at", "@")
        more = read_clock(sentence, begin, introduced=True)
        if (
            more is None
            or _is_length(sentence, begin, end)
            or not _ends_well(sentence, more.reading, more.end, leads=False)
        ):
            break
        if sentence.text(behind - 1) == "or":
            raise Refusal(
                "ambiguous", f"{sentence.shown(at, more.end)!r} leaves open which.", "Name one, or say 'and'."
            )
        readings, end = _with_part([*readings, more.reading], sentence, more.end)
    return Found((Clocks(_shared(readings)),), end, firm=introduced)


def _with_part(readings: list[Reading], sentence: Sentence, end: int) -> tuple[list[Reading], int]:
    """The times, where `in the evening` stands behind them: it is said of all that leave it open."""
    part = read_part(sentence, end)
    if part is None or not isinstance(part.pieces[0], Part) or part.pieces[0].repeats:
        return readings, end
    minutes = [
        minute_of_day(each, part.pieces[0].name)
        if each is readings[-1] or each.form != "exact"
        else each.minutes
        for each in readings
    ]
    if part.pieces[0].name == "night" and minutes[-1] < NOON:
        return readings, end  # of which day depends on what else is said
    if minutes != sorted(minutes):
        raise Refusal(
            "ambiguous",
            f"{sentence.shown(end - 1, part.end)!r} may be said of one time or of all.",
            "Say each time with am or pm.",
        )
    return [
        Reading(*divmod(minute, 60), "exact", each.meridiem)
        for minute, each in zip(minutes, readings, strict=True)
    ], part.end


def read_window(sentence: Sentence, at: int, *, led: bool) -> Found | None:
    """`between 9 and 17`, `from 9am to 5pm`, and `9-17` behind other timing. Raises `Refusal`."""
    begin = sentence.after(at, "between the hours of", "between", "from")
    if begin is None and not led:
        return None
    if begin is None and sentence.kind(at) not in {"number", "clock"}:
        return None
    try:
        return _ends_of_window(sentence, at, at if begin is None else begin)
    except Refusal:
        if begin is None:
            return None  # numbers that are no times, behind a timing
        raise


def _ends_of_window(sentence: Sentence, at: int, begin: int) -> Found | None:
    first = read_clock(sentence, begin, introduced=True, counted=False)
    if first is None:
        return None
    between = sentence.text(at) == "between"
    joins = ("and", "-") if between else ("to", "until", "till", "through", "-", "up to")
    behind = sentence.after(first.end, *joins)
    last = read_clock(sentence, behind, introduced=True, counted=False) if behind else None
    if last is None:
        return None
    return Found((_window(first.reading, last.reading, sentence.shown(at, last.end)),), last.end)


def read_past_hour(sentence: Sentence, at: int) -> Found | None:
    """Minutes of each hour: `on the hour`, `at :15 and :45`, `at quarter past every hour`."""
    if end := sentence.after(at, "on the half hour", "on the half - hour"):
        return Found((PastHour((30,), every_hour=False),), end)
    if end := sentence.after(at, "on the hour", "at the top of the hour", "at the full hour"):
        return Found((PastHour((0,), every_hour=False),), end)
    begin = sentence.skip(at, "at the", "at", "@")
    minutes: list[int] = []
    end = begin
    while (found := _minute(sentence, end)) is not None:
        minutes.append(found[0])
        end = found[1]
        behind = sentence.skip(end, ", and", ",", "and", "&")
        if behind == end or _minute(sentence, sentence.skip(behind, "at")) is None:
            break
        end = sentence.skip(behind, "at")
    if not minutes or any(minute > 59 for minute in minutes):
        return None
    colon = sentence.text(begin).startswith(":") or sentence.text(begin) == "minute"
    past = sentence.after(end, "minutes past", "minute past", "past", "after", "minutes after")
    if past is None:
        of = sentence.after(end, "of every hour", "of each hour", "of the hour") if colon else None
        return Found((PastHour(tuple(minutes), of is not None),), of or end) if colon else None
    hour = sentence.after(past, "every hour", "each hour", "the hour", "hour")
    if hour is not None:
        return Found((PastHour(tuple(minutes), every_hour=True),), hour)
    ends = sentence.kind(past) in {None, "mark"} or sentence.text(past) in {"every", "on", "each"}
    return Found((PastHour(tuple(minutes), every_hour=False),), past) if ends and begin > at else None


def read_part(sentence: Sentence, at: int) -> Found | None:
    """`in the morning`, `at night`, `mornings`."""
    if sentence.after(at, "in the") and (part := PARTS.get(sentence.text(at + 2))):
        return Found((Part(part, repeats=False),), at + 3)
    if end := sentence.after(at, "at night"):
        return Found((Part("night", repeats=False),), end)
    begin = sentence.skip(at, "in the", "on", "at")
    if part := PLURAL_PARTS.get(sentence.text(begin)):
        return Found((Part(part, repeats=True),), begin + 1, firm=begin > at)
    return None


def by_24_hours(reading: Reading) -> bool:
    """Whether the time can only be one of the 24-hour clock, so that its neighbour is one too."""
    return reading.form == "exact" and reading.hour > 12 and not reading.meridiem


def _is_length(sentence: Sentence, at: int, before: int) -> bool:
    """Whether `2h` is a length of time: the time before it is written otherwise."""
    return sentence.text(at).endswith("h") and not sentence.text(before - 1).endswith("h")


def _ends_well(sentence: Sentence, reading: Reading, end: int, *, leads: bool) -> bool:
    """Whether a bare hour is the end of its phrase, so that it cannot count what follows."""
    if (
        leads
        or reading.form != "bare"
        or reading.meridiem
        or sentence.kind(end) in {None, "mark", "path", "iso", "clock"}
    ):
        return True
    before = sentence.text(end - 1)
    return (
        sentence.text(end) in GOING_ON
        or before in {"o'clock", "oclock"}
        or read_weekdays(sentence, end) is not None
        or sentence.raw(end).isupper()
    )


def _shared(readings: list[Reading]) -> tuple[Reading, ...]:
    """The times of a list; the last one's am or pm may be meant for those before it. Raises `Refusal`."""
    last = readings[-1]
    if any(by_24_hours(reading) for reading in readings):
        return tuple(each._replace(form="exact") if each.form == "bare" else each for each in readings)
    if last.meridiem not in {"am", "pm"}:
        return tuple(readings)
    shared = []
    for reading in readings:
        if reading.form == "exact" or reading.meridiem:
            shared.append(reading)
        elif last.meridiem == "am" and reading.hour < 12:
            shared.append(reading._replace(form="exact", meridiem="am"))
        elif reading.hour < (last.hour % 12 or 12):
            raise Refusal(
                "ambiguous",
                f"{reading.hour} may be in the morning or in the afternoon.",
                f"Say {reading.hour}am or {reading.hour}pm.",
            )
        else:
            shared.append(reading)
    return tuple(shared)


def _window(first: Reading, last: Reading, words: str) -> Window:
    """The window, where both ends are clear. Raises `Refusal`."""
    if first.form != "exact" and last.meridiem:
        if last.meridiem == "pm" and first.hour < last.hour - 12:
            first = _unclear_window(words)
        first = first._replace(form="exact")
    if first.minutes >= last.minutes and last.form != "exact" and not by_24_hours(first):
        _unclear_window(words)
    return Window(first, last)


def _unclear_window(words: str) -> Reading:
    raise Refusal(
        "ambiguous",
        f"{words!r} may be by day or through the night.",
        "Say 'between 9 and 17' or 'from 9am to 5pm'.",
    )


def _minute(sentence: Sentence, at: int) -> tuple[int, int] | None:
    text = sentence.text(at)
    if sentence.kind(at) == "clock" and text.startswith(":"):
        return int(text[1:]), at + 1
    if text in {"quarter", "half"}:
        return (15 if text == "quarter" else 30), at + 1
    if text == "minute":
        at += 1
    number = read_whole(sentence, at)
    return (number.value, number.end) if number else None
