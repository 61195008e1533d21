from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.reasoning_filter import ReasoningFilter


def told_apart(*pieces: str) -> tuple[str, str]:
    told = ReasoningFilter()
    splits = [*(told.feed(piece) for piece in pieces), told.finish()]
    return "".join(split.visible for split in splits), "".join(split.reasoning for split in splits)


fragments = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<THINK>",
        "<thinking>",
        "</thinking>",
        "<th",
        "ink>",
        "<",
        "/",
        ">",
        "`",
        " ",
        "\n",
        "a",
        "é",
    ]
)
texts = st.lists(fragments, max_size=12).map("".join)


@given(texts, st.data())
def test_the_result_does_not_depend_on_how_the_text_was_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    bounds = [0, *cuts, len(text)]
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    assert told_apart(*pieces) == told_apart(text) == told_apart(*text)


@given(st.text())
def test_a_text_without_tags_stays_as_it_is(text: str) -> None:
    text = text.replace("<", "")
    assert told_apart(text) == (text, "")


@given(st.text(), st.text(), st.text())
def test_thinking_blocks_are_never_shown(before: str, thought: str, after: str) -> None:
    before, thought, after = (text.replace("<", "").replace("`", "") for text in (before, thought, after))
    visible, reasoning = told_apart(f"{before}<think>{thought}</think>{after}")
    assert visible == (before + after if before.strip() else after.lstrip())
    assert reasoning == f"{thought}\n"


@pytest.mark.parametrize(
    ("text", "visible", "reasoning"),
    [
        ("<think>Hm.</think>\n\nYes.", "Yes.", "Hm.\n"),
        ("\n<think>Hm.</think>\nYes.\n", "Yes.\n", "Hm.\n"),
        ("<think>never closed", "", "never closed"),
        ("Yes.<think>never closed", "Yes.", "never closed"),
        ("<think>a</think>b<Thinking>c</THINKING>d", "bd", "a\nc\n"),
        ("<think>a <think> b</think>c", "c", "a <think> b\n"),
        ("stray </think> end", "stray  end", ""),
        ("a < b, <thin, </thinker> and <th", "a < b, <thin, </thinker> and <th", ""),
        ("  Yes.", "  Yes.", ""),
        ("  ", "  ", ""),
        ("Use the `<think>` tag, closed by `</think>`.", "Use the `<think>` tag, closed by `</think>`.", ""),
        ("<think>about `</think>Yes.", "Yes.", "about `\n"),
    ],
)
def test_blocks_are_reasoning_and_tags_that_are_spoken_of_are_text(
    text: str, visible: str, reasoning: str
) -> None:
    assert told_apart(text) == (visible, reasoning)
    assert told_apart(*text) == (visible, reasoning)
