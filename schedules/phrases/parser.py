"""Parses a sentence into timing and task, or refuses it. Pure: the current time is passed in."""

from __future__ import annotations

from datetime import UTC, datetime

from schedules.phrases.clock_times import read_clock
from schedules.phrases.exact import read_canonical, read_cron
from schedules.phrases.guards import check_after, check_before, check_rest
from schedules.phrases.intent import check_asks
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import (
    Refusal,
    Refused,
    Understood,
    absent,
    ambiguous,
    incomplete,
    not_a_schedule,
    past,
    unknown,
)
from schedules.phrases.scan import Cluster, PhraseScan, scan
from schedules.phrases.selection import select
from schedules.phrases.task import task_of
from schedules.phrases.tokens import Sentence
from schedules.phrases.zones import refuse_place

LONGEST = 10_000
"""Characters of the longest sentence that is parsed."""


def parse(sentence: str, now: datetime, zone: str) -> Understood | Refused:
    """The timing and the task of the sentence at `now`, in the IANA zone `zone` where it names no other.

    It may also be a bare timing, its canonical text, a cron expression or an ISO time; then there is no task.
    """
    try:
        return _parse(sentence.strip(), now.astimezone(UTC), zone)
    except Refusal as refusal:
        return refusal.refused
    except OverflowError:
        return Refused("impossible", "That is beyond the years that a date can hold.", "Name an earlier one.")


def _parse(text: str, now: datetime, zone: str) -> Understood:
    if not text:
        raise absent("The sentence is empty.", "Say what to do and when: 'Check my mail every day at 9'.")
    if len(text) > LONGEST:
        raise unknown(f"The sentence has more than {LONGEST} characters.", "Put the long part into a file.")
    exact = read_canonical(text, now, zone) or read_cron(text, now, zone)
    if exact is not None:
        return exact
    sentence = Sentence(text)
    found = scan(sentence)
    check_asks(sentence, found.used)
    if not found.used:
        raise _absence(sentence, found)
    used, resolved = select(sentence, found, now, zone)
    task = task_of(sentence, used)
    if task is not None and resolved.draft.zone is not None:
        refuse_place(resolved.draft.zone)
    for cluster in used:
        check_before(sentence, cluster)
        task_before = _task_precedes(sentence, used, cluster)
        check_after(sentence, cluster, resolved.draft, task_before=task_before)
    check_rest(sentence, used, resolved.draft)
    return Understood(resolved.timing, resolved.zone, task)


def _task_precedes(sentence: Sentence, used: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether something to do is named before the cluster."""
    return any(
        sentence.kind(at) == "word" and not sentence.match("<polite>", at)
        for at in range(cluster.start)
        if not any(each.holds(at) for each in used)
    )


def _absence(sentence: Sentence, found: PhraseScan) -> Refusal:
    """The refusal of a sentence without a timing, by what it has instead."""
    mentioned = [draft for cluster in found.mentions for draft in cluster.drafts]
    if any(draft.past for draft in mentioned):
        return past("The sentence speaks of the past.", "Name a time in the future.")
    if vague := next((draft.vague for draft in mentioned if draft.vague), None):
        return incomplete(f"{vague.words!r} is not exact enough.", f"Say {vague.proposal}.")
    if any(token.kind == "opaque" and _quotes_timing(token.raw) for token in sentence.tokens):
        return not_a_schedule("It only quotes a timing.", "Write the timing without quotes to ask for it.")
    shown = sentence.source
    length = read_length(sentence, 0)
    if length is not None and length.end == len(sentence):
        return ambiguous(
            f"{shown!r} may be once or again and again.", f"Say 'every {shown}' or 'in {shown}'."
        )
    clock = read_clock(sentence, 0, introduced=True)
    if clock is not None and clock.end == len(sentence):
        return ambiguous(
            f"{shown!r} may be once or every day.",
            f"Say 'every day at {shown}' or 'at {shown}'.",
        )
    return absent(
        "The sentence does not say when.",
        "Say it as 'every weekday at 9', 'every 2 hours', 'in 30 minutes', 'tomorrow at 14:00' "
        "or '0 9 * * 1-5'.",
    )


def _quotes_timing(raw: str) -> bool:
    inner = raw.strip("\"'`«»“”‘’„")
    try:
        return inner != raw and bool(scan(Sentence(inner)).timings)
    except Refusal:
        return True
