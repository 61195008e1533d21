from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

counts = st.integers(0, 10**9)
usages = st.builds(
    Usage, counts, counts, counts, counts, counts, st.integers(1, 10**9) | st.just(msgspec.UNSET)
)


@given(usages, usages)
def test_adding_and_subtracting_usage_restores_it(one: Usage, other: Usage) -> None:
    assert one + other + -other == one
    assert one + -one == NO_USAGE


@given(usages)
def test_usage_is_read_back_as_it_was_stored(usage: Usage) -> None:
    assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage


def test_usage_without_the_hours_writes_is_stored_as_it_always_was() -> None:
    stored = (
        b'{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,'
        b'"reasoning_tokens":5}'
    )
    assert msgspec.json.encode(Usage(1, 2, 3, 4, 5)) == stored
    assert msgspec.json.decode(stored, type=Usage) == Usage(1, 2, 3, 4, 5)
