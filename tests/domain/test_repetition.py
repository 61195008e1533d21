"""A cut-off answer is continued while it grows, and not where it repeats itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import repetition
from hermes_jobs.kernel.turns.repetition import is_stalled
from tests.domain.world import World

CODE = Path(repetition.__file__).read_text(encoding="utf-8")
TABLE = "\n".join(f"| {number} | row {number * 37 % 101} | {number * number} |" for number in range(60))
PROSE = "The log decides, and Celery carries. " + " ".join(f"Sentence {n} says {n * 7}." for n in range(40))


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", "I am a helpful assistant. " * 20),
        ("", "好的，我明白了。" * 40),
        ("", "Once. " + "la " * 200),
        (PROSE, PROSE),
        (PROSE, "The log decides,"),
        (PROSE, "  \n"),
        (PROSE, "Sentence 3 says 21. Sentence 4 says 28."),
    ],
)
def test_a_text_that_says_the_same_again_is_stalled(before: str, text: str) -> None:
    assert is_stalled(before, text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", "It"),
        ("", PROSE),
        ("", CODE),
        ("", TABLE),
        (CODE, PROSE),
        (PROSE, TABLE),
        (CODE[:900], CODE[900:]),
    ],
)
def test_a_text_that_goes_on_is_not(before: str, text: str) -> None:
    assert not is_stalled(before, text)


def test_a_stalled_answer_ends_the_turn_by_its_length() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("one ", finish_reason="length")
    world.reply("one ", finish_reason="length", stalled=True)
    world.record()
    (end,) = world.of(e.TurnCompleted)
    assert isinstance(end, e.TurnCompleted)
    assert (end.answer, end.stopped_by) == ("one one ", "length")
