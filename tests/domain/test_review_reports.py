from __future__ import annotations

import json

import pytest

from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.reviews import saved_by


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory", {"action": "add", "content": "Likes  tea."}, 'memory add "Likes tea."'),
        ("memory", {"action": "remove", "old_text": "tea"}, 'memory remove "tea"'),
        (
            "memory",
            {"operations": [{"action": "add", "content": "A"}, {"action": "add", "content": "B"}]},
            'memory add "A", memory add "B"',
        ),
        ("skill_manage", {"action": "patch", "name": "deploy", "old_string": "x"}, 'skill patch "deploy"'),
        ("memory", "{broken", "memory"),
        ("memory", {"action": "add", "content": "x" * 99}, f'memory add "{"x" * 59}…"'),
    ],
)
def test_a_review_report_is_short(tool: str, arguments: object, words: str) -> None:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert saved_by(ToolCall("c", tool, written)) == words
