"""A home whose disk becomes full in the middle of a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.home import Home, endpoint
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.small_disk import mounted
from tests.tools.support import wait_until


@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["text", "json"])
def test_nothing_is_lost_and_the_person_learns_how_to_continue(
    tmp_path: Path, model_server: ModelServer, arguments: tuple[str, ...]
) -> None:
    long = "so far " * 20_000
    model_server.follow(
        Script(rules=(Rule("report", (Hold(first="All is well ", answer=Answer(text=long)),)),))
    )
    with mounted(tmp_path / "disk", size="3m") as disk:
        home = Home(disk.path, endpoint(model_server.base_url))
        with home.start("send", "A report, please.", *arguments) as sending:
            wait_until(lambda: len(model_server.requests) == 1, "the model call")
            ballast = disk.fill()
            model_server.release()
            ended = sending.end()
        assert ended.code == 5
        with home.open_log() as log:
            (turn,) = [fact.turn for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
        assert "the disk is full" in ended.err
        assert f"hermes-jobs turns follow {turn}" in ended.err
        assert "Traceback" not in ended.err
        ballast.unlink()
        model_server.follow([Answer(text="All is well.")])
        assert home.run("turns", "follow", turn).out == "All is well.\n"
        with home.open_log() as log:
            assert_all_is_done_once(log, [turn])
