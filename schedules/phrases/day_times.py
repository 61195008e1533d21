"""Times of a day: `at 9 and 17`, `between 9 and 17`, `on the hour`, `in the morning`."""

from __future__ import annotations

from schedules.phrases.clock_times import NOON, Reading, minute_of_day, read_clock
from schedules.phrases.draft import Part, PastHour, TimeWindow, TimingDraft
from schedules.phrases.outcome import Refusal, ambiguous
from schedules.phrases.rules import PhraseRule, TimingFragment
from schedules.phrases.tokens import Phrase, ReadValue, Sentence, number_of
from schedules.phrases.vocabulary import PARTS, PLURAL_PARTS

_PART = "in the <part=part> | at night"
_TO = "to | until | till | through | - | up to"
_MINUTE = r"(`c::\d\d` | quarter | half | [minute] <whole>)"
_MINUTES = f"{_MINUTE} (<and> [at] {_MINUTE})*"
_SHOWN_MINUTES = rf"(`c::\d\d` | minute <whole>) (<and> [at] {_MINUTE})*"
_AT = "[at the | <at>]"
_PAST = "[minutes | minute] past | [minutes] after"


def _clocks(phrase: Phrase) -> TimingFragment | None:
    """`at 9 and 17`, `9am`, `for 7:30` after `alarm`. Raises `Refusal`."""
    sentence, begin = phrase.sentence, phrase.end
    introduced = phrase.has("at")
    if phrase.text("at") == "for" and not sentence.match("<reminder>", phrase.start - 1):
        return None
    if introduced and sentence.match("<about>", begin):
        if read_clock(sentence, begin + 1, introduced=True):
            raise ambiguous("A schedule needs an exact time.", f"Leave out {sentence.raw(begin)!r}.")
        return None
    first = read_clock(sentence, begin, introduced=introduced)
    if first is None or not (phrase.leads or _ends_well(sentence, first)):
        return None
    readings, end = _with_part([first.value], sentence, first.end)
    while (joint := sentence.match("[,] word=(or) | <and>", end)) is not None:
        begin = sentence.skip(joint.end, "<at>")
        more = read_clock(sentence, begin, introduced=True)
        if more is None or _is_length(sentence, begin, end) or not _ends_well(sentence, more):
            break
        if joint.has("word"):
            shown = sentence.shown(phrase.start, more.end)
            raise ambiguous(f"{shown!r} leaves open which.", "Name one, or say 'and'.")
        readings, end = _with_part([*readings, more.value], sentence, more.end)
    return TimingFragment(TimingDraft(clocks=_shared(readings)), end, introduced)


def _with_part(readings: list[Reading], sentence: Sentence, end: int) -> tuple[list[Reading], int]:
    """The times before `in the evening`: it applies to all that leave the part of the day open."""
    phrase = sentence.match(_PART, end)
    if phrase is None:
        return readings, end
    part = PARTS[phrase.text("part") or "night"]
    minutes = [
        minute_of_day(reading, part)
        if reading is readings[-1] or reading.form != "exact"
        else reading.minutes
        for reading in readings
    ]
    if part == "night" and minutes[-1] < NOON.minutes:
        return readings, end  # the day depends on the rest of the sentence
    if minutes != sorted(minutes):
        raise ambiguous(
            f"{sentence.shown(end - 1, phrase.end)!r} may be said of one time or of all.",
            "Say each time with am or pm.",
        )
    pairs = zip(minutes, readings, strict=True)
    return [Reading(*divmod(minute, 60), "exact", reading.meridiem) for minute, reading in pairs], phrase.end


def _ends_well(sentence: Sentence, clock: ReadValue[Reading]) -> bool:
    """Whether a bare hour is the end of its phrase, so that it cannot count what follows."""
    end = clock.end
    return (
        clock.value.form != "bare"
        or clock.value.meridiem != ""
        or sentence.kind(end) in {None, "mark", "path", "iso", "clock"}
        or sentence.match("<after_hour> | <days>", end) is not None
        or sentence.text(end - 1) in {"o'clock", "oclock"}
        or sentence.raw(end).isupper()
    )


def _is_length(sentence: Sentence, at: int, before: int) -> bool:
    """Whether `2h` is a length of time: the time before it is written otherwise."""
    return sentence.text(at).endswith("h") and not sentence.text(before - 1).endswith("h")


def _shared(readings: list[Reading]) -> tuple[Reading, ...]:
    """The times of a list; the last one's am or pm may be meant for those before it. Raises `Refusal`."""
    last = readings[-1]
    if any(reading.by_24_hours for reading in readings):
        return tuple(other._replace(form="exact") if other.form == "bare" else other for other in readings)
    if last.meridiem not in {"am", "pm"}:
        return tuple(readings)
    return tuple(_with_meridiem(reading, last) for reading in readings)


