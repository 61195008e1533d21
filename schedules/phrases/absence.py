"""Why a sentence has no timing, by what it has instead."""

from __future__ import annotations

from schedules.phrases.clocks import read_clock
from schedules.phrases.clusters import Scan, scan
from schedules.phrases.durations import read_length
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Past, Vague
from schedules.phrases.tokens import Sentence


def absence(sentence: Sentence, found: Scan) -> Refusal:
    """The refusal of a sentence without a timing, by what it has instead."""
    mentioned = [piece for cluster in found.mentions for piece in cluster.pieces]
    if any(isinstance(piece, Past) for piece in mentioned):
        return Refusal("past", "The sentence speaks of the past.", "Name a time in the future.")
    if vague := next((piece for piece in mentioned if isinstance(piece, Vague)), None):
        return Refusal("incomplete", f"{vague.words!r} is not exact enough.", f"Say {vague.proposal}.")
    if any(token.kind == "opaque" and _quotes_timing(token.raw) for token in sentence.tokens):
        return Refusal(
            "not_a_schedule", "It only quotes a timing.", "Write the timing without quotes to ask for it."
        )
    shown = sentence.source
    length = read_length(sentence, 0)
    if length is not None and length.end == len(sentence):
        return Refusal(
            "ambiguous", f"{shown!r} may be once or again and again.", f"Say 'every {shown}' or 'in {shown}'."
        )
    clock = read_clock(sentence, 0, introduced=True)
    if clock is not None and clock.end == len(sentence):
        return Refusal(
            "ambiguous",
            f"{shown!r} may be once or every day.",
            f"Say 'every day at {shown}' or 'at {shown}'.",
        )
    return Refusal(
        "absent",
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
