"""A fresh home before a model that asks its person."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

WHICH = AskedCall(
    "ask_user", {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"], "free_text": False}
)
SEVERAL = AskedCall(
    "ask_user", {"question": "What may I clean?", "choices": ["caches", "logs", "branches"], "several": True}
)
PLAN = AskedCall("propose_plan", {"plan": "1. Write `a.txt`"})
BETTER = AskedCall("propose_plan", {"plan": "1. Write `a.txt`\n2. Test it"})
WRITE = AskedCall("write_file", {"path": "a.txt", "content": "one\n"})
FIRST = AskedCall("enter_plan_mode", {"reason": "It touches forty files."})


def rule(contains: str, *calls: AskedCall) -> Rule:
    """A model that makes these calls, one in each reply, when it reads that."""
    return Rule(contains, (*(Answer(tool_calls=(call,)) for call in calls), Answer(text="Done.")))


SCRIPT = Script(
    rules=(
        rule("database", WHICH),
        rule("clean", SEVERAL),
        rule("plan", PLAN, BETTER, WRITE),
        rule("refactor", FIRST, WRITE),
    )
)


@pytest.fixture
def home(tmp_path: Path, model_server: ModelServer) -> Home:
    model_server.follow(SCRIPT)
    return Home(tmp_path, endpoint(model_server.base_url))


def told(model_server: ModelServer) -> list[str]:
    """What the model was told of its calls, in its last request."""
    return [str(each["content"]) for each in model_server.requests[-1].messages if each["role"] == "tool"]
