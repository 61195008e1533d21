"""`turns replay` of turns that were steered, retried or compressed, or called a server: no effect at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.home import Home
from tests.mcp.conftest import SERVER
from tests.model_script import Action, Answer, AskedCall, Hold, Refuse, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import CHECKPOINT, is_summary

SMALL = {"HERMES_JOBS_MODEL__CONTEXT_LENGTH": "12000", "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "4"}


class Scene:
    """A home with a server whose tool `note` writes, and a count of all effects."""

    def __init__(self, home: Home, model: ModelServer, folder: Path) -> None:
        self.home, self.model, self.folder = home, model, folder
        folder.mkdir()
        home.path.mkdir(mode=0o700, exist_ok=True)
        home.environ.update(SMALL)
        server = {
            "command": sys.executable,
            "args": ["-I", "-S", str(SERVER)],
            "env": {"MCP_TEST": str(folder)},
            "writable": [str(folder)],
        }
        (home.path / "config.yaml").write_text(
            json.dumps({"mcp_servers": {"test": server}, "skills": {"bundled": False}})
        )

    @property
    def effects(self) -> list[str]:
        """What commands and the server have written."""
        files = (self.home.work / "effects", self.folder / "calls")
        return [line for file in files if file.exists() for line in file.read_text().splitlines()]

    def asking(self, name: str, arguments: dict[str, Any]) -> Callable[[Seen], Action]:
        """A model that calls this in the first round, then answers."""

        def choose(seen: Seen) -> Action:
            if is_summary(seen):
                return Answer(text=CHECKPOINT)
            asks = seen.rounds == 0 and seen.body.get("tools")
            return (
                Answer(tool_calls=(AskedCall(name, arguments),))
                if asks
                else Answer(text="Done. " + "word " * 400)
            )

        return choose


WRITES = ("terminal", {"command": "echo once >> effects"})


def steered(scene: Scene) -> str:
    first = Hold(answer=Answer(tool_calls=(AskedCall(*WRITES),)))
    scene.model.follow(lambda seen: first if seen.number == 0 else Answer(text="Done."))
    with scene.home.start("send", "--json", "Write it") as sending:
        scene.model.wait_until(lambda: len(scene.model.requests) == 1)
        ran = scene.home.run("send", "-c", "--if-busy", "steer", "--no-wait", "And stop there.")
        assert ran.code == 0, ran
        scene.model.release()
        ended = sending.end()
        assert ended.code == 0, ended
    assert any(each.last_user_text.endswith("And stop there.") for each in scene.model.requests)
    return str(ended.json["turn"])


def retried(scene: Scene) -> str:
    answers = scene.asking(*WRITES)
    scene.model.follow(lambda seen: Refuse(status=400) if seen.rounds else answers(seen))
    failed = scene.home.run("send", "--json", "Write it")
    assert failed.code == 1, failed
    scene.model.follow(answers)
    ran = scene.home.run("turns", "retry", failed.json["turn"], "--json")
    assert ran.code == 0, ran
    return str(failed.json["turn"])


def compressed(scene: Scene) -> str:
    scene.model.follow(scene.asking(*WRITES))
    first = scene.home.send("Write it")
    for _ in range(7):
        scene.home.send("-c", "Write it again")
    ran = scene.home.run("sessions", "compress", first["session"])
    assert ran.code == 0, ran
    return str(scene.home.send("-c", "Write it after that")["turn"])


def before_a_compression(scene: Scene) -> str:
    compressed(scene)
    turns = scene.home.run("turns", "list", "--json", "-n", "50").json
    return str(min(turns, key=lambda each: each["submitted_at"])["turn"])


def of_a_server(scene: Scene) -> str:
    scene.model.follow(scene.asking("test__note", {"text": "tea"}))
    sent = scene.home.run("send", "--json", "--approve", "mcp_test:*", "--unattended", "Write it")
    assert sent.code == 0, sent
    return str(sent.json["turn"])


@pytest.mark.parametrize("make", [steered, retried, compressed, before_a_compression, of_a_server])
def test_a_replay_of_any_turn_has_no_effect(
    home: Home, model_server: ModelServer, tmp_path: Path, make: Callable[[Scene], str]
) -> None:
    scene = Scene(home, model_server, tmp_path / "server")
    turn = make(scene)
    before = scene.effects
    assert before, "the turn itself had one"
    again = ("test__note", {"text": "coffee"}) if make is of_a_server else WRITES
    model_server.follow(scene.asking(*again))
    for more in ([], ["--follow"], ["--follow", "--allow-reads"]):
        ran = home.run("turns", "replay", turn, "--json", *more)
        assert (ran.code, ran.json["tools_run"], ran.json["status"]) == (0, 0, "completed"), ran
        assert ran.json["calls"], ran
    assert scene.effects == before
    assert home.run("events", "verify").code == 0
