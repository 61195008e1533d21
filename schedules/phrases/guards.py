"""Guards against misread timings: words that change a timing, and words about time that no rule reads.

A wrong schedule is worse than none: these rules refuse everything that they do not recognise.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from schedules.phrases.draft import TimingDraft
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import not_a_schedule, not_understood, unknown
from schedules.phrases.scan import Cluster
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import FULL_DAYS
from schedules.phrases.zone_names import ABBREVIATIONS, UNCLEAR, zone_of
from schedules.phrases.zones import mentions_zone

CHANGED_BY = "<changing_before> | up to | <nth>"
"""What changes the timing after it."""

_MOMENT = r"`n:\S+|c:\S+|iso:|date:`"
_CLOCK = r"(<counting> | half | quarter | noon | midnight | `[nc]:\S+|iso:|date:|\d\S*`)"
_SOON = "[<any> [<any>]]"
_GOES_ON = (
    "(and | then | as well as) (every | each | at | until | starting | not | again | <counting> | <day_name>"
    f" | {_MOMENT} | (on | in) {_SOON} <dated> | (a | an) (half | quarter | <any_unit>))"
)
CHANGES = (
    f"<changing_after> | {_GOES_ON} | - ish | <counting> | {_MOMENT} | <time_word> | <short_name>"
    f" | `march|mar` | [[on] the] <nth> | <at> {_CLOCK} | <holiday>"
)
"""What changes the timing before it, also after a comma."""

CHANGES_NEXT = f"`may` | (this | next | last) <time_word> | (on | in) {_SOON} <dated>"
"""What changes the timing right before it."""

_COUNTED = (
    "(<dated> | <short_name> | <counting> | <unknown_day> | first | second | third | last | alternate"
    r" | `[nc]:\S+`)"
)
UNREAD = (
    f"instead | latest | earliest | (<counting> | <few>) times | (every | each) {_COUNTED}"
    f" | (except | excluding | unless) {_SOON} (<holiday> | <time_word>)"
)
"""What says something about when anywhere in the sentence."""

NAMES_DAY = "<holiday> | <again> | DAY | DAYS | MONTH | SHORTMONTH | tomorrow | tonight"
MISSPELT = [*FULL_DAYS, "tomorrow", "tonight", "today", "every", "weekday", "weekend", "morning", "evening"]
"""Words that a word with nearly the same spelling may mean."""


def check_before(sentence: Sentence, cluster: Cluster) -> None:
    """Raise `Refusal` for a timing that the words right before it change."""
    start = cluster.start
    if sentence.match("<stating>", start - 1) and not _is_asked_for(sentence, start - 1):
        raise not_a_schedule(
            f"{sentence.shown(start - 1, cluster.end)!r} says when something is, not what to do then.",
            "Say what to do: 'Check my mail every day at 9'.",
        )
    counted_from = cluster.has_day and (sentence.match("following", start - 1) or _ends_week(sentence, start))
    good_friday = sentence.match("good DAY", start - 1)
    if sentence.before(CHANGED_BY, start) or good_friday or counted_from:
        raise not_understood(sentence.shown(start - 1, cluster.end))
    beside = start - 1
    while sentence.match("and | , | & | / | -", beside):
        beside -= 1
    if _is_day_name(sentence, beside) and not sentence.match(
        "<tie> | for | about | since | from", beside - 1
    ):
        raise not_understood(sentence.shown(beside, cluster.end))


def check_after(sentence: Sentence, cluster: Cluster, draft: TimingDraft, *, task_before: bool) -> None:
    """Raise `Refusal` for a timing that the words after it change. `task_before`: a task precedes it."""
    at = sentence.skip(cluster.end, ",")
    parted = at > cluster.end
    if sentence.match("for", at):
        _check_stretch(sentence, at, draft)
    condition = sentence.match("<condition>", at) and not (task_before or parted or cluster.start == 0)
    glued = sentence.match("-", at) and sentence.touches(at) and sentence.touches(at + 1)
    minutes = sentence.match(f"(: | .) {_CLOCK}", at) and sentence.touches(at + 1)
    next_to = not parted and (sentence.match(CHANGES_NEXT, at) or _may_be_zone(sentence, at))
    if sentence.match(CHANGES, at) or condition or glued or minutes or next_to or _names_place(sentence, at):
        raise not_understood(sentence.shown(cluster.start, at + 2))


def check_mentions(
    sentence: Sentence, cluster: Cluster, mentions: Sequence[Cluster], draft: TimingDraft
) -> None:
    """Raise `Refusal` for a timing next to a time that a word such as `before` or `of` keeps out of it."""
    for mention in mentions:
        limit = sentence.match("<limit>", mention.start - 1) is not None
        if not limit and draft.names_day:
            continue
        if mention.end == cluster.start:
            raise not_understood(sentence.shown(mention.start - 1, cluster.end))
        if cluster.end == mention.start - (1 if limit else 0):
            raise not_understood(sentence.shown(cluster.start, mention.end))


def check_rest(sentence: Sentence, used: Sequence[Cluster], draft: TimingDraft) -> None:
    """Raise `Refusal` where the other words of the sentence say something about when."""
    if sentence.match(f"for {_SOON} <stretch>", 0) or (sentence.match("for", 0) and read_length(sentence, 1)):
        raise not_understood(sentence.shown(0, 5))
    if not draft.names_day and (end := _first_stretch(sentence, used[0].start)):
        raise not_understood(sentence.shown(0, end))
    timed = draft.clocks or draft.moment or draft.small_step
    for at in range(len(sentence)):
        if any(cluster.holds(at) for cluster in used):
            continue
        if (
            sentence.match(UNREAD, at)
            or mentions_zone(sentence, at)
            or (not draft.names_day and (_speaks_of_days(sentence, at) or _is_date(sentence, at)))
            or (not draft.repeats and sentence.match("<again>", at) and not _is_thing(sentence, at))
            or (not timed and sentence.match(f"<at> {_CLOCK}", at))
        ):
            raise not_understood(sentence.shown(at, at + 3))


def _is_asked_for(sentence: Sentence, at: int) -> bool:
    """`tell me how the weather is`: a stating verb that is part of the request."""
    asks = sentence.match("tell | show | let | report", 0) and sentence.match("is | are", at)
    return asks is not None and any(sentence.match("how | what | who | where", near) for near in range(at))


def _check_stretch(sentence: Sentence, at: int, draft: TimingDraft) -> None:
    """Raise `Refusal` for `for 2 weeks` after a timing; `for 10 minutes` may belong to the task."""
    length = read_length(sentence, sentence.skip(at + 1, "the next | another | the first"))
    if length is not None and (not length.value.is_small or draft.small_step is not None):
        raise unknown("How long it goes on is not understood.", "Say 'until' and a date.")
    if not draft.names_day or sentence.match(f"for {_SOON} <stretch>", at):
        raise not_understood(sentence.shown(at, at + 4))


def _ends_week(sentence: Sentence, at: int) -> bool:
    """Whether the `a week` of `a week on Monday` ends there; not `for a week`, which is the task's."""
    for start in range(at - 3, at):
        length = read_length(sentence, start)
        if length is not None and length.end == at and sentence.match("<week>", at - 1):
            return sentence.match("<owner> | for | of", start - 1) is None
    return False


