"""What must not stand around a timing: words that change it, and remains of a timing that was not understood.

A schedule that is wrong is worse than none: whatever these rules do not know, they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from schedules.phrases.draft import TimingDraft
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import not_a_schedule, not_understood, unknown
from schedules.phrases.scan import Cluster
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import (
    AGAIN,
    CHANGING_AFTER,
    CHANGING_BEFORE,
    CHOOSING,
    CONDITIONS,
    COUNTING,
    DATED,
    DAY_NAMES,
    FEW,
    FULL_DAYS,
    HOLIDAYS,
    LEADING,
    LIMITS,
    MONTH_NUMBERS,
    OWNERS,
    PARTS,
    PLURAL_DAYS,
    POLITE,
    RELATING,
    SHORT_NAMES,
    STATING,
    STRETCHES,
    STRETCHING,
    TELLING,
    TIES,
    TIME_WORDS,
    UNITS,
    UNKNOWN_DAYS,
    WEEKS,
)
from schedules.phrases.zone_names import ABBREVIATIONS, UNCLEAR, zone_of
from schedules.phrases.zones import mentions_zone

MISSPELT = [*FULL_DAYS, "tomorrow", "tonight", "today", "every", "weekday", "weekend", "morning", "evening"]
"""Words that a word with nearly the same spelling may mean."""


def check_before(sentence: Sentence, cluster: Cluster) -> None:
    """Raise `Refusal` for a timing that the words right before it change."""
    before = sentence.text(cluster.start - 1)
    if before in STATING and not _is_asked_for(sentence, cluster.start - 1):
        raise not_a_schedule(
            f"{sentence.shown(cluster.start - 1, cluster.end)!r} says when something is, "
            "not what to do then.",
            "Say what to do: 'Check my mail every day at 9'.",
        )
    up_to = before == "to" and sentence.text(cluster.start - 2) == "up"
    good_friday = before == "good" and sentence.text(cluster.start) in FULL_DAYS
    counted_from = cluster.has_day and (before == "following" or _weeks_end(sentence, cluster.start))
    if (
        before in CHANGING_BEFORE
        or (up_to or good_friday or counted_from)
        or _is_numbered(sentence, cluster.start - 1)
    ):
        raise not_understood(sentence.shown(cluster.start - 1, cluster.end))
    beside = cluster.start - 1
    while sentence.text(beside) in {"and", ",", "&", "/", "-"}:
        beside -= 1
    tied = sentence.text(beside - 1) in TIES | {"for", "about", "since", "from"}
    if _is_day_name(sentence, beside) and not tied:
        raise not_understood(sentence.shown(beside, cluster.end))


def check_after(sentence: Sentence, cluster: Cluster, draft: TimingDraft, *, task_before: bool) -> None:
    """Refuse a timing that the words right behind it change. `task_before`: a task stands before it."""
    at = sentence.skip(cluster.end, ",")
    word, parted = sentence.text(at), at > cluster.end
    if word == "for":
        _check_stretch(sentence, at, draft)
    if (
        word in CHANGING_AFTER
        or (word in CONDITIONS and not (task_before or parted or cluster.start == 0))
        or _begins_timing(sentence, sentence.after(at, "and | then | as well as"))
        or (
            word == "-"
            and (sentence.text(at + 1) == "ish" or (sentence.touches(at) and sentence.touches(at + 1)))
        )
        or (word in COUNTING or sentence.kind(at) in {"clock", "iso", "date", "number"})
        or (word in TIME_WORDS or (word in SHORT_NAMES and not (word == "may" and parted)))
        or _is_numbered(sentence, sentence.skip(at, "on the | the"))
        or _is_clock(sentence, at)
        or (not parted and _is_strange(sentence, at))
        or (parted and _is_place(sentence, at))
        or _names_time(sentence, at)
    ):
        raise not_understood(sentence.shown(cluster.start, at + 2))


def check_mentions(
    sentence: Sentence, cluster: Cluster, mentions: Sequence[Cluster], draft: TimingDraft
) -> None:
    """Refuse a timing beside a time that a word such as `before` or `of` keeps from being part of it."""
    for mention in mentions:
        limit = sentence.text(mention.start - 1) in LIMITS
        if mention.end == cluster.start and (limit or not draft.names_day):
            raise not_understood(sentence.shown(mention.start - 1, cluster.end))
        behind = cluster.end == mention.start - (1 if limit else 0)
        if behind and (limit or not draft.names_day):
            raise not_understood(sentence.shown(cluster.start, mention.end))


def check_rest(sentence: Sentence, used: Sequence[Cluster], draft: TimingDraft) -> None:
    """Refuse a sentence in whose other words something about when is left."""
    if sentence.text(0) == "for" and (_near(sentence, 0, STRETCHES) or read_length(sentence, 1)):
        raise not_understood(sentence.shown(0, 5))
    if not draft.names_day and (end := _stretch_at_first(sentence, used[0].start)):
        raise not_understood(sentence.shown(0, end))
    untimed = not draft.clocks and draft.moment is None and draft.small_step is None
    for at in range(len(sentence)):
        if any(cluster.holds(at) for cluster in used):
            continue
        word = sentence.text(at)
        if (
            mentions_zone(sentence, at)
            or word in {"instead", "latest", "earliest"}
            or (word == "times" and sentence.text(at - 1) in COUNTING | FEW)
            or (word in {"except", "excluding", "unless"} and _near(sentence, at, HOLIDAYS | TIME_WORDS))
            or (not draft.names_day and (_speaks_of_days(sentence, at) or _is_date(sentence, at)))
            or (not draft.repeats and word in AGAIN and not _is_thing(sentence, at))
            or (word in {"every", "each"} and _counts_time(sentence, at + 1))
            or (untimed and word in {"at", "@"} and _is_clock(sentence, at))
        ):
            raise not_understood(sentence.shown(at, at + 3))


def _is_asked_for(sentence: Sentence, at: int) -> bool:
    """`tell me how the weather is`: a verb that states belongs to what is asked for."""
    asks = sentence.text(0) in {"tell", "show", "let", "report"}
    question = any(sentence.text(near) in {"how", "what", "who", "where"} for near in range(at))
    return sentence.text(at) in {"is", "are"} and asks and question


def _check_stretch(sentence: Sentence, at: int, draft: TimingDraft) -> None:
    """Refuse `for 2 weeks` behind a timing; `for 10 minutes` belongs to the task of a daily one."""
    length = read_length(sentence, sentence.skip(at + 1, "the next | another | the first"))
    small = length is not None and length.length.is_small
    if length is not None and (not small or draft.small_step is not None):
        raise unknown("How long it goes on is not understood.", "Say 'until' and a date.")
    if not draft.names_day or _near(sentence, at, STRETCHES):
        raise not_understood(sentence.shown(at, at + 4))


def _weeks_end(sentence: Sentence, at: int) -> bool:
    """Whether the `a week` of `a week on Monday` ends there; not `for a week`, which is the task's."""
    for start in range(at - 3, at):
        length = read_length(sentence, start)
        if length is not None and length.end == at and sentence.text(at - 1) in WEEKS:
            return sentence.text(start - 1) not in OWNERS | {"for", "of"}
    return False


