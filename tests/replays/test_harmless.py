"""Whatever a model answers, a replay runs no tool that writes, and one that reads only where that is allowed.

REPLAYS says how many random ones are tried: `make replays` tries ten thousand.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_jobs.bootstrap import Application, NullDispatcher
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.replays import replayed_turn
from hermes_jobs.features.replay.rules.replay import Replay, next_steps, stream_of
from hermes_jobs.features.replay.steps.replay_call import AskAgain, ReadTools
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import RequestBuilder
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import Cancel, ConfiguredModel, ModelRequest, Reply
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.streams.decision import append
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.settings import load
from hermes_jobs.tools.tool import Tool
from hermes_jobs.tools.toolbox import Toolbox
from tests.engine.simulation import LIMITS
from tests.examples import examples
from tests.written_home import WrittenHome

REPLAYS = int(os.environ.get("REPLAYS", examples(100)))
RECORDED = '{"command": "ls"}'


class AnyModel:
    """Gives the answers that it was given, then a text."""

    def __init__(self) -> None:
        self.answers: Iterator[tuple[ToolCall, ...]] = iter(())

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        calls = next(self.answers, ())
        return Reply(content="" if calls else "Done.", tool_calls=calls, model=request.model)

    def cost_usd(self, model: str, usage: object) -> float:
        return 0.0


class Bench:
    """A home with a recorded turn, and everything that a replay of it works with; each tool only counts."""

    def __init__(self, home: WrittenHome) -> None:
        home.submit("s1", "t1", "look")
        begin = e.SessionStarted(
            session="s1",
            kind="conversation",
            source="cli",
            model="m",
            system_prompt="p",
            workdir=str(home.work),
        )
        home.prefetch("s1", begin)
        home.reply("s1", "", "terminal", "write_file")
        home.run_tool("s1", "a.txt")
        home.run_tool("s1", "written")
        home.reply("s1", "Done.")
        home.record("s1")
        self.application = Application(load(home.environ), home.environ)
        self.ran: Counter[str] = Counter()
        known = self.application.toolbox.tools
        self.effects = {each.name: each.effect for each in known}
        toolbox = Toolbox(
            [replace(each, call=self._counted(each), available=lambda: True) for each in known],
            enabled=sorted({each.toolset for each in known}),
        )
        self.model, self.numbers = AnyModel(), count(1)
        log, clock, ids = self.application.log, self.application.clock, self.application.ids
        sessions = self.application.engine().sessions
        requests = RequestBuilder(toolbox, LIMITS)
        again = AskAgain(
            requests=ReplayedRequests(sessions, lambda session, turn, _: requests.build(session, turn)),
            chosen=ConfiguredModel(model=self.model, pricing=self.model),
            reserve_for=lambda replay, request: pytest.fail("nothing is reserved here"),
            read=ReadTools(toolbox, lambda call: call.name == "consult", tuple),
            retries=Retries(lambda *_: None, clock, ids),
            clock=clock,
        )
        self.engine = Engine(
            log=log,
            worker="w1",
            clock=clock,
            ids=ids,
            dispatcher=NullDispatcher(),
            parts=StepParts(handlers={"replay.call": again}),
        )
        self.turn = replayed_turn(sessions, "t1", "session-s1", log.read("session-s1"))

    def _counted(self, tool: Tool) -> Callable[..., str]:
        def call(*_: object) -> str:
            self.ran[tool.name] += 1
            return "counted"

        return call

    def replay(self, plan: replay_events.ReplayPlanned, answers: list[tuple[ToolCall, ...]]) -> Replay:
        """Ask, with these answers; the replay afterwards."""
        self.ran.clear()
        self.model.answers = iter(answers)
        stream = stream_of(plan.replay)
        self.engine.change(append(stream, plan), "test")
        while due := next_steps(self._state(stream)):
            self.engine.run(stream, due[0].id)
        return self._state(stream)

    def _state(self, stream: str) -> Replay:
        state = self.engine.state(stream)
        assert isinstance(state, Replay)
        return state

    @property
    def tools(self) -> list[str]:
        return sorted(self.effects)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    home = WrittenHome(tmp_path_factory.mktemp("replays"))
    made = Bench(home)
    yield made
    made.application.close()
    home.close()


ARGUMENTS = (
    RECORDED,
    '{ "command":"ls" }',
    '{"command": "rm -rf ."}',
    '{"path": "a.txt", "content": "x"}',
    '{"path": "a.txt"}',
    '{"name": "x", "action": "create"}',
    '{"query": "x"}',
    '{"tasks": [{"goal": "x"}]}',
    "{}",
    "no json",
)


@given(data=st.data())
@settings(
    max_examples=REPLAYS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_no_random_replay_runs_a_tool_that_writes(bench: Bench, data: st.DataObject) -> None:
    call = st.builds(
        ToolCall,
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([*bench.tools, "nosuch"]),
        st.sampled_from(ARGUMENTS),
    )
    unique = st.lists(call, max_size=3, unique_by=lambda each: each.id)
    answers = data.draw(st.lists(unique.map(tuple), max_size=6))
    follow = data.draw(st.booleans())
    reads = follow and data.draw(st.booleans())
    plan = replay_events.ReplayPlanned(
        replay=f"p{next(bench.numbers)}",
        turns=(bench.turn,),
        variants=(replay_events.Variant(name="v"),),
        samples=data.draw(st.integers(1, 2)),
        follow=follow,
        allow_reads=reads,
    )
    replay = bench.replay(plan, answers)
    assert not replay.open
    assert {bench.effects[name] for name in bench.ran} <= ({"read"} if reads else set())


def test_the_tools_that_are_counted_do_run_where_a_read_is_allowed(bench: Bench) -> None:
    """The property above could fail: a read runs through the same toolbox."""
    asked = (ToolCall("a", "read_file", '{"path": "a.txt"}'),)
    plan = replay_events.ReplayPlanned(
        replay="p0",
        turns=(bench.turn,),
        variants=(replay_events.Variant(name="v"),),
        follow=True,
        allow_reads=True,
    )
    replay = bench.replay(plan, [asked, (ToolCall("a", "write_file", '{"path": "a", "content": "b"}'),)])
    assert bench.ran == {"read_file": 1}
    assert len(replay.outcomes) == 2
    assert "write" in set(bench.effects.values())
