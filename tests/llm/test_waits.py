from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.resets import RETRY_SOON_SECONDS, named_reset
from hermes_jobs.llm.retry import CAP_SECONDS, MAX_RETRIES, MAX_WAIT_SECONDS, RETRYABLE, delay, retry_after

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
        ({"x-ratelimit-reset-requests": "2h"}, 7200),
        ({"x-ratelimit-remaining-requests-day": "0", "x-ratelimit-reset-requests-day": "33011.38"}, 33011.38),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:42Z",
                "anthropic-ratelimit-requests-remaining": "3",
                "anthropic-ratelimit-requests-reset": "2015-10-21T09:00:00Z",
                "date": DATE,
            },
            42,
        ),
        (
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": "1445419680",
                "anthropic-ratelimit-unified-7d-reset": "1445900000",
                "date": DATE,
            },
            7200,
        ),
        (
            {
                "anthropic-ratelimit-unified-status": "allowed_warning",
                "anthropic-ratelimit-unified-reset": "1445419680",
                "date": DATE,
            },
            None,
        ),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, "") == (None if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Please try again in 7.66s. Visit …", 7.66),
        ("please try again in 1h2m3s.", 3723),
        ("Please retry in 36.2s.", 36.2),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 20 seconds", 20),
        ("Please retry after 2 minutes.", 120),
        ("Please try again in 1.5h.", 5400),
        ("Please try again in 1.5 hours.", 5400),
        ("try again in 2 hours 5 minutes", 7500),
        ("try again in 1 hour, 30 minutes and 5 seconds", 5405),
        ("Come back later: retry after an hour", 3600),
        ("The limit resets in 3 days", 259200),
        ("resets_in_seconds: 529498", 529498),
        ("Please wait 30 sec before the next request", 30),
        ('{"retryDelay": "37s"}', 37),
        ("The model supports 30 tools", None),
        ("try again later", None),
        ("Try again with 4 messages", None),
    ],
)
def test_the_wait_is_read_from_the_message(message: str, wait: float | None) -> None:
    assert retry_after({}, message) == (None if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("message", "moment"),
    [
        ("Usage limit reached until 2015-10-21T15:00:00Z.", "2015-10-21T15:00"),
        ("until 2015-10-21T15:00:00.123456789+02:00", "2015-10-21T13:00:00.123456"),
        ("You will regain access on 2015-11-01 at 00:00 UTC.", "2015-11-01T00:00"),
        ("The quota resets on 2015-11-01", "2015-11-01T00:00"),
        ("Your limit will reset at 2015-10-21 15:41:08", "2015-10-21T15:41:08"),
        ("limit resets at 3pm", "2015-10-21T15:00"),
        ("limit resets at 3:30 p.m. UTC", "2015-10-21T15:30"),
        ("resets at 07:00", "2015-10-22T07:00"),
        ("resets 12am (Europe/Berlin)", "2015-10-21T22:00"),
        ("resets 8pm (America/New_York)", "2015-10-22T00:00"),
        ("resets at midnight Pacific time", "2015-10-22T07:00"),
        ("Your limit will reset at Oct 25, 10am.", "2015-10-25T10:00"),
        ("reset at Jan 3rd at 9:00 UTC", "2016-01-03T09:00"),
        ("usage limit reached|1445440000", "2015-10-21T15:06:40"),
        ("resets at 25:99", None),
        ("resets at 13pm", None),
        ("until 2015-13-45", None),
        ("until the end", None),
    ],
)
def test_a_moment_in_the_message_counts_from_the_answer(message: str, moment: str | None) -> None:
    now = datetime(2015, 10, 21, 7, 28, tzinfo=UTC)
    found = named_reset(message, now.timestamp(), UTC)
    named = None if moment is None else datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    assert found == (None if named is None else pytest.approx(named))


def test_a_time_of_day_that_has_just_passed_is_not_tomorrow() -> None:
    now = datetime(2015, 10, 21, 15, 4, tzinfo=UTC).timestamp()
    assert named_reset("resets at 3pm", now, UTC) == now + RETRY_SOON_SECONDS


def test_a_date_without_the_date_of_the_response_counts_from_the_clock_here() -> None:
    headers = {"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}
    now = datetime(2015, 10, 21, 7, 28, tzinfo=UTC).timestamp()
    assert retry_after(headers, "", now) == 30


@given(
    st.text() | st.from_regex(r"(resets?|until|again) [0-9a-z :,|-]{0,30}(pm|am|UTC|\(Europe/Berlin\))?"),
    st.floats(0, 4e9),
)
def test_whatever_is_written_a_moment_is_none_or_a_number(message: str, now: float) -> None:
    moment = named_reset(message, now, UTC)
    assert moment is None or isinstance(moment, float)


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date", "x-ratelimit-reset"]), st.text()
    ),
    st.text(),
)
def test_whatever_is_written_a_wait_is_none_or_not_negative(headers: dict[str, str], message: str) -> None:
    wait = retry_after(headers, message)
    assert wait is None or wait >= 0


def test_delays_double_up_to_the_cap_and_end_after_three_retries() -> None:
    assert [delay("server", retries, None, 1.0) for retries in range(4)] == [2.0, 4.0, 8.0, None]
    assert [delay("server", retries, None, 0.0) for retries in range(4)] == [1.0, 2.0, 4.0, None]


@given(st.sampled_from(sorted(RETRYABLE)), st.integers(0, MAX_RETRIES - 1), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_between_a_second_and_the_cap(kind: str, retries: int, fraction: float) -> None:
    wait = delay(kind, retries, None, fraction)
    assert wait is not None
    assert 1 <= wait <= CAP_SECONDS


@given(st.floats(0, MAX_WAIT_SECONDS), st.floats(0, 1, exclude_max=True))
def test_the_providers_wait_is_kept_in_full(asked: float, fraction: float) -> None:
    wait = delay("rate_limit", 0, asked, fraction)
    assert wait is not None
    assert asked <= wait <= asked + 1


@pytest.mark.parametrize(
    "kind", ["auth", "billing", "context_overflow", "bad_request", "cancelled", "new kind"]
)
def test_permanent_failures_are_given_up(kind: str) -> None:
    assert delay(kind, 0, None, 0.5) is None
    assert delay(kind, 0, 1.0, 0.5) is None


def test_a_wait_of_more_than_ten_minutes_is_given_up() -> None:
    assert delay("rate_limit", 0, 600.0, 0.0) == 600.0
    assert delay("rate_limit", 0, 601.0, 0.0) is None
