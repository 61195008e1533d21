"""What a turn's terminal shows while an answer grows: never more than fits, and in the end all of it once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from random import Random
from threading import Event

import click
import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_jobs.interfaces.cli.markdown import blocks, render
from hermes_jobs.interfaces.cli.turns.live_display import NEW_ANSWER_NOTICE, LiveDisplay, TerminalSurface
from hermes_jobs.kernel.live import DeltaStream, TextDelta
from hermes_jobs.kernel.turns.titles import printable
from tests.examples import examples

COLUMNS, LINES = 40, 12
PARTS = (
    "# Title",
    "A paragraph of words that are more than one line can take, with **bold** and `code`.",
    "- one\n- two\n  - three\n\n  more of two",
    "1. first\n2. second",
    "```python\nx = 1\n\n\ny = 2\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "> quoted\n> words",
    "---",
    "~~~\nnever closed",
    "<b>html</b>",
    "***",
    "a\\\nb  \nc",
    "Umlaute äöü, 漢字かな交じり文, emoji 🎉",
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=6).map("\n\n".join) | st.text(max_size=80)


class Paper:
    """A surface that keeps what it was given."""

    def __init__(self) -> None:
        self.above: list[str] = []
        self.below: tuple[str, ...] = ()
        self.highest = 0

    def size(self) -> tuple[int, int]:
        return COLUMNS, LINES

    def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
        self.above += above
        self.below = tuple(below)
        self.highest = max(self.highest, len(below))


SGR = re.compile(r"\x1b\[([\d;]+)m")


def whole(text: str) -> list[str]:
    """The text as it is shown where it comes at once."""
    paper = Paper()
    display = LiveDisplay(paper)
    display.show_answer(text)
    display.close()
    return paper.above


def tell(
    display: LiveDisplay, paper: Paper, text: str, random: Random, *, call: str = "m1", attempt: int = 1
) -> None:
    """Send a text to the display in deltas, and draw after each."""
    told: list[TextDelta] = []
    speech = DeltaStream(told.append, turn="t1", step="t1-1", attempt=attempt, call=call)
    at = 0
    while at < len(text):
        end = at + random.randrange(1, 12)
        speech.say(text[at:end])
        at = end
    for piece in told:
        display.on_delta(piece)
        display.print_line("")
        assert len(paper.below) <= LINES


@settings(max_examples=examples(25))
@given(TEXTS, st.randoms(use_true_random=False))
def test_a_text_that_comes_in_pieces_ends_up_as_if_it_had_come_at_once(text: str, random: Random) -> None:
    paper = Paper()
    display = LiveDisplay(paper)
    tell(display, paper, text, random)
    display.on_reply("t1-1", 1, text)
    display.show_answer(text)
    display.close()
    assert [line for line in paper.above if line] == [line for line in whole(text) if line]
    assert (paper.below, paper.highest <= LINES) == ((), True)


@given(st.text(max_size=200))
def test_the_blocks_of_a_text_are_the_text(text: str) -> None:
    assert "".join(blocks(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Run `git clone` <url> with List<int>.", "Run git clone <url> with List<int>."),
        ("<div>\nhello\n</div>", "<div> hello </div>"),
        ("See ![a chart](/tmp/chart.png) there", "See !a chart (/tmp/chart.png) there"),
        (
            "As [written][1].\n\nElsewhere.\n\n[1]: https://x.y",
            "As [written][1]. Elsewhere. [1]: https://x.y",
        ),
        ("<https://x.y> &amp; &lt;b&gt;", "https://x.y (https://x.y) & <b>"),
    ],
)
def test_nothing_that_was_said_is_left_out(text: str, shown: str) -> None:
    assert " ".join(click.unstyle(" ".join(whole(text))).split()) == shown


@settings(max_examples=examples(25))
@given(TEXTS)
def test_no_line_is_wider_than_the_terminal(text: str) -> None:
    shown = blocks(printable(text))
    lines = [click.unstyle(line) for block in shown for line in render(block, 39)]
    assert all(cell_len(line) <= 39 for line in lines)


def test_code_has_colours_that_are_legible_on_a_light_and_on_a_dark_terminal() -> None:
    code = "```python\n# why\n@cached\nclass A(Exception):\n    def f(self): return f'{1}' + 'text'\n```\n"
    found = {int(each) for line in render(code, 60) for part in SGR.findall(line) for each in part.split(";")}
    assert {32, 35, 36} <= found  # green, magenta, cyan
    assert not found & {33, 34, 37, *range(91, 98)}  # yellow, blue, white, and the bright ones


def test_a_table_has_no_empty_line_of_its_own_above_it() -> None:
    first, *_ = render("| file | change |\n|---|---|\n| calc.py | one line |\n", 60)
    assert click.unstyle(first).split() == ["file", "change"]


def test_a_second_attempt_with_the_same_text_continues_the_first() -> None:
    paper, random = Paper(), Random(1)
    display = LiveDisplay(paper)
    tell(display, paper, "One.\n\nTwo.\n\nThr", random, call="m1")
    tell(display, paper, "One.\n\nTwo.\n\nThree.", random, call="m2", attempt=2)
    display.on_reply("t1-1", 2, "One.\n\nTwo.\n\nThree.")
    display.close()
    assert [line for line in paper.above if line] == ["One.", "Two.", "Three."]


def test_another_attempt_that_says_something_else_is_marked() -> None:
    paper, random = Paper(), Random(1)
    display = LiveDisplay(paper)
    tell(display, paper, "One.\n\nTwo.\n\nThr", random, call="m1")
    display.on_failure("t1-1", 1)
    tell(display, paper, "Eins.\n\nZwei.", random, call="m2", attempt=2)
    display.on_reply("t1-1", 2, "Eins.\n\nZwei.")
    display.close()
    assert [click.unstyle(line) for line in paper.above if line] == [
        "One.",
        "Two.",
        NEW_ANSWER_NOTICE,
        "Eins.",
        "Zwei.",
    ]


def test_running_work_is_shown_below_and_removed_at_the_end() -> None:
    paper = Paper()
    display = LiveDisplay(paper)
    display.set_status(["· terminal sleep 5: 2 s"])
    display.print_line("· a line that stays")
    assert [click.unstyle(line) for line in paper.below] == ["· terminal sleep 5: 2 s"]
    display.close()
    assert (paper.above, paper.below) == (["· a line that stays"], ())


def test_a_note_is_broken_between_words_and_a_line_of_a_diff_is_not() -> None:
    paper = Paper()
    display = LiveDisplay(paper)
    display.print_line(
        f"{click.style('Error:', fg='red')} Nothing answers there, and the hint says what to do."
    )
    display.print_lines(["+" + "x y " * 20])
    display.close()
    assert [click.unstyle(line) for line in paper.above] == [
        "Error: Nothing answers there, and the",
        "hint says what to do.",
        "+" + "x y " * 20,
    ]


def test_the_text_of_a_failed_turn_does_not_begin_the_next() -> None:
    paper, random = Paper(), Random(1)
    display = LiveDisplay(paper)
    tell(display, paper, "One.\n\nTwo", random, call="m1")
    display.on_failure("t1-1", 1)
    display.end_turn()
    tell(display, paper, "Another answer.", random, call="m2", attempt=2)
    display.on_reply("t1-1", 2, "Another answer.")
    display.close()
    assert [line for line in paper.above if line] == ["One.", "Another answer."]


def test_a_listener_does_not_wait_for_a_stopped_terminal() -> None:
    stopped, started = Event(), Event()

    class Stopped(Paper):
        def paint(self, above: Sequence[str], below: Sequence[str]) -> None:
            started.set()
            stopped.wait(60)
            super().paint(above, below)

    paper = Stopped()
    display = LiveDisplay(paper)
    speech = DeltaStream(display.on_delta, turn="t1", step="t1-1", attempt=1, call="m1")
    speech.say("One")
    started.wait(60)
    for _ in range(100):
        speech.say(" more")
    assert paper.above == []
    stopped.set()
    display.close()
    assert "".join(paper.above).startswith("One more more")


# --- on a terminal -------------------------------------------------------------------------------


class Tty(StringIO):
    """A terminal of 30 columns and 10 lines in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(30, 10, history=1_000, ratio=1.0)
        self._stream = pyte.Stream(self.screen)

    def write(self, text: str) -> int:
        self._stream.feed(text)
        return len(text)

    @property
    def lines(self) -> list[str]:
        """All that stands there and above, without what is empty."""
        above = ["".join(row[at].data for at in range(30)) for row in self.screen.history.top]
        return [line.rstrip() for line in (*above, *self.screen.display) if line.strip()]


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Tty:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("LINES", "10")
    return Tty()


