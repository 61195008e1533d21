"""Why a sentence has no timing, by what it has instead."""

from __future__ import annotations

from schedules.phrases.clock_times import read_clock
from schedules.phrases.lengths import read_length
from schedules.phrases.outcome import Refusal, absent, ambiguous, incomplete, not_a_schedule, past
from schedules.phrases.scan import PhraseScan, scan
from schedules.phrases.tokens import Sentence


def absence(sentence: Sentence, found: PhraseScan) -> Refusal:
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
