"""Large results: what stands in their place is short, says where they are, and what fits is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import WARNING
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.tool_results import CLOSE, OPEN, preview_of, result_path, truncate_round

PREVIEW = 20
SIZES = st.lists(st.integers(0, 5_000), min_size=1, max_size=6)


def calls_of(sizes: list[int], source: str | None = None) -> tuple[Call, ...]:
    return tuple(
        Call(
            id=f"t1-1-{at}",
            request=ToolCall("p", "terminal", "{}"),
            effect="read",
            result=chr(97 + at) * size,
            source=source,
        )
        for at, size in enumerate(sizes)
    )


def size(calls: tuple[Call, ...]) -> int:
    return sum(len(call.result or "") for call in calls)


def test_a_replacement_has_size_place_and_beginning() -> None:
    text = preview_of("abc" * 1000, "results/t1-1-0.txt", 6)
    assert text.startswith(OPEN)
    assert text.endswith(f"abcabc\n{CLOSE}")
    assert "3,000 characters" in text
    assert "results/t1-1-0.txt" in text


def test_the_largest_results_go_first_and_no_more_than_needed() -> None:
    before = calls_of([3_000, 100, 2_000])
    after = truncate_round(before, 2_700, PREVIEW)
    assert (after[0].result or "").startswith(OPEN)
    assert after[1:] == before[1:]


def test_a_result_that_was_read_from_a_file_points_at_that_file() -> None:
    (call,) = truncate_round(calls_of([3_000], source="src/app.py"), 1_000, PREVIEW)
    assert "src/app.py" in (call.result or "")
    assert result_path(call.id) not in (call.result or "")


def test_many_results_show_less_of_their_beginnings_until_all_fit() -> None:
    many = calls_of([1_800] * 26)
    spilled = tuple(replace(call, result=preview_of("x" * 9_000, "results/x.txt", 1_500)) for call in many)
    for before in (many, spilled, many[:13] + spilled[:13]):
        after = truncate_round(before, 20_000, 1_500)
        assert size(after) <= 20_000
        assert sum((call.result or "").startswith(OPEN) for call in after) >= 20


def test_a_result_no_longer_than_its_replacement_is_kept() -> None:
    many = calls_of([150] * 26)
    assert truncate_round(many, 1_000, 1_500) == many


def test_a_result_replaced_after_a_warning_is_not_replaced_again() -> None:
    warned = WARNING + preview_of("x" * 9_000, "results/t1-1-0.txt", 1_500)
    (call,) = (replace(each, result=warned) for each in calls_of([0]))
    (after,) = truncate_round((call,), 1_000, 1_500)
    assert (after.result or "").startswith(WARNING + OPEN)
    assert (after.result or "").count(OPEN) == 1
    assert "9,000 characters" in (after.result or "")


@given(sizes=SIZES, limit=st.integers(0, 6_000))
def test_fitting_results_are_kept_and_none_is_replaced_twice(sizes: list[int], limit: int) -> None:
    before = calls_of(sizes)
    after = truncate_round(before, limit, PREVIEW)
    if size(before) <= limit:
        assert after == before
    assert truncate_round(after, limit, PREVIEW) == after
    assert [call.id for call in after] == [call.id for call in before]