def test_a_long_answer_is_whole_above_a_small_terminal_and_only_its_end_is_drawn(tty: Tty) -> None:
    code = [f"line = {number}" for number in range(60)]
    text = "Before.\n\n```python\n" + "\n".join(code) + "\n```\n\nAfter."
    display = LiveDisplay(TerminalSurface(tty))
    speech = DeltaStream(display.on_delta, turn="t1", step="t1-1", attempt=1, call="m1")
    for at in range(0, len(text), 50):
        speech.say(text[at : at + 50])
        display.print_line("")
    display.on_reply("t1-1", 1, text)
    display.close()
    assert tty.lines == ["Before.", *(f"  {line}" for line in code), "After."]


def test_a_terminal_made_narrower_is_drawn_over_as_far_as_it_was_broken(
    tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    surface = TerminalSurface(tty)
    surface.paint((), ["a" * 28, "b" * 10])
    monkeypatch.setenv("COLUMNS", "10")
    written = StringIO()
    surface._out = written
    surface.paint((), ["c"])
    assert "\x1b[3A" in written.getvalue()  # three rows of a, and one of b


def test_a_text_cannot_play_with_the_terminal(tty: Tty) -> None:
    display = LiveDisplay(TerminalSurface(tty))
    speech = DeltaStream(display.on_delta, turn="t1", step="t1-1", attempt=1, call="m1")
    for piece in ("safe \x1b[", "2J\x1b]0;tit", "le\x07words ", "\x1b[31mred [x](http://y\x1b[2J)"):
        speech.say(piece)
        display.print_line("")
    display.close()
    assert tty.lines == ["safe words red x (http://y)"]
