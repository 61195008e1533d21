from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.usage import canonical_usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
                "completion_tokens_details": {"reasoning_tokens": 15},
            },
            Usage(30, 20, 60, 10, 15),
            id="chat completions",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "input_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 10},
                "output_tokens_details": {"reasoning_tokens": 15},
            },
            Usage(30, 20, 60, 10, 15),
            id="responses",
        ),
        pytest.param(
            {
                "input_tokens": 30,
                "output_tokens": 20,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 10,
            },
            Usage(30, 20, 60, 10),
            id="anthropic",
        ),
        pytest.param(
            {
                "input_tokens": 30,
                "output_tokens": 20,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 10,
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 7},
                "output_tokens_details": {"thinking_tokens": 12},
            },
            Usage(30, 20, 60, 10, 12, 7),
            id="anthropic with its details",
        ),
        pytest.param(
            {"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 3}},
            Usage(1, 0, 0, 3),
            id="anthropic without the sum",
        ),
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 2, "prompt_cache_hit_tokens": 64},
            Usage(36, 2, 64),
            id="deepseek",
        ),
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102, "cached_tokens": 64},
            Usage(36, 2, 64),
            id="kimi",
        ),
        pytest.param(
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "total_tokens": 19,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(10, 9, reasoning_tokens=7),
            id="xai counts reasoning apart",
        ),
        pytest.param(
            {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 0, 9), id="odd"
        ),
        pytest.param({"prompt_tokens": -5, "completion_tokens": None}, NO_USAGE, id="negative and null"),
        pytest.param({"prompt_tokens": "12", "completion_tokens": "many"}, Usage(12), id="strings"),
        pytest.param({"input_tokens": 3.0, "output_tokens": float("nan")}, Usage(3), id="floats"),
        pytest.param({"prompt_tokens": True, "prompt_tokens_details": [1]}, NO_USAGE, id="nonsense"),
        pytest.param({}, NO_USAGE, id="empty"),
        pytest.param(None, NO_USAGE, id="null"),
        pytest.param("usage", NO_USAGE, id="no object"),
    ],
)
def test_usage_is_read_in_each_shape(reported: object, usage: Usage) -> None:
    assert canonical_usage(reported) == usage


NAMES = [
    "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "prompt_cache_hit_tokens",
    "cached_tokens", "cache_write_tokens", "cache_creation_tokens", "reasoning_tokens",
    "prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details",
    "cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "thinking_tokens",
]  # fmt: skip
figures = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.from_regex(r"-?\d{1,40}")
)
names = st.sampled_from(NAMES)


@given(st.dictionaries(names, figures | st.dictionaries(names, figures) | st.lists(figures)) | figures)
def test_nothing_that_is_reported_raises_or_counts_below_zero(reported: Any) -> None:
    usage = canonical_usage(reported)
    counts = [getattr(usage, name) or 0 for name in usage.__struct_fields__]
    assert all(type(count) is int for count in counts)
    assert min(counts) >= 0


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_prompt_is_the_sum_of_its_parts(fresh: int, read: int, written: int, output: int) -> None:
    details = {"cached_tokens": read, "cache_write_tokens": written}
    prompt = fresh + read + written
    usage = canonical_usage(
        {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": details}
    )
    assert (usage.prompt_tokens, usage.output_tokens, usage.input_tokens) == (prompt, output, fresh)
