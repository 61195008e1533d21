"""Notifications by ntfy, as its documentation describes publishing (https://docs.ntfy.sh/publish/)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import parse_target
from tests.features.deliveries.http_server import Receiver
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

TOKEN = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
ASK = AskedCall("ask_user", {"question": "Which colour?", "choices": ["red", "green"]})
FIELDS = {"topic", "message", "title", "click"}
MAX_BYTES = 4_096
"""More becomes an attachment (https://docs.ntfy.sh/publish/#limitations)."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def published(receiver: Receiver, number: int) -> dict[str, Any]:
    """A notification that a server of ntfy would take."""
    got = receiver.received[number]
    assert got.path == "/"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["authorization"] == f"Bearer {TOKEN}"
    body: dict[str, Any] = json.loads(got.body)
    assert set(body) <= FIELDS
    assert re.fullmatch(r"[-_A-Za-z0-9]{1,64}", body["topic"])
    assert 0 < len(body["message"].encode()) <= MAX_BYTES
    return body


@pytest.mark.slow
def test_what_waits_and_answers_are_published_with_a_link(
    tmp_path: Path, model_server: ModelServer, receiver: Receiver
) -> None:
    paint = Rule("Paint", (Answer(tool_calls=(ASK,)), Answer(text="ä" * 5_000)))
    model_server.follow(Script(rules=(paint,)))
    server = receiver.url.partition("/hook")[0]
    home = Home(
        tmp_path,
        {
            **endpoint(model_server.base_url),
            "HERMES_JOBS_SERVE__NTFY_SERVER": server,
            "HERMES_JOBS_SERVE__PUBLIC_URL": "https://jobs.example.com/",
            "NTFY_TOKEN": TOKEN,
        },
    )
    assert home.run("send", "Paint it.", "--deliver", "ntfy:garden").code == 3
    (turn,) = home.run("turns", "list", "--json").json
    waits = published(receiver, 0)
    assert waits == {
        "topic": "garden",
        "message": "Waits for you: the agent asks.",
        "title": "hermes-jobs",
        "click": f"https://jobs.example.com/turns/{turn['turn']}",
    }
    assert home.run("turns", "answer", turn["turn"], "green").code == 0
    home.run("turns", "wait", turn["turn"])
    assert published(receiver, 1)["message"].endswith("ä…")
    assert home.files_holding(TOKEN) == []


def test_a_topic_is_a_word() -> None:
    assert parse_target("ntfy: my_topic-1").text == "ntfy:my_topic-1"
    for wrong in ("ntfy:", "ntfy:a/b", "ntfy:a b", f"ntfy:{'a' * 65}", "ntfy:https://ntfy.sh/a"):
        with pytest.raises(Rejected):
            parse_target(wrong)
