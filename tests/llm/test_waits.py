from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.retry import CAP_SECONDS, LONGEST_WAIT_SECONDS, MAX_RETRIES, RETRYABLE, delay
from hermes_jobs.llm.waits import asked_wait

DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "20"}, 20),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "20"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": DATE}, 30),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT", "date": DATE}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1445412540000", "date": DATE}, 60),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait(headers, "") == (None if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Please try again in 7.66s. Visit …", 7.66),
        ("please try again in 1h2m3s.", 3723),
        ("Please retry in 36.2s.", 36.2),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 20 seconds", 20),
        ("Please retry after 2 minutes.", 120),
        ("Please wait 30 sec before the next request", 30),
        ('{"retryDelay": "37s"}', 37),
        ("The model supports 30 tools", None),
        ("try again later", None),
        ("Try again with 4 messages", None),
    ],
)
def test_the_wait_is_read_from_the_message(message: str, wait: float | None) -> None:
    assert asked_wait({}, message) == (None if wait is None else pytest.approx(wait))


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date", "x-ratelimit-reset"]), st.text()
    ),
    st.text(),
)
def test_whatever_is_written_a_wait_is_none_or_not_negative(headers: dict[str, str], message: str) -> None:
    wait = asked_wait(headers, message)
    assert wait is None or wait >= 0


def test_delays_double_up_to_the_cap_and_end_after_three_retries() -> None:
    assert [delay("server", retries, None, 1.0) for retries in range(4)] == [2.0, 4.0, 8.0, None]
    assert [delay("server", retries, None, 0.0) for retries in range(4)] == [1.0, 2.0, 4.0, None]


@given(st.sampled_from(sorted(RETRYABLE)), st.integers(0, MAX_RETRIES - 1), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_between_a_second_and_the_cap(kind: str, retries: int, fraction: float) -> None:
    wait = delay(kind, retries, None, fraction)
    assert wait is not None
    assert 1 <= wait <= CAP_SECONDS


@given(st.floats(0, LONGEST_WAIT_SECONDS), st.floats(0, 1, exclude_max=True))
def test_what_the_provider_asks_for_is_waited_in_full(asked: float, fraction: float) -> None:
    wait = delay("rate_limit", 0, asked, fraction)
    assert wait is not None
    assert asked <= wait <= asked + 1


@pytest.mark.parametrize(
    "kind", ["auth", "billing", "context_overflow", "bad_request", "cancelled", "new kind"]
)
def test_what_would_fail_again_is_given_up(kind: str) -> None:
    assert delay(kind, 0, None, 0.5) is None
    assert delay(kind, 0, 1.0, 0.5) is None


def test_a_wait_of_more_than_ten_minutes_is_given_up() -> None:
    assert delay("rate_limit", 0, 600.0, 0.0) == 600.0
    assert delay("rate_limit", 0, 601.0, 0.0) is None
