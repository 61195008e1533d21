"""Sentences: what people write becomes the schedule that they mean, or none, with words that help."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.phrases import Reason, Refused, Understood, parse
from schedules.timing import next_due, written
from tests.examples import examples
from tests.schedules.tables import BERLIN, NOW, Meaning, bare, read, refused, understood
from tests.tables import each_row

UNDERSTOOD, BARE, REFUSED = understood(), bare(), refused()
STRIDE = 6
"""One in so many timings of the table is tried in each form, another one each time."""

BESIDE_A_TASK = (
    "{}, check my mail",
    "check my mail {}",
    "Please check my mail {}.",
    "Could you check my mail {}?",
    "check my mail {} and tell me what is new",
    "check my mail ({})",
    "{}: check my mail",
    "{} - check my mail",
    "Check my mail. {}.",
    "check the mail of Anna {} thanks",
)
SPOILT = (
    "not {}",
    "check my mail except {}",
    "check my mail {} or so",
    "check my mail around {}",
    "check my mail {} unless it rains",
    "check my mail before {}",
    "explain what {} means",
    "what does {} mean?",
    "check my mail {} for 3 weeks",
    "check my mail '{}'",
    "check my mail {} or every Sunday at 8",
    "don't check my mail {}",
    "stop checking my mail {}",
    "I check my mail {}",
    "do you check my mail {}?",
    "check my mail {} and every full moon",
    "check my mail {} at the latest",
    "check my mail {} XST",
)


def test_the_tables_are_large_and_say_nothing_twice() -> None:
    sentences = [meaning.sentence for meaning in UNDERSTOOD] + [sentence for sentence, _ in REFUSED]
    assert len(sentences) == len(set(sentences))
    assert len(UNDERSTOOD) >= 300
    assert len(REFUSED) >= 100


@each_row(UNDERSTOOD)
def test_sentences_have_the_meanings_of_the_table(meaning: Meaning) -> None:
    found = read(meaning.sentence)
    assert isinstance(found, Understood), found
    assert (written(found.timing), found.task, found.zone) == (meaning.canonical, meaning.task, meaning.zone)


@each_row(REFUSED)
def test_a_sentence_that_is_no_schedule_is_refused_with_a_proposal(sentence: str, kind: Reason) -> None:
    found = read(sentence)
    assert isinstance(found, Refused), (written(found.timing), found.zone, found.task)
    assert found.kind == kind
    assert found.reason.endswith((".", "?"))
    assert found.proposal


@each_row(UNDERSTOOD)
def test_the_canonical_text_means_the_same_and_is_due_later(meaning: Meaning) -> None:
    found = read(meaning.sentence)
    assert isinstance(found, Understood)
    again = parse(written(found.timing), NOW, found.zone)
    assert again == Understood(found.timing, found.zone)
    due = next_due(found.timing, NOW, ZoneInfo(found.zone))
    assert due is not None
    assert due > NOW


@pytest.mark.parametrize("form", BESIDE_A_TASK)
def test_a_task_beside_a_timing_does_not_change_it(form: str) -> None:
    some = BARE[BESIDE_A_TASK.index(form) % STRIDE :: STRIDE]
    found = {meaning: read(form.format(_inner(meaning))) for meaning in some}
    wrong = {
        meaning.sentence: found[meaning]
        for meaning in some
        if isinstance(each := found[meaning], Understood)
        and (written(each.timing), each.zone) != (meaning.canonical, meaning.zone)
    }
    assert wrong == {}
    assert sum(isinstance(each, Refused) for each in found.values()) < len(some) / 20
    tasks = {each.task for each in found.values() if isinstance(each, Understood)}
    assert len(tasks) == 1
    assert "mail" in str(tasks)


@pytest.mark.parametrize("form", SPOILT)
def test_words_that_change_a_timing_make_it_unreadable(form: str) -> None:
    some = BARE[SPOILT.index(form) % STRIDE :: STRIDE]
    accepted = [
        meaning.sentence for meaning in some if isinstance(read(form.format(_inner(meaning))), Understood)
    ]
    assert accepted == []


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda text: f"  {text.replace(' ', '   ')} \n"])
def test_case_and_spaces_mean_nothing_but_in_names(change: object) -> None:
    assert callable(change)
    for meaning in BARE:
        found = read(change(meaning.sentence))
        if isinstance(found, Understood):
            assert (written(found.timing), found.zone) == (meaning.canonical, meaning.zone)


@given(st.text(max_size=80))
def test_any_text_is_understood_or_refused(text: str) -> None:
    assert isinstance(read(text), Understood | Refused)


TIME_TALK = """
every each other day days weekday weekdays Monday Fridays morning night at 9 9am 17:30 25:00 noon midnight
and or between from to until starting except in 2 30 minutes hours weeks month first last 1st 31st of the on
January December 24 2026-12-24 tomorrow today next this half past quarter daily weekly twice a UTC EST Berlin
time check my mail please remind me , . ? ( ) - : 'noon' 0 * */5 @daily not before 30m 2h
"""
WORDS = st.sampled_from(TIME_TALK.split())


@settings(max_examples=examples(400))
@given(st.lists(WORDS, max_size=12))
def test_any_words_about_time_are_understood_or_refused_and_never_due_in_the_past(words: list[str]) -> None:
    found = read(" ".join(words))
    if isinstance(found, Understood):
        due = next_due(found.timing, NOW, ZoneInfo(found.zone))
        assert due is not None
        assert due > NOW
        assert parse(written(found.timing), NOW, found.zone) == Understood(found.timing, found.zone)


@pytest.mark.parametrize(
    ("now", "sentence", "canonical"),
    [
        ("2026-11-16T08:00", "every Monday at 9", "every Monday at 09:00"),
        ("2026-11-16T10:00", "next Monday at 9", "at 2026-11-23T09:00:00+01:00"),
        ("2026-11-16T10:00", "on Monday at 9", "at 2026-11-23T09:00:00+01:00"),
        ("2026-11-22T10:00", "next Monday at 9", "at 2026-11-23T09:00:00+01:00"),
        ("2026-12-31T23:30", "tomorrow at 9", "at 2027-01-01T09:00:00+01:00"),
        ("2026-12-31T23:30", "in an hour", "at 2027-01-01T00:30:00+01:00"),
        ("2026-11-18T07:00", "at 9", "at 2026-11-18T09:00:00+01:00"),
        ("2027-01-15T10:00", "on February 28 at 9", "at 2027-02-28T09:00:00+01:00"),
        ("2027-01-15T10:00", "on February 29 at 9", "at 2028-02-29T09:00:00+01:00"),
        ("2027-03-27T12:00", "tomorrow at 2:30", "at 2027-03-28T03:00:00+02:00"),
        ("2027-10-30T12:00", "tomorrow at 2:30", "at 2027-10-31T02:30:00+02:00"),
        ("2027-03-28T01:30", "in 2 hours", "at 2027-03-28T04:30:00+02:00"),
        (
            "2026-11-18T10:00",
            "every other Wednesday at 9",
            "every 2 weeks on Wednesday at 09:00 starting 2026-11-25",
        ),
        (
            "2026-11-18T08:00",
            "every other Wednesday at 9",
            "every 2 weeks on Wednesday at 09:00 starting 2026-11-18",
        ),
    ],
)
def test_the_meaning_of_a_sentence_depends_on_its_time(now: str, sentence: str, canonical: str) -> None:
    found = parse(sentence, datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(BERLIN)), BERLIN)
    assert isinstance(found, Understood), found
    assert written(found.timing) == canonical


@pytest.mark.parametrize(
    ("now", "sentence", "kind"),
    [
        ("2026-11-16T10:00", "next Friday at 9", "ambiguous"),
        ("2026-11-16T08:00", "on Monday at 9", "ambiguous"),
        ("2026-11-18T23:30", "tomorrow at 9am Tokyo time", "ambiguous"),
        ("2027-07-01T10:00", "every day at 9am EST", "ambiguous"),
        ("2027-07-01T10:00", "tomorrow at 9 CET", "ambiguous"),
        ("2026-11-18T10:00", "at 9", "ambiguous"),
        ("2027-01-31T10:00", "in a month at 9", "impossible"),
        ("2026-12-26T10:00", "on December 24 at 9", "past"),
        ("9999-12-31T10:00", "in 2 days", "impossible"),
    ],
)
def test_refusals_depend_on_their_time_too(now: str, sentence: str, kind: Reason) -> None:
    found = parse(sentence, datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(BERLIN)), BERLIN)
    assert isinstance(found, Refused), written(found.timing)
    assert found.kind == kind


def test_a_long_text_is_read_in_time_that_grows_with_its_length() -> None:
    assert isinstance(read("word " * 1900 + "every day at 9"), Understood)
    assert isinstance(read("every day at 9 and " * 400), Refused)
    assert isinstance(read("x" * 10_001), Refused)


def _inner(meaning: Meaning) -> str:
    return meaning.sentence.rstrip(".").removesuffix(" please")
