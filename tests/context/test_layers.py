"""Summaries in layers: what moves from one to the next, that they are bounded, and tell each fact once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.features.compression.checkpoint import Checkpoint, condense, read_checkpoint
from hermes_jobs.features.compression.entity_state import EMPTY_STATE, EntityState, plain
from hermes_jobs.features.compression.layers import (
    ARCHIVE_TOKENS,
    EARLIER_SHARE,
    RECENT_MOST,
    STATE_SHARE,
    Archive,
    Episode,
    Layers,
    continue_layers,
    fit,
    parse,
    render,
    room_for_answer,
)
from hermes_jobs.text.tokens import tokens
from tests.context.test_entity_state import LINES, states

ROOM = 2_000

PROSE = """\
## Active Task
Mend the parser.
## Key Decisions
- Use a table, because it is shorter.
- None
They spoke of it twice.
## Pending User Asks
* A word when it is done
  and by Monday.
## Remaining Work
1. Write docs.
## Critical Context
port 8080
"""


def test_an_answer_is_prose_and_lists() -> None:
    assert read_checkpoint(PROSE) == Checkpoint(
        prose="## Active Task\nMend the parser.\n## Key Decisions\nThey spoke of it twice.\n"
        "## Critical Context\nport 8080",
        decisions=("Use a table, because it is shorter.",),
        open_ends=("A word when it is done and by Monday.", "Write docs."),
    )


@pytest.mark.parametrize("heading", ["## Remaining Work", "**Remaining Work:**", "12. remaining work"])
def test_a_section_is_known_however_its_heading_is_marked(heading: str) -> None:
    assert read_checkpoint(f"## Active Task\nx\n{heading}\n- y").open_ends == ("y",)


def test_each_line_of_the_condensed_section_is_an_entry_but_a_remark_about_the_whole() -> None:
    answer = "## Active Task\nx\n## Earlier\n- One.\nTwo.\n3. Three.\n\n(Not found in the conversation: y.)"
    found = read_checkpoint(answer)
    assert found.earlier == ("One.", "Two.", "Three.")
    assert found.prose == "## Active Task\nx\n(Not found in the conversation: y.)"


def test_an_answer_without_lists_keeps_the_open_items() -> None:
    assert read_checkpoint("## Active Task\nNone").open_ends is None
    assert read_checkpoint("## Active Task\nNone\n## Remaining Work\nNone").open_ends == ()
    before = Layers(recent="x", state=EntityState(open_ends=("Write docs.",)))
    kept = continue_layers(before, EMPTY_STATE, ["## Active Task\nNone"], "s-2", ROOM)
    done = continue_layers(
        before, EMPTY_STATE, ["## Active Task\nNone\n## Remaining Work\nNone"], "s-2", ROOM
    )
    assert (kept.state.open_ends, done.state.open_ends) == (("Write docs.",), ())


def test_the_detail_of_last_time_is_condensed_and_then_kept_word_for_word() -> None:
    first = continue_layers(
        Layers(),
        EMPTY_STATE,
        ["## Active Task\nA\n## Completed Actions\n1. Moved the port to 8080."],
        "s-1",
        ROOM,
    )
    answer = "## Active Task\nB\n## Earlier\n- The port is 8080."
    second = continue_layers(first, EMPTY_STATE, [answer], "s-2", ROOM)
    third = continue_layers(
        second, EMPTY_STATE, ["## Active Task\nC\n## Earlier\n- They did B."], "s-3", ROOM
    )
    assert first.earlier == ()
    assert second.earlier == (Episode("s-2", ("The port is 8080.",)),)
    assert third.earlier == (Episode("s-3", ("They did B.",)), *second.earlier)


def test_detail_that_the_summariser_does_not_condense_is_kept_line_by_line() -> None:
    before = Layers(recent="## Active Task\nA\n## Completed Actions\n1. Moved the port.\n## Blocked\nNone")
    after = continue_layers(before, EMPTY_STATE, ["## Active Task\nB"], "s-2", ROOM)
    assert after.earlier == (Episode("s-2", ("Moved the port.",)),)


def test_surplus_lines_are_archived_and_the_summary_says_where() -> None:
    lines = tuple(f"Fact {number} of many." for number in range(60))
    layers = fit(Layers(recent="x", earlier=(Episode("s-9", lines), Episode("s-1", ("Old.",)))), 250, "s-10")
    kept = sum(len(each.lines) for each in layers.earlier)
    assert 0 < kept < 60
    assert layers.archive == Archive(61 - kept, "s-1")
    assert f"{61 - kept} lines of older summaries, from session s-1 on, are left out" in render(layers)
    again = fit(replace(layers, earlier=(Episode("s-8", lines),)), 250, "s-11")
    assert again.archive == Archive(61 - kept + 60 - kept, "s-1")


def test_a_fact_in_detail_or_decisions_is_not_repeated() -> None:
    layers = Layers(
        recent="## Completed Actions\n1. Moved the port.\n2. Moved the port.\n- Use SQLite!",
        earlier=(Episode("s-2", ("moved the port", "Use SQLite!", "New.")), Episode("s-1", ("new",))),
        state=EntityState(decisions=("Use SQLite!",)),
    )
    left = fit(layers, ROOM, "s-3")
    assert left.recent == "## Completed Actions\n1. Moved the port."
    assert left.earlier == (Episode("s-2", ("New.",)),)


def test_a_summary_of_another_form_is_all_detail() -> None:
    assert parse("## Active Task\nGo on.\n\n# A title\ntext") == Layers(
        recent="## Active Task\nGo on.\n\n# A title\ntext"
    )
    assert fit(parse("# Archived things\nx"), ROOM, "s").recent == "## Archived things\nx"


def test_a_summary_too_long_by_far_keeps_its_beginning_and_says_so() -> None:
    layers = fit(Layers(recent="## Active Task\nA\n" + "word " * 5_000), 300, "s")
    assert layers.recent.startswith("## Active Task\nA\n")
    assert "too long for this summary" in layers.recent


prose = st.lists(
    st.sampled_from(
        [
            "## Active Task",
            "# Title",
            "# Archived",
            "- one",
            "2. one",
            "* Two.",
            "text",
            "",
            "None",
            "é漢 " * 40,
        ]
    ),
    max_size=12,
).map("\n".join)
sessions = st.sampled_from(["s-1", "s-2", "s-3", "my session: a"])
layered = st.builds(
    Layers,
    recent=prose,
    earlier=st.lists(st.builds(Episode, sessions, LINES), max_size=5).map(tuple),
    archive=st.none() | st.builds(Archive, st.integers(1, 5_000), sessions),
    state=states(),
)
budgets = st.integers(150, 3_000)


@given(layered, budgets)
def test_each_layer_is_bounded_and_each_fact_occurs_once(layers: Layers, budget: int) -> None:
    left = fit(layers, budget, "s-9")
    assert tokens(left.recent) <= budget * RECENT_MOST
    others = Layers(recent=left.recent, state=left.state)
    room = max(budget * EARLIER_SHARE, budget - tokens(render(others)))
    assert tokens(render(Layers(earlier=left.earlier))) <= room
    assert tokens(render(Layers(state=left.state))) <= budget * STATE_SHARE
    assert tokens(render(Layers(archive=left.archive))) <= ARCHIVE_TOKENS
    facts = [plain(line) for each in left.earlier for line in each.lines]
    facts += [*map(plain, left.state.decisions)]
    facts += [plain(line) for line in left.recent.splitlines() if line.startswith(("- ", "* ", "2. "))]
    assert len(facts) == len(set(facts))


@given(layered, budgets)
def test_fitting_again_changes_nothing_and_neither_does_the_way_through_a_text(
    layers: Layers, budget: int
) -> None:
    left = fit(layers, budget, "s-9")
    assert fit(left, budget, "s-10") == left
    assert parse(render(left)) == left


@given(layered, st.lists(st.tuples(prose, LINES), min_size=1, max_size=6), budgets)
def test_many_compressions_neither_grow_it_nor_lose_lines_silently(
    layers: Layers, answers: list[tuple[str, tuple[str, ...]]], budget: int
) -> None:
    before = fit(layers, budget, "s-0")
    for number, (text, lines) in enumerate(answers):
        answer = "\n".join((text, "## Earlier", *(f"- {line}" for line in lines)))
        after = continue_layers(before, EMPTY_STATE, [answer], f"t-{number}", budget)
        left_out = {plain(line) for each in before.earlier for line in each.lines}
        left_out -= {plain(line) for line in render(after).splitlines()}
        archived = (after.archive.lines if after.archive else 0) - (
            before.archive.lines if before.archive else 0
        )
        assert archived >= len(left_out)
        shares = RECENT_MOST + EARLIER_SHARE + STATE_SHARE
        assert tokens(render(after)) <= budget * shares + ARCHIVE_TOKENS + 4
        before = after


@given(layered, budgets)
def test_the_summarisers_limit_matches_the_kept_size(layers: Layers, budget: int) -> None:
    left = fit(layers, budget, "s-9")
    room = room_for_answer(left, left.state, budget)
    assert room >= budget // 2
    answer = "## Active Task\n" + "word " * room
    after = continue_layers(left, EMPTY_STATE, [answer[: room * 4 + 3]], "s-10", budget)
    assert tokens(render(replace(after, archive=None))) <= budget + 4


@given(prose)
def test_condensing_gives_single_lines_each_once(text: str) -> None:
    lines = condense(text)
    assert len(set(map(plain, lines))) == len(lines)
    assert all(line and "\n" not in line for line in lines)
