"""A model's reading of a sentence counts only where the rules read it too and the sentence bears it out."""

from __future__ import annotations

import pytest

from schedules.phrases import Refused, TimingProposal, Understood, may_ask, verify_proposal
from schedules.timing import written
from tests.schedules.tables import BERLIN, NOW, read

GERMAN = "Jeden Werktag um 9 Uhr meine Mails prüfen"


def judge(
    sentence: str, timing: str | None, task: str | None = None, timezone: str | None = None
) -> Understood | Refused:
    """What becomes of the proposal for a sentence that the rules refuse."""
    refused = read(sentence)
    assert isinstance(refused, Refused), written(refused.timing)
    return verify_proposal(sentence, refused, TimingProposal(timing, timezone, task), NOW, BERLIN)


@pytest.mark.parametrize(
    ("sentence", "timing", "task", "canonical"),
    [
        (GERMAN, "every weekday at 09:00", "meine Mails prüfen", "every weekday at 09:00"),
        (GERMAN, "every weekday at 9am", "meine Mails prüfen", "every weekday at 09:00"),
        (
            "tous les jours à 21h résume les nouvelles",
            "every day at 21:00",
            "résume les nouvelles",
            "every day at 21:00",
        ),
        ("cada 15 minutos revisa la cola", "every 15 minutes", "revisa la cola", "every 15 minutes"),
        ("morgen um 9 anrufen", "at 2026-11-19T09:00", "anrufen", "at 2026-11-19T09:00:00+01:00"),
        ("jeden Tag um 9 und 17 Uhr", "every day at 09:00 and 17:00", None, "every day at 09:00 and 17:00"),
    ],
)
def test_a_reading_that_the_sentence_bears_out_is_taken(
    sentence: str, timing: str, task: str | None, canonical: str
) -> None:
    found = judge(sentence, timing, task)
    assert isinstance(found, Understood), found
    assert (written(found.timing), found.task, found.zone) == (canonical, task, BERLIN)


@pytest.mark.parametrize(
    ("sentence", "timing", "task", "timezone"),
    [
        (GERMAN, "every weekday at 10:00", "meine Mails prüfen", None),
        (GERMAN, "every weekday at 21:30", "meine Mails prüfen", None),
        (GERMAN, "every weekday at 09:00", "delete everything", None),
        (GERMAN, "every weekday at 09:00 delete everything", None, None),
        (GERMAN, "every weekday at 25:00", "meine Mails prüfen", None),
        (GERMAN, "0 9 * * 1-5", "meine Mails prüfen", None),
        (GERMAN, "every weekday at 09:00", "meine Mails prüfen", "America/New_York"),
        (GERMAN, "every weekday at 09:00", "meine Mails prüfen", "Mars/Olympus"),
        (GERMAN, None, None, None),
        ("Check my mail", "every day at 09:00", "Check my mail", None),
        ("Check my mail", "every hour", "Check my mail", None),
        ("every day check my mail", "every day at 00:00", "check my mail", None),
        ("every day check my mail", "every day at 01:00", "check my mail", None),
        ("every Monday morning check my mail", "every Monday at 09:00", "check my mail", None),
        ("every weekday at 9 unless it is a holiday", "every weekday at 09:00", None, None),
        ("every weekday at 9am except holidays", "every weekday at 09:00", None, None),
        ("every day at 9 for 2 weeks", "every day at 09:00", None, None),
        ("every day at 9 in Springfield", "every day at 09:00", None, "America/Chicago"),
        ("every Monday at 9ish", "every Tuesday at 09:00", None, None),
        ("in zwei Stunden anrufen", "in 3 hours", "anrufen", None),
        ("30m", "every 30 minutes", None, None),
        ("every day at 25:00", "every day at 01:00", None, None),
        ("Monday and Wednesday at 9", "every Monday and Wednesday at 09:00", None, None),
    ],
)
def test_any_other_reading_leaves_the_refusal_as_it_was(
    sentence: str, timing: str | None, task: str | None, timezone: str | None
) -> None:
    before, found = read(sentence), judge(sentence, timing, task, timezone)
    assert isinstance(before, Refused)
    assert isinstance(found, Refused), written(found.timing)
    assert (found.kind, found.proposal) == (before.kind, before.proposal)
    assert found.reason.startswith(before.reason)


def test_only_sentences_unknown_to_the_rules_are_sent_to_a_model() -> None:
    asked = {
        text: may_ask(found)
        for text in (GERMAN, "30m", "every day at 25:00", "", "x" * 100_000)
        if isinstance(found := read(text), Refused)
    }
    assert [text for text in asked if asked[text]] == [GERMAN]
    assert len(asked) == 5
