"""Webhooks: signed as the guide checks it, the same at every attempt, tried again where that may help."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.features.deliveries.channel import DeliveryError
from hermes_jobs.features.deliveries.channels.webhook import WebhookChannel, retry_after_seconds
from hermes_jobs.kernel.engine.ports import StepInterrupted
from tests.features.deliveries.http_server import Receiver, Reply, closed_port
from tests.features.deliveries.letters import NOON, asked_for
from tests.manual_clock import ManualClock
from tests.tools.support import Switch

GUIDE = Path(__file__).parents[3] / "docs" / "deliveries.md"
SECRET = "a long secret of one's own"

Check = Callable[[dict[str, str], bytes, str, float], bool]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def is_genuine() -> Check:
    """The function that the guide gives to receivers."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    check: Check = names["is_genuine"]
    return check


def send(receiver: Receiver, secret: str | None = SECRET, moment: float = NOON) -> str:
    courier = WebhookChannel(secret, clock=ManualClock(moment))
    return courier.deliver(asked_for(f"webhook:{receiver.url}", "Grüße"), receiver.url, Switch()).receipt


def refusal(receiver: Receiver, secret: str | None = SECRET) -> DeliveryError:
    with pytest.raises(DeliveryError) as refused:
        send(receiver, secret)
    return refused.value


def test_the_receivers_example_accepts_deliveries(receiver: Receiver, is_genuine: Check) -> None:
    assert send(receiver) == "200"
    (got,) = receiver.received
    assert got.path == "/hook?room=1"
    assert is_genuine(got.headers, got.body, SECRET, NOON + 60)
    assert json.loads(got.body) == {
        "type": "turn.completed",
        "data": {
            "delivery": "dt1x0x0",
            "turn": "t1",
            "session": "s1",
            "source": "schedule:h1",
            "ok": True,
            "text": "Grüße",
        },
    }


def test_the_receivers_example_refuses_changed_old_or_foreign_ones(
    receiver: Receiver, is_genuine: Check
) -> None:
    send(receiver)
    (got,) = receiver.received
    assert not is_genuine(got.headers, got.body.replace(b"true", b"false"), SECRET, NOON)
    assert not is_genuine({**got.headers, "webhook-id": "dt2x0x0"}, got.body, SECRET, NOON)
    assert not is_genuine(got.headers, got.body, SECRET, NOON + 3_600)
    assert not is_genuine(got.headers, got.body, "another", NOON)


def test_a_secret_in_the_standard_s_form_is_decoded(receiver: Receiver, is_genuine: Check) -> None:
    secret = "whsec_" + base64.b64encode(SECRET.encode()).decode()
    send(receiver, secret)
    (got,) = receiver.received
    assert is_genuine(got.headers, got.body, SECRET, NOON)
    assert is_genuine(got.headers, got.body, secret, NOON)


def test_the_guide_makes_secrets_in_the_form_that_the_standard_s_libraries_take() -> None:
    (made,) = re.findall(r'echo "(.*)" \| hermes-jobs config set WEBHOOK_SECRET', GUIDE.read_text())
    assert made == "whsec_$(openssl rand -base64 32)"


def test_every_attempt_has_the_same_id_and_body_and_its_own_time(
    receiver: Receiver, is_genuine: Check
) -> None:
    receiver.replies.append(Reply(503))
    refusal(receiver)
    send(receiver, moment=NOON + 500)
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "dt1x0x0"
    assert first.body == second.body
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]
    assert is_genuine(second.headers, second.body, SECRET, NOON + 500)


@pytest.mark.parametrize(
    ("status", "lasting"),
    [
        (301, True),
        (307, True),
        (400, True),
        (401, True),
        (404, True),
        (410, True),
        (422, True),
        (408, False),
        (425, False),
        (429, False),
        (500, False),
        (503, False),
    ],
)
def test_a_refusal_lasts_unless_it_may_pass(receiver: Receiver, status: int, lasting: bool) -> None:
    receiver.replies.append(Reply(status, {"location": "http://127.0.0.1:9/"}))
    refused = refusal(receiver)
    assert (refused.lasting, str(status) in refused.message) == (lasting, True)
    assert len(receiver.received) == 1


def test_the_receiver_may_say_when_to_come_again(receiver: Receiver) -> None:
    receiver.replies.append(Reply(429, {"retry-after": "120"}))
    assert refusal(receiver).retry_after == 120.0


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("Sat, 21 Nov 2026 12:01:30 GMT", 90.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(said, NOON) == seconds


def test_nothing_is_sent_unsigned(receiver: Receiver) -> None:
    refused = refusal(receiver, None)
    assert "WEBHOOK_SECRET" in refused.message
    assert not refused.lasting
    assert refusal(receiver, "whsec_%%").lasting is False
    assert receiver.received == []


def test_an_unreachable_receiver_is_retried() -> None:
    with closed_port() as port:
        url = f"http://127.0.0.1:{port}/"
        courier = WebhookChannel(SECRET, clock=ManualClock(NOON))
        with pytest.raises(DeliveryError) as refused:
            courier.deliver(asked_for(f"webhook:{url}"), url, Switch())
    assert "cannot be reached" in refused.value.message
    assert not refused.value.lasting


def test_a_receiver_that_keeps_silent_is_left(receiver: Receiver) -> None:
    receiver.replies.append(Reply(held=True))
    courier = WebhookChannel(SECRET, clock=ManualClock(NOON), seconds=0.2)
    with pytest.raises(DeliveryError, match="did not answer within"):
        courier.deliver(asked_for("webhook:x"), receiver.url, Switch())


def test_a_worker_that_leaves_does_not_wait_for_a_receiver(receiver: Receiver) -> None:
    receiver.replies.append(Reply(held=True))
    leaving = Switch()

    def leave() -> None:
        receiver.arrived.wait()
        leaving.fire("shutdown")

    thread = threading.Thread(target=leave)
    thread.start()
    courier = WebhookChannel(SECRET, clock=ManualClock(NOON))
    with pytest.raises(StepInterrupted):
        courier.deliver(asked_for("webhook:x"), receiver.url, leaving)
    thread.join()
