from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.llm.errors import ApiRefusal, classify
from hermes_jobs.llm.redaction import REDACTED, redact_request


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "sk-ant-api03-abcdefgh_ijk",
        "sk-abcd****************wxyz",
        "gsk_abcdefghijklmnop",
        "AIzaSyA1234567890abcdefghijklmnopq",
        "hf_abcdefghijklmnop",
    ],
)
def test_texts_like_keys_are_redacted(secret: str) -> None:
    assert (
        redact_request(f"Incorrect API key provided: {secret} (see …)")
        == f"Incorrect API key provided: {REDACTED} (see …)"
    )


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdefgh12345678", f"Authorization: Bearer {REDACTED}"),
        ("GET https://x.example/v1?key=abc&y=1", f"GET https://x.example/v1?key={REDACTED}&y=1"),
        ("proxy http://anna:secret@host:1/", f"proxy http://{REDACTED}@host:1/"),
        ("a risk-free task, sk-1", "a risk-free task, sk-1"),
    ],
)
def test_secrets_in_headers_and_addresses_are_taken_out(text: str, clean: str) -> None:
    assert redact_request(text) == clean


@given(st.text(), st.text(min_size=6), st.text())
def test_a_known_secret_is_never_left(before: str, secret: str, after: str) -> None:
    if secret not in REDACTED:
        assert secret not in redact_request(before, [secret]) + redact_request(after, [secret])


def test_an_endpoint_that_answers_with_the_encoded_key_does_not_show_it() -> None:
    key = "sk-proj-CONFIGUREDKEY0123456789abcdef"
    for form in (b64encode(key.encode()).decode(), key[::-1], key.encode().hex(), key.replace("-", "%2D")):
        refusal = ApiRefusal(message=f"no such key: {form}", status=401)
        assert form not in str(classify(refusal, secrets=[key]))
        assert form not in classify(refusal, secrets=[key]).message


def test_a_placeholder_is_no_secret() -> None:
    assert redact_request("none of these", ["none"]) == "none of these"
