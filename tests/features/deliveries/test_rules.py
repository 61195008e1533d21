"""Where answers may go, and a delivery's life: tried until it arrives, for about a day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.events import (
    DeliveryPlaced,
    DeliveryRequested,
    DeliverySent,
    parse_target,
    stream_of,
)
from hermes_jobs.features.deliveries.rules import (
    LONGEST_WAIT,
    MAX_ATTEMPTS,
    Delivery,
    evolve,
    failed,
    next_steps,
    read,
)

HOUR = 3_600.0
UNWANTED = (
    "",
    "cli:x",
    "file:",
    "file:/srv/",
    "file:a\nb",
    "file:a\0b",
    "webhook:",
    "webhook:ftp://example.com",
    "webhook:https://",
    "webhook:https://example.com:99999/",
    "webhook:https://example.com/a b",
    "webhook:https://anna:secret@example.com/",
    "webhook:https://example.com/?access_token=abc",
    "webhook:https://example.com/?a=1&key=abc",
    "telegram:",
    "telegram:anna",
    "telegram:0",
    "telegram:١٢",
    "mailto:anna@example.com",
    "/srv/answers.md",
    "https://example.com/hook",
)


def delivery(target: str = "file:/srv/a.md") -> Delivery:
    requested = DeliveryRequested(delivery="d1", target=target, text="Hi", turn="t1", session="s1")
    return evolve(Delivery(stream=stream_of("d1")), requested)


def after_failure(state: Delivery, now: float = 0.0, **more: float) -> Delivery:
    return evolve(state, failed(state, "It broke.", now=now, fraction=0.5, **more))


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("cli", "cli", ""),
        (" CLI ", "cli", ""),
        ("file:~/answers.md", "file", "~/answers.md"),
        ("file: notes of today.md", "file", "notes of today.md"),
        ("webhook:https://example.com:8443/hook?room=1", "webhook", "https://example.com:8443/hook?room=1"),
        ("webhook:http://[::1]:9/", "webhook", "http://[::1]:9/"),
        ("Telegram:-1001234567890", "telegram", "-1001234567890"),
        ("telegram:@my_channel", "telegram", "@my_channel"),
    ],
)
def test_a_target_is_a_kind_and_an_address(text: str, kind: str, address: str) -> None:
    target = parse_target(text)
    assert (target.kind, target.address) == (kind, address)
    assert parse_target(target.text) == target


@pytest.mark.parametrize("text", UNWANTED)
def test_an_impossible_target_is_refused_with_advice(text: str) -> None:
    with pytest.raises(Rejected) as refused:
        parse_target(text)
    assert refused.value.kind == "usage"
    assert refused.value.hint
    assert "secret" not in refused.value.message.replace("WEBHOOK_SECRET", "")
    assert "abc" not in refused.value.message


@given(st.text())
def test_any_text_is_a_target_or_is_refused(text: str) -> None:
    try:
        target = parse_target(text)
    except Rejected:
        return
    assert parse_target(target.text) == target


def test_a_delivery_is_due_at_once_and_its_step_carries_no_text() -> None:
    (step,) = next_steps(delivery())
    assert (step.id, step.kind, step.queue, step.not_before) == ("d1-1", "delivery.send", "deliveries", 0.0)


def test_a_delivery_to_the_inbox_is_unread_until_it_is_read() -> None:
    state = delivery("cli")
    assert next_steps(state) == ()
    assert state.is_unread
    (fact,) = read(state)
    state = evolve(state, fact)
    assert (state.status, state.is_unread, read(state)) == ("sent", False, ())


def test_a_failure_is_tried_again_later_under_another_step() -> None:
    state = after_failure(delivery(), now=1_000.0)
    (step,) = next_steps(state)
    assert step.id == "d1-2"
    assert step.attempt == 2
    assert 1_010.0 <= step.not_before <= 1_012.0
    assert not state.is_unread


def test_the_waits_grow_and_end_after_about_a_day_in_the_inbox() -> None:
    state, now, waits = delivery(), 0.0, []
    while state.status == "waiting":
        state = after_failure(state, now)
        if state.status == "waiting":
            waits.append(state.retry_at - now)
            now = state.retry_at
    assert state.failures == MAX_ATTEMPTS
    assert waits == sorted(waits)
    assert max(waits) <= LONGEST_WAIT * 1.2
    assert 20 * HOUR < now < 28 * HOUR
    assert next_steps(state) == ()
    assert state.is_unread


@given(st.floats(0, 1e9), st.integers(0, MAX_ATTEMPTS - 2), st.floats(0, 0.999))
def test_a_target_is_not_asked_again_before_it_wants_to_be_but_within_two_days(
    retry_after: float, failures: int, fraction: float
) -> None:
    state = delivery()
    for _ in range(failures):
        state = after_failure(state)
    fact = failed(state, "Later.", now=5.0, fraction=fraction, retry_after=retry_after)
    assert fact.retry_at is not None
    assert min(retry_after, 24 * HOUR) <= fact.retry_at - 5.0 <= 48 * HOUR


def test_a_placeholder_counts_the_attempts_anew_and_a_vanished_one_is_replaced() -> None:
    state = after_failure(delivery("telegram:12"))
    for part, receipt in ((0, "7"), (1, "8"), (1, "9")):
        state = evolve(state, DeliveryPlaced(delivery="d1", part=part, receipt=receipt))
    assert state.receipts == ("7", "9")
    assert (state.placements, state.attempt, state.retry_at, state.message) == (3, 1, 0.0, "")
    assert [step.id for step in next_steps(state)] == ["d1-5"]
    assert next_steps(evolve(state, DeliverySent(delivery="d1", attempt=1, receipt="9"))) == ()
