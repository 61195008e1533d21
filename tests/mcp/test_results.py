"""Results of calls, as the model reads them."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_jobs.features.mcp.results import text_of


def shown(text: str, structured: Any) -> str:
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    return text_of(result, lambda _number, _suffix, _content: "nowhere")[0]


@pytest.mark.parametrize(
    ("text", "structured"),
    [
        ('{"degrees": 21.5}', {"degrees": 21.5}),
        ("written", {"content": "written"}),
        ("42", {"result": 42}),
    ],
)
def test_structured_content_equal_to_the_text_is_left_out(text: str, structured: Any) -> None:
    assert shown(text, structured) == text


@pytest.mark.parametrize("structured", [{"a": "written", "b": 1}, {"content": "other"}, ["written"]])
def test_other_structured_content_follows_the_text(structured: Any) -> None:
    assert shown("written", structured).startswith("written\n\n")