def _first_stretch(sentence: Sentence, end: int) -> int | None:
    """The place after `during the week`, where the sentence begins with it and the time follows."""
    begin = next((at for at in range(end) if not sentence.match("<polite>", at)), end)
    last = end - 2 if sentence.text(end - 1) == "," else end - 1
    stretch = begin < last <= begin + 4 and sentence.match("<time_word>", last)
    return last + 1 if stretch and sentence.match("<leading>", begin) else None


def _may_be_zone(sentence: Sentence, at: int) -> bool:
    """Whether `XYZ` or `CST` is there alone, which may be an unknown zone."""
    word, raw = sentence.text(at), sentence.raw(at)
    zone = word in ABBREVIATIONS or word in UNCLEAR or (raw.isupper() and 2 <= len(raw) <= 5)
    return zone and sentence.kind(at + 1) in {None, "mark"}


def _names_place(sentence: Sentence, at: int) -> bool:
    """Whether `Berlin` or `Some Place time` is there, up to the next mark."""
    end = next((end for end in range(at, len(sentence)) if sentence.kind(end) == "mark"), len(sentence))
    if at < end <= at + 3 and zone_of(sentence.shown(at, end)) is not None:
        return True
    asked_for = sentence.before("<telling> the time", end)
    return at < end <= at + 4 and sentence.text(end - 1) == "time" and not asked_for


def _is_date(sentence: Sentence, at: int) -> bool:
    """Whether `23.11.` or `11/23` is there."""
    if sentence.match(r"`n:\d{1,2}\.\d{1,2}`", at):
        return True
    apart = sentence.match(r"`n:\S+` (/ | -) `n:\S+`", at)
    return apart is not None and sentence.touches(at + 1) and sentence.touches(at + 2)


def _speaks_of_days(sentence: Sentence, at: int) -> bool:
    """Whether a word of the task may name the days, if no other word does."""
    word = sentence.text(at)
    if sentence.match(NAMES_DAY, at) or (word.endswith("'s") and word[:-2] in FULL_DAYS):
        return True
    if sentence.match("<stretching>", at) and _is_related(sentence, at):
        return True
    if len(word) > 4 and "'" not in word and get_close_matches(word, MISSPELT, n=1, cutoff=0.82):
        return word not in MISSPELT
    return sentence.match("<time_word> | <nth>", at) is not None and not _is_owned(sentence, at)


def _is_related(sentence: Sentence, at: int) -> bool:
    """Whether the day is relative to something else (`the day before the deadline`), or any of several."""
    if sentence.before("<choosing>", at) and not sentence.match("<part> | weekend", at):
        return True
    return sentence.match("<any> (of | after | following | before <any>)", at) is not None


def _is_owned(sentence: Sentence, at: int) -> bool:
    """Whether the time is a noun of the task: `my day`, `the next two weeks`, but not `the mail on day 5`."""
    near = next(
        (near for near in (at - 1, at - 2, at - 3) if sentence.match("<owner> | <leading>", near)), at
    )
    return sentence.match("<owner>", near) is not None


def _is_thing(sentence: Sentence, at: int) -> bool:
    """`the daily report`, `every repository`: the word belongs to a noun of the task."""
    if sentence.kind(at + 1) != "word":
        return False
    if sentence.match("every | each", at):
        return sentence.match(_COUNTED, at + 1) is None
    return sentence.match("<tie>", at - 1) is not None


def _is_day_name(sentence: Sentence, at: int) -> bool:
    if sentence.before("good", at) and sentence.match("<part>", at):
        return False
    short = sentence.match("<short_name>", at) and sentence.is_capital(at) and at > 0
    return sentence.match("<day_name>", at) is not None or bool(short)
