"""`kill -9` while an experiment is made and run: it is there whole or not, and no cell is asked twice."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import stream_of
from hermes_jobs.kernel.events import HelperCallStarted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import load
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home
from tests.model_script import Answer
from tests.model_server import ModelServer

DESIGN = {
    "variants": [{"name": "one"}, {"name": "two", "model": "other"}],
    "checks": [{"regex": "yes"}],
    "judge": {"model": "judge", "rubric": "The better one."},
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_experiment_is_finished_whatever_append_is_the_last_of_its_worker(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(
        lambda seen: Answer(text='{"better": "same"}' if seen.body["model"] == "judge" else "yes")
    )
    home.send("Say yes")
    (home.work / "design.json").write_text(json.dumps(DESIGN))
    design = ["--turns", "yes", "--variants", str(home.work / "design.json")]
    sends = Sends()
    assert (
        sends.run(home.environ, home.work, ["e0", *design], 1, moment, command=("experiments", "new"))
        == KILLED
    )
    application = Application(load(home.environ), home.environ)
    try:
        made = application.log.read(stream_of("e0"))
        assert [each.type for each in made] in (
            [],
            ["ExperimentDefined", "ReplayPlanned", "ReplayStopped"],
        )
        assert bool(made) == (moment == "after")
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            assert home.run("experiments", "new", f"e{at}", *design).code == 0
            code = sends.run(home.environ, home.work, [f"e{at}"], at, moment, command=("experiments", "run"))
            finish(application)
            assert home.run("experiments", "run", f"e{at}").code == 0  # what was killed before it began
            assert_each_cell_is_answered_and_checked_once(application.log, f"e{at}")
        assert code == 0
        assert at > 5
        assert home.run("events", "verify").code == 0
    finally:
        application.close()


def assert_each_cell_is_answered_and_checked_once(log: EventLog, name: str) -> None:
    """Two cells, their checks and the judgement, behind whose outcomes nothing is begun again."""
    ended: Counter[str] = Counter()
    checked: Counter[str] = Counter()
    for recorded in log.read(stream_of(name)):
        event = recorded.event
        if isinstance(event, HelperCallStarted):
            assert event.step not in ended, f"{event.step} was asked again"
        elif isinstance(event, e.ReplayCallEnded):
            ended[event.step] += 1
        elif isinstance(event, e.CellChecked):
            checked[event.step] += 1
    assert sorted(ended.values()) == [1, 1, 1], name
    assert sorted(checked.values()) == [1, 1], name
    assert log.account(stream_of(name)).reserved.tokens == 0
