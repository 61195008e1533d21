"""Hooks without a server: signatures by the examples that their authors publish, filters, and inputs."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.features.triggers.events import Hook
from hermes_jobs.features.triggers.hooks.payloads import Payload, faulty_conditions
from hermes_jobs.features.triggers.hooks.signatures import TOLERANCE, delivery_id, derived_secret

GITHUB = (
    "It's a Secret to Everybody",
    {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
    b"Hello, World!",
)
"""https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries"""
MOMENT = 1614265330
STANDARD = (
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": str(MOMENT),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    b'{"test": 2432232314}',
)
"""The vector of https://github.com/standard-webhooks/standard-webhooks, in the tests of its libraries."""


def test_the_published_examples_are_right_and_what_differs_by_anything_is_not() -> None:
    secret, headers, body = GITHUB
    plain = {"x-signature": headers["x-hub-signature-256"].removeprefix("sha256="), "x-delivery": "d"}
    own, named, signed = STANDARD
    spread = {**named, "webhook-signature": f"v1a,xx v1,AAAA {named['webhook-signature']}"}
    rows: dict[str, tuple[str, dict[str, str], bytes, float, str | None]] = {
        "github": (secret, headers, body, 0, ""),
        "github with an id": (secret, {**headers, "x-github-delivery": "d"}, body, 0, "d"),
        "plain": (secret, plain, body, 0, "d"),
        "standard": (own, named, signed, MOMENT, named["webhook-id"]),
        "several signatures": (own, spread, signed, MOMENT + TOLERANCE, named["webhook-id"]),
        "another secret": (own, headers, body, 0, None),
        "another body": (secret, headers, body + b" ", 0, None),
        "another body, standard": (own, named, signed + b" ", MOMENT, None),
        "another id": (own, {**named, "webhook-id": "msg"}, signed, MOMENT, None),
        "too old": (own, named, signed, MOMENT + TOLERANCE + 1, None),
        "of the future": (own, named, signed, MOMENT - TOLERANCE - 1, None),
        "no timestamp": (own, {**named, "webhook-timestamp": "soon"}, signed, MOMENT, None),
        "digits that are not ASCII": (own, {**named, "webhook-timestamp": "¹"}, signed, MOMENT, None),
        "an endless timestamp": (own, {**named, "webhook-timestamp": "9" * 9_000}, signed, MOMENT, None),
        "no id": (own, {**named, "webhook-id": ""}, signed, MOMENT, None),
        "a secret that is not base64": (secret, named, signed, MOMENT, None),
        "text that is not ASCII": (secret, {"x-signature": "sha256=\udce4ä"}, body, 0, None),
        "nothing": (secret, {}, body, 0, None),
    }
    found = {name: delivery_id(*row[:4]) for name, row in rows.items()}
    assert found == {name: row[4] for name, row in rows.items()}


def test_each_trigger_and_each_salt_has_a_secret_of_its_own() -> None:
    secrets = {derived_secret(key, name, salt) for key in "kK" for name in "aA" for salt in "sS"}
    assert len(secrets) == 8
    assert {len(secret) for secret in secrets} == {50}


OPENED = {
    "action": "opened",
    "number": 7,
    "draft": False,
    "pull_request": {"title": "Fix\nit"},
    "c": [{"m": 1}],
}


def payload(data: object = OPENED, event: str = "pull_request", **headers: str) -> Payload:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return Payload({"x-github-event": event, **headers}, body)


@pytest.mark.parametrize(
    ("events", "fields", "is_wanted"),
    [
        ((), (), True),
        (("push", "pull_request"), ("action=opened", "draft=false"), True),
        (("push",), (), False),
        ((), ("action=closed", "action=opened"), True),
        ((), ("action=opened", "number=8"), False),
        ((), ("pull_request.missing=x",), False),
        ((), ("c.0.m=1",), True),
        ((), ("c.1.m=1",), False),
    ],
)
def test_a_hook_takes_what_its_filters_name(
    events: tuple[str, ...], fields: tuple[str, ...], *, is_wanted: bool
) -> None:
    assert payload().is_wanted(Hook(salt="s", events=events, fields=fields)) == is_wanted


def test_a_ping_starts_nothing_unless_it_is_named_and_standard_webhooks_name_theirs_in_the_payload() -> None:
    assert not payload(event="ping").is_wanted(Hook(salt="s"))
    assert payload(event="ping").is_wanted(Hook(salt="s", events=("ping",)))
    assert payload({"type": "user.created"}, event="").is_wanted(Hook(salt="s", events=("user.created",)))


def test_the_input_is_what_the_task_names_else_everything() -> None:
    named = payload().input_of("Review {pull_request.title} of {number}, {number}, not {nothing} or {}.")
    assert named == "{pull_request.title}: Fix\nit\n{number}: 7\n{nothing}: (not in the payload)"
    assert payload().input_of('Write {"json": 1} and {nothing}.') == json.dumps(OPENED)
    form = payload(b"payload=%7B%22a%22%3A1%7D", **{"content-type": "application/x-www-form-urlencoded"})
    assert (form.text, form.field("a")) == ('{"a":1}', "1")


def test_odd_payloads_are_texts() -> None:
    for body in (b"[" * 900_000, b"\xff\x00{", b"", b'"\\ud800"', b"NaN"):
        odd = payload(body)
        assert (odd.data, odd.field("a")) == (None, None)
        assert "\0" not in odd.input_of("Look at {a}.")


def test_a_condition_has_a_path_and_a_value() -> None:
    assert faulty_conditions(["a=b", "a.b-c.0==", "a", "=b", "a..b=c", "a b=c", "a=\n"]) == [
        "a",
        "=b",
        "a..b=c",
        "a b=c",
    ]
