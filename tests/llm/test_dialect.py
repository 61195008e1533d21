from __future__ import annotations

import pytest

from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.dialect import OPENAI_URL, Dialect, first_dialect

PLAIN = Dialect()


@pytest.mark.parametrize(
    ("status", "message", "changed"),
    [
        (400, "Unrecognized request argument supplied: stream_options", Dialect(streams_usage=False)),
        (422, "body.stream_options: Extra inputs are not permitted", Dialect(streams_usage=False)),
        (400, "stream: streaming is not supported for this model", Dialect(streams=False)),
        (400, "'stream' must be false", Dialect(streams=False)),
        (
            400,
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
            Dialect(limit_field="max_completion_tokens"),
        ),
        (
            400,
            "Unsupported value: 'temperature' does not support 0.1 with this model.",
            Dialect(takes_temperature=False),
        ),
        (400, "max_tokens is too large: 9. This is not supported.", None),
        (400, "upstream does not support this", None),
        (400, "Invalid message order", None),
        (500, "stream_options is not supported", None),
        (None, "stream_options is not supported", None),
    ],
)
def test_parameters_named_by_a_refusal_are_left_out(
    status: int | None, message: str, changed: Dialect | None
) -> None:
    assert adapt(PLAIN, status, message) == changed


def test_an_omitted_parameter_is_not_omitted_again() -> None:
    assert adapt(Dialect(streams_usage=False), 400, "Unknown parameter: 'stream_options'") is None
    assert adapt(Dialect(streams=False), 400, "Streaming is not supported") is None


def test_openai_itself_is_asked_in_its_newest_words() -> None:
    assert first_dialect(OPENAI_URL).limit_field == "max_completion_tokens"
    assert first_dialect("http://127.0.0.1:8080/v1").limit_field == "max_tokens"
