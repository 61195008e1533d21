"""An engine that remembers hears everything before it is asked; where it cannot, the built-in one answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.features.compression import compressor
from hermes_jobs.features.compression.engine_host import (
    EngineSession,
    ModelInUse,
    PluginContextEngines,
    Response,
)
from hermes_jobs.features.compression.isolated_engine import IsolatedEngine
from hermes_jobs.features.compression.setup import CompressorOptions, EngineSetup
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ListenerError, ToolSpec
from hermes_jobs.kernel.engine.repository import ReplayedEvent
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import Message
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.plugins.instances import TimeLimits
from hermes_jobs.system.clock import SystemClock
from tests.context.sliding import SlidingWindow
from tests.tools.support import context_in

PATIENT = TimeLimits(ask=30.0, begin=30.0, tool=30.0, compress=30.0)
SETUP = EngineSetup(
    options=CompressorOptions(), folder=Path("/nowhere"), secret=lambda name: None, redact=lambda text: text
)
STARTED = e.SessionStarted(session="s1", kind="conversation", source="cli", model="m", system_prompt="")
NAME = "context:noting"
WINDOW = 1_000


def replied(tokens: int) -> e.ModelReplied:
    return e.ModelReplied(
        turn="t1", step="t1-1", content="", model="m", finish_reason="stop", usage=Usage(tokens)
    )


TURN: tuple[e.SessionEvent, ...] = (
    e.TurnSubmitted(turn="t1", text="hello", source="cli", session="s1"),
    STARTED,
    e.ContextPrefetched(turn="t1", model="m", max_iterations=5, listeners=(NAME,)),
)


class Life:
    """A session's facts so far, and the engines that hear of them."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []
        self.stumbles: set[object] = set()
        self.facts: list[e.SessionEvent] = list(TURN)
        self.window = WINDOW
        self.engines = self.process()

    def process(self) -> PluginContextEngines:
        """The engines of one more process."""
        return PluginContextEngines(
            "noting",
            lambda: Noting(self),
            compressor.from_setup(SETUP),
            circuit=CircuitBreaker("context engine noting", SystemClock(), redact=lambda text: text),
            events=self.replay,
            model_of=lambda session: ModelInUse(session.model or "", self.window),
            limits=PATIENT,
        )

    @property
    def session(self) -> Session:
        return fold(Session(stream="session-s1"), self.facts)

    def replay(self, stream: str, after: int, upto: int) -> list[ReplayedEvent]:
        states = [fold(Session(stream=stream), self.facts[:count]) for count in range(len(self.facts) + 1)]
        whole = [ReplayedEvent(states[at], fact, states[at + 1]) for at, fact in enumerate(self.facts)]
        return whole[after:upto]

    def is_asked(self) -> bool:
        """Whether a question reaches the engine, and not the one that stands in."""
        return isinstance(self.engines.of(self.session), IsolatedEngine)


class Noting(SlidingWindow):
    """An engine with every hook."""

    def __init__(self, life: Life) -> None:
        super().__init__(SETUP)
        self._life = life

    def on_session_start(self, session: EngineSession) -> None:
        self._note("start", session.id, session.continues)

    def update_model(self, model: str, window: int) -> None:
        self._note("model", model, window)

    def update_from_response(self, response: Response) -> None:
        self._note("response", response.usage.prompt_tokens)

    def on_session_end(self, session: EngineSession, messages: Sequence[Message]) -> None:
        self._note("end", session.id, len(messages))

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        return ()

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return f"{name} heard {self._life.heard[-1]}"

    def _note(self, *what: object) -> None:
        if what[-1] in self._life.stumbles:
            raise OSError(f"stumbled over {what[-1]}")
        self._life.heard.append(what)


@pytest.fixture
def life() -> Life:
    return Life()


BEGUN = [("start", "s1", None), ("model", "m", WINDOW)]


def test_an_engine_gets_new_messages_before_each_query_and_none_twice(life: Life) -> None:
    assert life.is_asked()
    assert life.heard == BEGUN
    life.facts.append(replied(10))
    assert life.is_asked()
    assert life.is_asked()
    assert life.heard == [*BEGUN, ("response", 10)]


def test_an_engine_in_another_process_gets_all_messages(life: Life) -> None:
    life.facts.append(replied(10))
    life.engines.of(life.session)
    first, life.heard = life.heard, []
    life.process().of(life.session)
    assert life.heard == first


def test_an_engine_gets_changes_of_the_model_and_its_window(life: Life) -> None:
    life.engines.of(life.session)
    life.window = 500
    life.engines.of(life.session)
    life.facts.append(e.ModelChanged(session="s1", model="m2"))
    life.engines.of(life.session)
    assert life.heard == [*BEGUN, ("model", "m", 500), ("model", "m2", 500)]


def test_a_compression_is_a_start_that_continues_another_and_no_end(life: Life) -> None:
    life.facts += [
        e.SessionEnded(session="s1", reason="compression"),
        replace(STARTED, session="s2", parent="s1"),
    ]
    life.engines.of(life.session)
    assert life.heard == [*BEGUN, ("start", "s2", "s1")]


def test_an_engine_gets_the_end_also_if_it_was_never_queried(life: Life) -> None:
    life.facts.append(e.SessionEnded(session="s1", reason="user"))
    life.engines.notify(life.session, 0)
    assert life.heard == [*BEGUN, ("end", "s1", 1)]


def test_while_an_engine_fails_the_built_in_one_answers_and_messages_are_repeated(life: Life) -> None:
    life.facts.append(replied(10))
    life.stumbles = {10}
    assert not life.is_asked()
    with pytest.raises(ListenerError, match="OSError: stumbled over 10") as failed:
        life.engines.notify(life.session, 2)
    assert failed.value.upto == len(TURN)
    life.stumbles = set()
    assert life.is_asked()
    assert life.heard == [*BEGUN, ("response", 10)]


def test_an_abandoned_message_does_not_block_later_ones(life: Life) -> None:
    life.facts.append(replied(10))
    life.stumbles = {10}
    life.facts.append(e.ListenerTold(listener=NAME, upto=len(life.facts), message="left out"))
    life.facts.append(replied(20))
    assert life.is_asked()
    assert life.heard == [*BEGUN, ("response", 20)]


def test_the_tool_of_an_engine_has_the_current_state(life: Life) -> None:
    life.facts.append(replied(10))
    context = replace(context_in("/"), lineage="s1")
    assert life.engines.call_tool(context, "look", {}) == "look heard ('response', 10)"


def test_one_without_hooks_is_one_for_all_and_listens_to_nothing() -> None:
    def nothing(stream: str, after: int, upto: int) -> list[ReplayedEvent]:
        raise AssertionError

    engines = PluginContextEngines(
        "sliding",
        lambda: SlidingWindow(SETUP),
        compressor.from_setup(SETUP),
        circuit=CircuitBreaker("context engine sliding", SystemClock(), redact=lambda text: text),
        events=nothing,
        model_of=lambda session: ModelInUse("m", WINDOW),
        limits=PATIENT,
    )
    assert not engines.listener
    assert engines.tools() == ()
    assert engines.of(Session(stream="session-s1")).threshold(WINDOW) == WINDOW // 2
