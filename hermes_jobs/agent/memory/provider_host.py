"""One provider in one process: an instance for each conversation in use, and every call to it contained."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from hermes_jobs.agent.memory.provider import Factory, MemoryProvider, ProviderSession, Setup
from hermes_jobs.plugins.circuit_breaker import CallTimeout, CircuitBreaker, within

T = TypeVar("T")
SESSIONS = 64  # instances that are kept; the one that was used longest ago is shut down first

Act = Callable[[MemoryProvider], T]
Switch = Callable[[MemoryProvider, ProviderSession], object]


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a call to a provider may take. `learn` is that of what happens after a turn."""

    ask: float = 3.0
    begin: float = 8.0
    tool: float = 30.0
    learn: float = 30.0
    end: float = 5.0


class _ProviderInstance:
    """What one conversation has of a provider: its instance, once it was needed.

    `session` is what the instance takes it for, `switched` the last one that it heard it goes on as.
    """

    def __init__(self, session: ProviderSession) -> None:
        self.session = session
        self.provider: MemoryProvider | None = None
        self.switched = ""
        self.beginning = threading.Lock()
        self.learning = threading.Lock()


class ProviderHost:
    """A provider by name. None of its calls takes longer than its limit; only those that say so raise.

    `switch(provider, session)` tells an instance under which session its conversation goes on.
    """

    def __init__(
        self,
        name: str,
        factory: Factory,
        setup: Setup,
        circuit: CircuitBreaker,
        limits: TimeLimits,
        switch: Switch,
    ) -> None:
        self.name = name
        self._factory = factory
        self._setup = setup
        self._circuit = circuit
        self._limits = limits
        self._switch = switch
        self._lock = threading.Lock()
        self._lanes: OrderedDict[str, _ProviderInstance] = OrderedDict()

    def told(self, error: Exception) -> str:
        """What was raised, without secrets."""
        return self._circuit.describe(error)

    def probe(self, what: str, act: Act[T], otherwise: T) -> T:
        """Ask an instance that belongs to no session."""
        limit = self._limits.begin
        return self._circuit.ask(what, lambda: act(self._factory(self._setup)), limit, otherwise)

    def ask(self, session: ProviderSession, what: str, act: Act[T], otherwise: T) -> T:
        """Ask the conversation's instance, which hears first where it has gone on as another session;
        `otherwise` where it fails, is too slow, or rests."""
        lane = self._lane(session)
        quietly, limit = self._circuit.call_or_default, self._limits.ask
        provider = quietly("initialize", lambda: self._provider(lane, session), None)
        if provider is None:
            return otherwise
        if session.number > lane.session.number:
            quietly("on_session_switch", lambda: self._go_on(lane, session, limit), None)
        return self._circuit.ask(what, lambda: act(provider), limit, otherwise)

    def call_tool(self, session: ProviderSession, name: str, arguments: dict[str, Any]) -> str:
        """Run one of its tools. Raises what the tool raises: that is for the model to know."""
        provider = self._provider(self._lane(session), session)
        return within(self._limits.tool, lambda: provider.handle_tool_call(name, arguments))

    def tell(self, session: ProviderSession, act: Act[object]) -> None:
        """Let the conversation's instance learn something, one thing at a time.

        Raises what it raises, `CallTimeout`, `Resting`.
        """
        lane = self._lane(session)
        provider = self._provider(lane, session)
        with _held(lane.learning, self._limits.learn):
            self._circuit.call(lambda: act(provider), self._limits.learn)

    def offer(self, session: ProviderSession, what: str, act: Act[object]) -> None:
        """As `tell`, once: where it fails, that is all."""
        self._circuit.call_or_default(what, lambda: self.tell(session, act), None)

    def go_on(self, into: ProviderSession) -> None:
        """Let it hear, once, under which session the conversation goes on. Raises as `tell`."""
        lane = self._lane(into)
        self._provider(lane, into)
        self._go_on(lane, into, self._limits.learn)

    def end(self, session: ProviderSession) -> None:
        """Shut the conversation's instance down."""
        with self._lock:
            lane = self._lanes.pop(_key(session), None)
        if lane is not None:
            self._shut(lane)

    def close(self) -> None:
        """Shut everything down."""
        with self._lock:
            lanes = list(self._lanes.values())
            self._lanes.clear()
        for lane in lanes:
            self._shut(lane)

    # --- within ---------------------------------------------------------------------------------

    def _lane(self, session: ProviderSession) -> _ProviderInstance:
        gone: list[_ProviderInstance] = []
        with self._lock:
            lane = self._lanes.setdefault(_key(session), _ProviderInstance(session))
            self._lanes.move_to_end(_key(session))
            while len(self._lanes) > SESSIONS:
                gone.append(self._lanes.popitem(last=False)[1])
        for each in gone:
            self._shut(each)
        return lane

    def _provider(self, lane: _ProviderInstance, session: ProviderSession) -> MemoryProvider:
        """The lane's instance, begun for that session where there was none. Raises as `tell`."""
        with lane.beginning:
            if lane.provider is None:
                lane.provider = self._circuit.call(lambda: self._begun(session), self._limits.begin)
                lane.session = session
            return lane.provider

    def _begun(self, session: ProviderSession) -> MemoryProvider:
        provider = self._factory(self._setup)
        provider.initialize(session)
        return provider

    def _go_on(self, lane: _ProviderInstance, into: ProviderSession, seconds: float) -> None:
        """Tell of the switch what was not told of it; one that is told late leaves the newest as it was."""
        with _held(lane.learning, seconds):
            if lane.switched == into.id:
                return
            newest = lane.session
            self._told_to_go_on(lane, into, seconds)
            if newest.number > into.number:
                self._told_to_go_on(lane, newest, seconds)

    def _told_to_go_on(self, lane: _ProviderInstance, into: ProviderSession, seconds: float) -> None:
        provider = lane.provider
        if provider is not None:
            self._circuit.call(lambda: self._switch(provider, into), seconds)
            lane.session, lane.switched = into, into.id

    def _shut(self, lane: _ProviderInstance) -> None:
        with lane.beginning:
            provider, lane.provider = lane.provider, None
        if provider is not None:
            self._circuit.ask("shutdown", provider.shutdown, self._limits.end, None)


@contextmanager
def _held(lock: threading.Lock, seconds: float) -> Iterator[None]:
    """With the lock. Raises `CallTimeout` where somebody else has it for so long."""
    if not lock.acquire(timeout=seconds):
        raise CallTimeout(f"was at something else for {seconds:g} s")
    try:
        yield
    finally:
        lock.release()


def _key(session: ProviderSession) -> str:
    return session.lineage or session.id
