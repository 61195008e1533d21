"""No tool acts once others may have taken its step over: it looks at the lease while it runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest
from sqlalchemy import make_url

from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.broker_address import find_server
from tests.e2e.invariants import assert_all_is_done_once, counted, facts_of, history
from tests.faults.crew import Crew, wait_until
from tests.faults.redis_server import RedisServer
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.proxy import Proxy
from tests.services import postgres_schema
from tests.tools.support import processes_with

pytestmark = pytest.mark.slow

LEASE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
LONGER_LEASE = {"HERMES_JOBS_WORKERS__LEASE_SECONDS": "6"}


@pytest.fixture
def tools(model_server: ModelServer, effects: Path) -> ModelServer:
    """The texts `command …` and `file` ask for a tool that writes; then comes an answer."""

    def choose(seen: Seen) -> Action:
        word, _, command = seen.last_user_text.partition(" ")
        if seen.rounds:
            return Answer(text="Done.")
        if word == "command":
            asked = AskedCall("terminal", {"command": f"echo once >> '{effects}'; {command}", "timeout": 300})
        else:
            asked = AskedCall("write_file", {"path": "written", "content": "once"})
        return Answer(tool_calls=(asked,))

    model_server.follow(choose)
    return model_server


@pytest.fixture
def alive(tmp_path: Path) -> Path:
    """Holds the moments at which `going_on` continued."""
    return tmp_path / "work" / "alive"


def going_on(alive: Path) -> str:
    """A command without an end."""
    return f"command while date +%s.%N >> '{alive}'; do sleep 0.05; done"


def assert_ended_before_others_went_on(crew: Crew, alive: Path) -> None:
    """The command wrote nothing any more when its step was taken over."""
    (taken,) = [each for each in history(crew.log) if isinstance(each.event, e.StepAbandoned)]
    assert float(alive.read_text().split()[-1]) < datetime.fromisoformat(taken.recorded_at).timestamp()


def is_interrupted(crew: Crew) -> bool:
    """Whether the model was told that the outcome is unknown."""
    return any(isinstance(fact, e.ToolInterrupted) for fact in facts_of(crew.log))


@pytest.mark.parametrize("text", ["command true", "file"])
def test_a_worker_that_was_stopped_before_its_tool_began_does_not_run_it_when_it_wakes(
    crew: Crew, tools: ModelServer, home: Home, effects: Path, text: str
) -> None:
    stopped = crew.start_one(0, module="tests.faults.stopped", before=["ToolStarted"], **LEASE)
    (name,) = crew.names()
    crew.submit(text)
    wait_until(lambda: any(isinstance(fact, e.ToolStarted) for fact in facts_of(crew.log)), "the start")
    crew.start_one(1, **LEASE)
    wait_until(lambda: is_interrupted(crew), "its being taken over")
    crew.finish()
    stopped.signal(SIGCONT)
    wait_until(lambda: len(crew.names() - {name}) == 2, "its coming back under another name")
    crew.submit("command true")
    crew.finish()
    assert counted(effects) == {"once": 1}, "the later one's alone"
    assert not (home.work / "written").exists()
    with home.open_log() as log:
        assert_all_is_done_once(log, crew.accepted)


def test_the_tool_of_a_stopped_worker_ends_before_others_go_on(
    crew: Crew, tools: ModelServer, effects: Path, alive: Path
) -> None:
    stopped = crew.start_one(0, **LONGER_LEASE)
    crew.submit(going_on(alive))
    wait_until(alive.exists, "the command")
    crew.start_one(1, **LONGER_LEASE)
    stopped.signal(SIGSTOP)
    crew.finish()
    assert is_interrupted(crew)
    assert_ended_before_others_went_on(crew, alive)
    assert processes_with(str(effects)) == []


def test_a_tool_that_takes_longer_than_a_lease_runs_while_that_is_renewed(
    crew: Crew, tools: ModelServer, home: Home, effects: Path
) -> None:
    crew.start_one(0, **LONGER_LEASE)
    crew.submit("command sleep 4; echo over")
    crew.finish()
    (result,) = [fact for fact in facts_of(crew.log) if isinstance(fact, e.ToolFinished)]
    assert result.content == "over\n"


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["swallowed", "cut"])
def test_the_tool_of_a_worker_that_is_parted_from_the_log_ends_before_others_go_on(
    tmp_path: Path, tools: ModelServer, effects: Path, alive: Path, how: str
) -> None:
    """Two hosts: the first one's way to the log leads through the proxy, and no lock file tells of it."""
    effects.parent.mkdir()
    with postgres_schema() as url, RedisServer(find_server(), tmp_path) as broker:
        there = make_url(url)
        with Proxy(there.host or "127.0.0.1", there.port or 5432) as proxy:
            through = there.set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
            environ = {
                **endpoint(tools.base_url),
                **LONGER_LEASE,
                "HERMES_JOBS_TERMINAL__SANDBOX_WRITABLE": f'["{effects.parent}"]',
                "HERMES_JOBS_LOG_URL": url,
                "HERMES_JOBS_BROKER_URL": broker.url,
            }
            hosts = [Home(tmp_path / name, environ) for name in ("here", "there")]
            with Crew(hosts[::-1]) as crew:
                parted = crew.start_one(1, HERMES_JOBS_LOG_URL=through)
                crew.submit(going_on(alive))
                wait_until(alive.exists, "the command")
                crew.start_one(0)
                proxy.swallow()
                if how == "cut":
                    proxy.cut()
                crew.finish()
                assert is_interrupted(crew)
                assert_ended_before_others_went_on(crew, alive)
                assert processes_with(str(effects)) == []
                assert counted(effects) == {"once": 1}
                proxy.forward()
                parted.wait_for("it continues as")
                with hosts[1].open_log() as log:
                    assert_all_is_done_once(log, crew.accepted)