def _with_meridiem(reading: Reading, last: Reading) -> Reading:
    if reading.form == "exact" or reading.meridiem:
        return reading
    if last.meridiem == "am" and reading.hour < 12:
        return reading._replace(form="exact", meridiem="am")
    if reading.hour < (last.hour % 12 or 12):
        raise ambiguous(
            f"{reading.hour} may be in the morning or in the afternoon.",
            f"Say {reading.hour}am or {reading.hour}pm.",
        )
    return reading


def _window(phrase: Phrase) -> TimingFragment | None:
    """`between 9 and 17`, `from 9am to 5pm`. Raises `Refusal`."""
    between = phrase.text("word").startswith("between")
    return _two_ends(phrase, phrase.end, "and | -" if between else _TO)


def _bare_window(phrase: Phrase) -> TimingFragment | None:
    """`9-17` after other timing."""
    try:
        return _two_ends(phrase, phrase.start, _TO)
    except Refusal:
        return None  # numbers that are not times


def _two_ends(phrase: Phrase, begin: int, joint: str) -> TimingFragment | None:
    sentence = phrase.sentence
    first = read_clock(sentence, begin, introduced=True, counted=False)
    end = sentence.after(first.end, joint) if first else None
    last = read_clock(sentence, end, introduced=True, counted=False) if end else None
    if first is None or last is None:
        return None
    window = _clear_window(first.value, last.value, sentence.shown(phrase.start, last.end))
    return TimingFragment(TimingDraft(window=window), last.end)


def _clear_window(first: Reading, last: Reading, words: str) -> TimeWindow:
    """The window, where both ends are clear. Raises `Refusal`."""
    overnight = first.form != "exact" and last.meridiem == "pm" and first.hour < last.hour - 12
    if first.form != "exact" and last.meridiem:
        first = first._replace(form="exact")
    reversed_ = first.minutes >= last.minutes and last.form != "exact" and not first.by_24_hours
    if overnight or reversed_:
        raise ambiguous(
            f"{words!r} may be by day or through the night.",
            "Say 'between 9 and 17' or 'from 9am to 5pm'.",
        )
    return TimeWindow(first, last)


def _past_hour(phrase: Phrase) -> TimingDraft | None:
    """`at :15 and :45`, `at quarter past every hour`, `at minute 30`, `at 15 past`."""
    minutes = tuple(_minute(text) for text in phrase.sentence.texts(_MINUTE, *phrase.span("minutes")))
    if any(minute > 59 for minute in minutes):
        return None
    past_hour = PastHour(minutes, every_hour=phrase.has("every_hour"))
    return TimingDraft(past_hour=past_hour)


def _past_unnamed_hour(phrase: Phrase) -> TimingDraft | None:
    """`at 15 past`, at the end or before more timing."""
    sentence, end = phrase.sentence, phrase.end
    ends = sentence.kind(end) in {None, "mark"} or sentence.match("every | on | each", end)
    return _past_hour(phrase) if ends else None


def _minute(text: str) -> int:
    fraction = {"quarter": 15, "half": 30}.get(text)
    return fraction if fraction is not None else number_of(text.removeprefix("minute ").lstrip(":"))


def _part(phrase: Phrase) -> TimingDraft:
    """`in the morning`, `at night`."""
    return TimingDraft(part=Part(PARTS[phrase.text("part") or "night"]))


def _parts(phrase: Phrase) -> TimingFragment:
    """`mornings`, `in the evenings`."""
    part = Part(PLURAL_PARTS[phrase.text("parts")], repeats=True)
    return TimingFragment(TimingDraft(part=part), phrase.end, firm=phrase.end > phrase.start + 1)


RULES = (
    PhraseRule("word=(between the hours of | between | from)", _window),
    PhraseRule(r"`[nc]:\d\S*`", _bare_window, after_timing=True),
    PhraseRule("on the half [-] hour", TimingDraft(past_hour=PastHour((30,)))),
    PhraseRule("on the hour | at the (top of the | full) hour", TimingDraft(past_hour=PastHour((0,)))),
    PhraseRule(f"{_AT} minutes=({_MINUTES}) ({_PAST}) every_hour=([every | each | the] hour)", _past_hour),
    PhraseRule(f"(at the | <at>) minutes=({_MINUTES}) ({_PAST})", _past_unnamed_hour),
    PhraseRule(f"{_AT} minutes=({_SHOWN_MINUTES}) [every_hour=(of (every | each | the) hour)]", _past_hour),
    PhraseRule(
        "[at=(at the time of | at | @ | time : | for)] [exactly | precisely | promptly | both]", _clocks
    ),
    PhraseRule(_PART, _part),
    PhraseRule("[in the | on | at] <parts=parts>", _parts),
)
