"""`kill -9` of `held keep` at its append: what it keeps is there once, or it waits still."""

from __future__ import annotations

import pytest

from hermes_jobs.features.memory import events as memory_events
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends
from tests.features.holding.conftest import LIE, fetches, rule, saves
from tests.home import Home
from tests.model_script import Script
from tests.model_server import ModelServer
from tests.tools.web_server import WebServer


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_kept_is_there_once_whenever_keeping_it_is_killed(
    home: Home, model_server: ModelServer, pages: WebServer, moment: Moment
) -> None:
    model_server.follow(Script(rules=(rule("Read", (fetches(pages),), (saves(LIE),)),)))
    home.run("send", "--unattended", "Read the portal.")
    (held,) = home.run("held", "list", "--json").json

    assert Sends().run(home.environ, home.work, [held["held"]], 1, moment, command=("held", "keep")) == KILLED
    again = home.run("held", "keep", held["held"])

    assert again.code == (1 if moment == "after" else 0)
    assert home.run("held", "show", held["held"], "--json").json["status"] == "kept"
    assert home.run("memory", "show", "--json").json["memory"]["entries"] == [LIE]
    with home.open_log() as log:
        assert len([fact for fact in facts_of(log) if isinstance(fact, memory_events.MemoryAdded)]) == 1
        assert_all_is_done_once(log, [])
