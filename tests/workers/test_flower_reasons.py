"""A failed attempt is red in Flower, with its reason; an error of a tool is a result that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Refuse, Seen
from tests.model_server import ModelServer
from tests.tools.support import wait_until
from tests.workers.test_up import free_port, page, up

pytestmark = pytest.mark.slow


def scene(seen: Seen) -> Action:
    if "refused" in seen.last_user_text:
        return Refuse(status=400, message="no such model")
    if seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("read_file", {"path": "missing.txt"}),))
    return Answer(text="It is missing.")


def test_a_failed_attempt_says_why_and_a_tools_error_is_told_from_its_success(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.follow(scene)
    home = Home(tmp_path, endpoint(model_server.base_url))
    port = free_port()

    def tasks() -> dict[str, Any]:
        shown: dict[str, Any] = msgspec.json.decode(page(f"http://127.0.0.1:{port}/api/tasks"))
        return shown

    def deliveries() -> list[Any]:
        return [task for task in tasks().values() if task["name"] == "delivery.send" and task["exception"]]

    with up(home, "--flower-port", str(port), FLOWER_UNAUTHENTICATED_API="true"):
        refused = home.send("refused", "--no-wait")["turn"]
        reading = home.send("read", "--no-wait", "--deliver", "webhook:http://127.0.0.1:1/x")["turn"]
        wait_until(lambda: deliveries() != [], "the failed delivery in Flower")
        wait_until(lambda: tasks().get(f"{refused}-1", {}).get("state") == "FAILURE", "the failed call")
        shown, delivery = tasks(), deliveries()[0]

    assert shown[f"{refused}-1"]["exception"].startswith("StepFailed('model_not_found: 400: no such model")
    assert delivery["state"] == "FAILURE"
    assert "StepFailed('Webhooks are signed" in delivery["exception"]
    tool = shown[f"{reading}-1-0"]
    assert (tool["state"], tool["result"]) == (
        "SUCCESS",
        "'done: the tool reported an error, which the model reads'",
    )