def _stretch_at_first(sentence: Sentence, end: int) -> int | None:
    """The place behind `during the week`, where the sentence says so first and at what time next."""
    begin = next((at for at in range(end) if sentence.text(at) not in POLITE), end)
    last = end - 2 if sentence.text(end - 1) == "," else end - 1
    stretch = begin < last <= begin + 4 and sentence.text(last) in TIME_WORDS
    return last + 1 if stretch and sentence.text(begin) in LEADING else None


def _begins_timing(sentence: Sentence, at: int | None) -> bool:
    """Whether what stands there, behind `and`, goes on about when."""
    if at is None:
        return False
    word = sentence.text(at)
    return (
        word in {"every", "each", "at", "until", "starting", "not", "again"}
        or (word in {"on", "in"} and _near(sentence, at, DATED))
        or (word in {"a", "an"} and sentence.text(at + 1) in {"half", "quarter", *UNITS})
        or (word in COUNTING or word in DAY_NAMES)
        or sentence.kind(at) in {"number", "clock", "iso", "date"}
    )


def _is_clock(sentence: Sentence, at: int) -> bool:
    """Whether what stands there may be a time of day: `at 9`, `:30`."""
    begin = sentence.skip(at, "<at>")
    glued = sentence.text(at) in {":", "."} and sentence.touches(at + 1)
    word = sentence.text(at + 1 if glued else begin)
    told = word in COUNTING or word in {"half", "quarter", "noon", "midnight"}
    return (glued or begin > at) and (told or word[:1].isdigit() or word[:1] == ":")


