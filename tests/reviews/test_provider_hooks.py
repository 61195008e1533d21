"""A memory provider in the home hears of a compression in every process that works on the conversation."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.home import PATIENCE, Home, endpoint
from tests.memory import noting
from tests.model_server import ModelServer
from tests.reviews.talker import long_question, talker

TURNS = 6
SMALL = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "8000",
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "2",
    "HERMES_JOBS_COMPRESSION__ENABLED": "false",  # but by hand
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0",
    "HERMES_JOBS_MEMORY__PROVIDER": "noting",
}


@pytest.mark.slow
def test_processes_get_the_compression_of_another(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.follow(talker)
    home = Home(tmp_path, {**endpoint(model_server.base_url), **SMALL})
    plugin = home.path / "plugins" / "noting"
    shutil.copytree(Path(noting.__file__ or "").parent, plugin)
    home.path.chmod(0o700)

    with closing(Application(load(home.environ), home.environ)) as application:
        talk(application, range(TURNS))
        compressed = home.run("sessions", "compress", "s1", "--json")
        assert compressed.code == 0, compressed
        into = compressed.json["into"]
        talk(application, [TURNS])
        assert home.run("memory", "add", "user", "Likes tea").code == 0
        assert home.run("sessions", "end", into).code == 0
        talk(application, [])

    here = os.getpid()
    notes = [json.loads(line) for line in (plugin / "heard.jsonl").read_text().splitlines()]
    mine = [note[1:] for note in notes if note[0] == here]
    [compressor] = {note[0] for note in notes if note[0] != here}
    assert [note[1:] for note in notes if note[0] == compressor][:2] == [
        ["initialize", "s1", None],
        ["on_pre_compress", TURNS],
    ]
    written = [note[1:] for note in notes if note[1] == "on_memory_write"]
    assert [content.split(" in ")[0] for *_, content in written] == ["Flushed", "Likes tea"]
    assert [note for note in mine if note[0] not in {"sync_turn", "on_memory_write"}] == [
        ["initialize", "s1", None],
        ["on_session_switch", into, False, "compression"],
        ["on_session_end"],
        ["shutdown"],
    ]
    assert [note[0] for note in mine].count("sync_turn") == TURNS + 1


def talk(application: Application, numbers: range | list[int]) -> None:
    """Turns with these questions, and whatever else is due."""
    with InlineWorker(application) as worker:
        for number in numbers:
            turn = f"t{number}"
            worker.engine.submit(
                TurnSubmitted(turn=turn, session="s1", text=long_question(number), source="cli")
            )
        assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
