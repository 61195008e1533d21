"""The request that a broken answer belongs to."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.mcp.pipes import _answered_id as answered_id

JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.integers(0, 10**9) | st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True), JSON, st.booleans())
def test_the_id_of_an_answer_is_found(number: int | str, result: object, first: bool) -> None:
    parts = {"id": number, "result": {"id": "inner", "result": result}}
    ordered = parts if first else dict(reversed(parts.items()))
    assert answered_id(json.dumps(ordered).encode()) == number


@pytest.mark.parametrize(
    "line",
    [
        b"Welcome!",
        b'{"id": 3, "method": "sampling/createMessage"}',
        b'{"method": "x", "id": 3}',
        b'[{"id": 3}]',
        b'{"result": {"id": 3}}',
        b'{"id": null}',
        b'"id": 3',
        b'{"id',
        b"",
    ],
)
def test_what_is_no_answer_has_no_id(line: bytes) -> None:
    assert answered_id(line) is None


@pytest.mark.parametrize("unit", [b'"', b'\\"', b"[", b'"\\', b"{}", b'"id":'])
def test_a_hostile_message_is_searched_once(unit: bytes) -> None:
    assert answered_id(b'{"a": ' + unit * (4_000_000 // len(unit))) is None
