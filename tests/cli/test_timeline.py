"""The timeline that `turns show` draws."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from hermes_jobs.interfaces.cli.turns.timeline_format import lines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.kernel.views.timeline import timeline, tracks
from tests.examples import examples
from tests.views.histories import random_history
from tests.views.test_timeline import PREFETCHED, STARTED, SUBMITTED, TWO_CALLS, recorded, tool
from tests.written_home import WrittenHome


@given(seed=st.integers(0, 2**32), width=st.integers(60, 120))
@settings(max_examples=examples(30))
def test_any_turn_fits_the_width_a_line_an_attempt(seed: int, width: int) -> None:
    random = Random(seed)
    facts = [fact for _, fact in random_history(random, 80, ("aa",)).facts]
    events = recorded((at * random.choice([0.01, 1, 60]), fact) for at, fact in enumerate(facts))
    for turn in {fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted)}:
        found = timeline(turn, events)
        drawn = lines(found, width)
        assert all(cell_len(printable(line)) <= width for line in drawn)
        assert len(drawn) == len(tracks(found.spans)) + bool(drawn)
        at_work = sum(span.kind in {"model_call", "tool_call"} for span in found.spans)
        assert len(drawn) > at_work or not drawn


def test_tools_side_by_side_stand_below_each_other_on_one_axis() -> None:
    events = [
        (0, SUBMITTED),
        (1, PREFETCHED),
        (1, STARTED),
        (4, TWO_CALLS),
        (4, tool("t-1-0", "terminal")),
        (6, tool("t-1-1", "read_file")),
        (8, e.ToolFinished(turn="t", call="t-1-1", ok=False, content="")),
        (10, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="")),
        (10, e.TurnFailed(turn="t", kind="budget", message="spent")),
    ]
    drawn = [printable(line) for line in lines(timeline("t", recorded(events)), 60)]
    assert drawn == [
        "TIMELINE     0                           10.0 s  TOOK",
        "until begun  ░░░░                                1.0 s",
        "m               ███████████                      3.0 s",
        "  terminal                █████████████████████  6.0 s",
        "  read_file               ░░░░░░░████████        2.0 s error",
    ]


def test_a_call_in_order_shows_its_wait_and_the_call_before_it() -> None:
    first, second = TWO_CALLS.plan
    in_order = replace(TWO_CALLS, plan=(first, replace(second, after=(first.call,))))
    events = [
        (0, SUBMITTED),
        (0, PREFETCHED),
        (0, STARTED),
        (2, in_order),
        (2, tool("t-1-0", "terminal")),
        (6, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="")),
        (6, tool("t-1-1", "read_file")),
        (8, e.ToolFinished(turn="t", call="t-1-1", ok=True, content="")),
        (8, e.TurnFailed(turn="t", kind="budget", message="spent")),
    ]
    drawn = [printable(line) for line in lines(timeline("t", recorded(events)), 60)]
    assert drawn[1:] == [
        "m               ███████                       2.0 s",
        "  1. terminal          ██████████████         4.0 s",
        "  2. read_file         ··············███████  2.0 s, after 1",
    ]


def test_the_timeline_is_above_the_steps_and_plain_without_block_characters(
    home: WrittenHome,
) -> None:
    home.submit("aa", "abc1")
    home.prefetch("aa")
    home.reply("aa", "I look.", "terminal")
    home.run_tool("aa", "a.txt")
    shown = home.run("turns", "show", "abc1").out
    assert shown.index("TIMELINE") < shown.index("STEP ")
    assert "█" in shown
    plain = home.run("turns", "show", "abc1", PYTHONIOENCODING="ascii").out
    assert "#" in plain
    assert plain.isascii()
    assert "\\u" not in plain


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_keeps_the_newest_lines(limit: int) -> None:
    events = recorded([(0, SUBMITTED), (1, PREFETCHED), (2, STARTED)])
    found = timeline("t", events)
    kept = [line.split()[0] for line in lines(found, 80, limit)[1:]]
    assert kept == [line.split()[0] for line in lines(found, 80)[-limit:]]
