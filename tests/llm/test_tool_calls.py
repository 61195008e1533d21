from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.llm.reply_builder import ToolCallJoiner


def joined(*lists: Any) -> tuple[ToolCall, ...]:
    joiner = ToolCallJoiner()
    for pieces in lists:
        joiner.feed(pieces)
    return joiner.calls()


def piece(name: str | None = None, arguments: Any = None, **rest: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **rest}


def test_pieces_with_an_index_are_joined_although_calls_take_turns() -> None:
    calls = joined(
        [piece("ls", "", index=0, id="a")],
        [piece("cat", "", index=1, id="b")],
        [piece(arguments='{"x"', index=0), piece(arguments='{"y"', index=1)],
        [piece(arguments=": 1}", index=0), piece(arguments=": 2}", index=1)],
    )
    assert calls == (ToolCall("a", "ls", '{"x": 1}'), ToolCall("b", "cat", '{"y": 2}'))


def test_whole_calls_without_index_are_calls_of_their_own() -> None:
    calls = joined([piece("ls", "{}", id="a"), piece("ls", "{}", id="b")])
    assert [call.id for call in calls] == ["a", "b"]


def test_pieces_without_index_belong_to_the_last_call() -> None:
    calls = joined([piece("ls", "", id="a")], [piece(arguments='{"x":')], [piece(arguments=" 1}")])
    assert calls == (ToolCall("a", "ls", '{"x": 1}'),)


def test_complete_calls_at_index_zero_are_separated_by_ids() -> None:
    calls = joined([piece("ls", "{}", index=0, id="a")], [piece("date", "{}", index=0, id="b")])
    assert [(call.id, call.name) for call in calls] == [("a", "ls"), ("b", "date")]


def test_complete_calls_at_index_zero_without_ids_are_separated_by_names() -> None:
    calls = joined([piece("ls", "{}", index=0)], [piece("date", "{}", index=0)])
    assert [(call.id, call.name) for call in calls] == [("call_0", "ls"), ("call_1", "date")]


@pytest.mark.parametrize("key", ["", None])
@pytest.mark.parametrize("together", [True, False])
def test_whole_calls_of_one_tool_that_all_have_index_nought_are_two(key: str | None, together: bool) -> None:
    first, second = (piece("cat", f'{{"path": "{path}"}}', index=0, id=key) for path in "ab")
    calls = joined([first, second]) if together else joined([first], [second])
    assert [call.arguments for call in calls] == ['{"path": "a"}', '{"path": "b"}']
    assert [call.id for call in calls] == ["call_0", "call_1"]


def test_a_name_in_every_piece_makes_no_new_call_while_the_arguments_are_incomplete() -> None:
    pieces = [piece("edit", part, index=0, id="") for part in ('{"a": {"b": 1}', ', "c": {}', "}")]
    assert joined(*([each] for each in pieces)) == (ToolCall("call_0", "edit", '{"a": {"b": 1}, "c": {}}'),)


def test_a_whole_call_that_is_said_again_at_the_end_is_taken_once() -> None:
    parts = [piece("ls", '{"x":', index=0, id="a"), piece(None, " 1}", index=0)]
    calls = joined(parts, [piece("ls", '{"x": 1}', index=0, id="a")])
    assert calls == (ToolCall("a", "ls", '{"x": 1}'),)


def test_an_id_and_a_name_in_every_piece_are_taken_once() -> None:
    calls = joined([piece("ls", '{"x":', index=0, id="a")], [piece("ls", " 1}", index=0, id="a")])
    assert calls == (ToolCall("a", "ls", '{"x": 1}'),)


def test_a_name_in_two_pieces_is_joined() -> None:
    calls = joined(
        [piece("read_", "", index=0, id="a")], [piece("file", "", index=0)], [piece(None, "{}", index=0)]
    )
    assert calls == (ToolCall("a", "read_file", "{}"),)


def test_arguments_as_an_object_become_their_json() -> None:
    assert joined([piece("ls", {"x": "é"}, id="a")]) == (ToolCall("a", "ls", '{"x": "é"}'),)


def test_missing_and_doubled_ids_become_ids_of_their_own() -> None:
    calls = joined([piece("a", "{}"), piece("b", "{}", id="call_0", index=7), piece("c", "{}", id=None)])
    assert [call.id for call in calls] == ["call_1", "call_0", "call_2"]


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
pieces = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 2) | json_like,
        "id": st.sampled_from(["a", "b", "", None, 4]),
        "function": st.fixed_dictionaries(
            {}, optional={"name": st.sampled_from(["ls", "cat", None, 5]), "arguments": json_like}
        )
        | json_like,
    },
)


@given(st.lists(st.lists(pieces | json_like, max_size=3) | json_like, max_size=5))
def test_whatever_arrives_the_calls_have_ids_of_their_own(lists: list[Any]) -> None:
    ids = [call.id for call in joined(*lists)]
    assert len(set(ids)) == len(ids)
    assert all(ids)
