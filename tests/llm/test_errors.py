"""What providers answer in the place of a reply (`provider_errors.jsonl`), and what each of it means."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError
from hermes_jobs.llm.errors import HINTS, ApiRefusal, classify, parse_refusal, unreadable_answer
from hermes_jobs.llm.retry import RETRYABLE
from tests.tables import each_row

NOW = datetime(2026, 11, 23, 1, tzinfo=UTC).timestamp()


def judged(status: int | None, body: Any, headers: dict[str, str] | None = None) -> ModelError:
    refusal = parse_refusal(body, status=status, headers=headers)
    return classify(replace(refusal or ApiRefusal(message=str(body), status=status), at=NOW))


def openai(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": None, "param": None, "code": None}}


def cases(name: str) -> list[dict[str, Any]]:
    texts = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in texts.splitlines()]


CASES = [*cases("provider_errors.jsonl"), *cases("limit_refusals.jsonl")]
"""What providers were seen to answer; the second file holds those that are about the length of a request."""


@each_row(CASES)
def test_messages_of_providers_are_classified(case: dict[str, Any]) -> None:
    error = judged(case["status"], case["body"], case.get("headers"))
    assert error.kind == case["kind"]
    assert "wait" not in case or error.retry_after == pytest.approx(case["wait"])
    assert error.limit == case.get("limit")
    assert error.retryable == (case["kind"] in RETRYABLE)
    assert error.hint
    assert error.message


def test_a_model_without_tools_gets_a_hint() -> None:
    error = judged(400, openai("registry.ollama.ai/library/gemma:2b does not support tools"))
    assert "model.tool_calling" in error.hint


@pytest.mark.parametrize(
    ("message", "wait"),
    [("Rate limit reached. Please try again in 2.5s.", 2.5), ("Please try again in 12m57.6s.", 777.6)],
)
def test_the_wait_is_read_from_the_message(message: str, wait: float) -> None:
    assert judged(429, openai(message)).retry_after == pytest.approx(wait)


def test_errors_without_a_retry_have_no_wait() -> None:
    headers = {"retry-after": "5"}
    assert classify(ApiRefusal(message="no", status=401, headers=headers)).retry_after is None


@given(
    st.none() | st.integers(100, 599),
    st.text() | st.sampled_from([str(case["body"]) for case in CASES]),
    st.text(),
)
def test_whatever_is_said_there_is_a_kind_with_a_hint(status: int | None, message: str, code: str) -> None:
    error = classify(ApiRefusal(message=message, status=status, code=code))
    assert error.kind in HINTS
    assert error.hint
    assert len(error.message) <= 610


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "detail", "metadata", "raw"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(json_like)
def test_whatever_an_error_looks_like_it_is_read(body: Any) -> None:
    refusal = parse_refusal({"error": body})
    assert (refusal is None) == (not body)
    if refusal is not None:
        classify(refusal)


def test_an_excerpt_of_a_page_is_its_title() -> None:
    error = unreadable_answer("is not JSON", "<html><head><title>Log in</title></head><body>…</body></html>")
    assert error.message == "The endpoint's answer is not JSON: 'Log in'"