def _is_strange(sentence: Sentence, at: int) -> bool:
    """Whether what stands right behind a timing may be a zone or a day that is not known."""
    word, raw = sentence.text(at), sentence.raw(at)
    zone = word in ABBREVIATIONS or word in UNCLEAR or (raw.isupper() and 2 <= len(raw) <= 5)
    return (
        (zone and sentence.kind(at + 1) in {None, "mark"})
        or _is_place(sentence, at)
        or (word in {"this", "next", "last"} and sentence.text(at + 1) in TIME_WORDS)
        or (word in {"in", "on"} and _near(sentence, at, DATED))
    )


def _is_place(sentence: Sentence, at: int) -> bool:
    """Whether `Berlin` stands there alone, whose time may be meant."""
    end = next((end for end in range(at, len(sentence)) if sentence.kind(end) == "mark"), len(sentence))
    return at < end <= at + 3 and zone_of(sentence.shown(at, end)) is not None


def _names_time(sentence: Sentence, at: int) -> bool:
    """Whether `Some Place time` stands there, or a word for a part of the day, up to the next mark."""
    end = next((end for end in range(at, len(sentence)) if sentence.kind(end) == "mark"), len(sentence))
    asked_for = sentence.text(end - 2) == "the" and sentence.text(end - 3) in TELLING
    named = at < end <= at + 4 and sentence.text(end - 1) == "time" and not asked_for
    return sentence.text(at) in HOLIDAYS or named


def _is_date(sentence: Sentence, at: int) -> bool:
    """Whether `23.11.` or `11/23` stands there."""
    if re.fullmatch(r"\d{1,2}\.\d{1,2}", sentence.text(at)):
        return True
    apart = sentence.text(at + 1) in {"/", "-"} and sentence.touches(at + 1) and sentence.touches(at + 2)
    return apart and sentence.kind(at) == sentence.kind(at + 2) == "number"


def _speaks_of_days(sentence: Sentence, at: int) -> bool:
    """Whether a word of the task may say on which days, where nothing else does."""
    word = sentence.text(at)
    if word in HOLIDAYS or word in AGAIN or word in FULL_DAYS or word in PLURAL_DAYS:
        return True
    if word in MONTH_NUMBERS and (word not in {"may", "march", "mar"} or sentence.raw(at)[:1].isupper()):
        return True
    if word in {"tomorrow", "tonight"} or (word.endswith("'s") and word[:-2] in FULL_DAYS):
        return True
    if word in STRETCHING and _is_related(sentence, at):
        return True
    if len(word) > 4 and "'" not in word and get_close_matches(word, MISSPELT, n=1, cutoff=0.82):
        return word not in MISSPELT
    return (word in TIME_WORDS or _is_numbered(sentence, at)) and not _is_owned(sentence, at)


def _is_related(sentence: Sentence, at: int) -> bool:
    """Whether the day is told from something else (`the day before the deadline`), or is any of several."""
    before = sentence.text(at - 1) in CHOOSING and sentence.text(at) not in PARTS.keys() | {"weekend"}
    since = sentence.text(at + 1)
    return before or (since in RELATING and (since != "before" or sentence.kind(at + 2) is not None))


def _is_owned(sentence: Sentence, at: int) -> bool:
    """Whether the time there is a thing: `my day`, `the next two weeks`, but not `the mail on day 5`."""
    between = next((near for near in (at - 1, at - 2, at - 3) if sentence.text(near) in OWNERS | LEADING), at)
    return sentence.text(between) in OWNERS


def _is_thing(sentence: Sentence, at: int) -> bool:
    """`the daily report`, `every repository`: the word belongs to a thing."""
    if sentence.kind(at + 1) != "word":
        return False
    if sentence.text(at) in {"every", "each"}:
        return not _counts_time(sentence, at + 1)
    return sentence.text(at - 1) in TIES


def _counts_time(sentence: Sentence, at: int) -> bool:
    """Whether `every` with what stands there says when."""
    word = sentence.text(at)
    return (
        word in DATED | SHORT_NAMES | COUNTING | UNKNOWN_DAYS
        or word in {"first", "second", "third", "last", "alternate"}
        or sentence.kind(at) in {"number", "clock"}
    )


def _is_numbered(sentence: Sentence, at: int) -> bool:
    """Whether `13th` stands there."""
    return sentence.match("<nth>", at) is not None


def _is_day_name(sentence: Sentence, at: int) -> bool:
    word = sentence.text(at)
    if sentence.text(at - 1) == "good" and word in PARTS:
        return False
    return word in DAY_NAMES or (word in SHORT_NAMES and sentence.raw(at)[:1].isupper() and at > 0)


def _near(sentence: Sentence, at: int, words: frozenset[str]) -> bool:
    return any(sentence.text(near) in words for near in range(at + 1, at + 4))
