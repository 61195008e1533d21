"""A memory provider in the home hears of a compression in every process that works on the conversation."""

from __future__ import annotations

import json
import os
from contextlib import closing
from functools import partial
from pathlib import Path

from hermes_jobs.domain import commands as c
from hermes_jobs.settings import load
from hermes_jobs.wiring import Installation
from tests.e2e.home import PATIENCE, Home, endpoint
from tests.learning.talker import has_ended, question, talker
from tests.model_server import ModelServer
from workers.inline import InlineWorker

STREAM = "session-s1"
TURNS = 6
SMALL = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "8000",
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "2",
    "HERMES_JOBS_COMPRESSION__ENABLED": "false",  # but by hand
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0",
    "HERMES_JOBS_MEMORY__PROVIDER": "noting",
}
PROVIDER = """
import json, os

class Noting:
    def __init__(self, setup):
        self.path = setup.folder / "notes.jsonl"

    def note(self, what, *details):
        line = json.dumps([os.getpid(), what, *details]) + "\\n"
        with open(self.path, "a") as notes:
            notes.write(line)

    def is_available(self): return True
    def initialize(self, session): self.note("initialize", session.id, session.continues)
    def system_prompt_block(self): return ""
    def prefetch(self, query): return ""
    def queue_prefetch(self, query): pass
    def sync_turn(self, user, assistant): self.note("sync_turn", user[:12])
    def get_tool_schemas(self): return ()
    def handle_tool_call(self, name, arguments): return ""
    def shutdown(self): self.note("shutdown")
    def on_pre_compress(self, turns): self.note("on_pre_compress", len(turns))
    def on_session_switch(self, session, *, reset, reason):
        self.note("on_session_switch", session.id, reset, reason)
    def on_session_end(self, turns): self.note("on_session_end")

provider = Noting
"""


def test_processes_hear_of_a_compression_that_another_made(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.follow(talker)
    home = Home(tmp_path, {**endpoint(model_server.base_url), **SMALL})
    plugin = home.path / "plugins" / "noting"
    plugin.mkdir(parents=True)
    home.path.chmod(0o700)
    (plugin / "__init__.py").write_text(PROVIDER)

    with closing(Installation(load(home.environ), home.environ)) as installation:
        talk(installation, range(TURNS))
        compressed = home.run("sessions", "compress", "s1", "--json")
        assert compressed.code == 0, compressed
        into = compressed.json["into"]
        talk(installation, [TURNS])
    assert home.run("sessions", "end", into).code == 0

    here = os.getpid()
    notes = [json.loads(line) for line in (plugin / "notes.jsonl").read_text().splitlines()]
    mine = [note[1:] for note in notes if note[0] == here]
    [compressor, ender] = dict.fromkeys(note[0] for note in notes if note[0] != here)
    assert [note[1:] for note in notes if note[0] == compressor] == [
        ["initialize", "s1", None],
        ["on_pre_compress", TURNS],
        ["on_session_switch", into, False, "compression"],
        ["shutdown"],
    ]
    assert [note for note in mine if note[0] != "sync_turn"] == [
        ["initialize", "s1", None],
        ["on_session_switch", into, False, "compression"],
        ["shutdown"],
    ]
    assert [note[0] for note in mine].count("sync_turn") == TURNS + 1
    assert [note[1:] for note in notes if note[0] == ender] == [
        ["initialize", into, "s1"],
        ["on_session_end"],
        ["shutdown"],
    ]


def talk(installation: Installation, numbers: range | list[int]) -> None:
    with InlineWorker(installation) as worker:
        for number in numbers:
            turn = f"t{number}"
            worker.engine.submit(c.SubmitTurn(turn=turn, session="s1", text=question(number), source="cli"))
            worker.work(partial(has_ended, worker, STREAM, turn), stream=STREAM, seconds=PATIENCE)
