"""The context engines of one process: ours for all, or another with an instance for each conversation."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hermes_jobs.agent.context.hooks import REMEMBERING, TOLD, Response
from hermes_jobs.agent.context.isolated_engine import IsolatedEngine, TimeLimits
from hermes_jobs.domain import events as e
from hermes_jobs.domain.session.session import Session, stream_of
from hermes_jobs.engine.ports import ContextEngine, ListenerError, ToolContext, ToolSpec
from hermes_jobs.engine.replay import Facts, ReplayedEvent
from hermes_jobs.engine.session_info import session_info
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker, within

SEATS = 64  # instances that are kept; the one that was used longest ago goes first
EVERYTHING = sys.maxsize


class ModelInUse(msgspec.Struct, frozen=True):
    """The model of a session's next call, and how many tokens it takes."""

    name: str
    window: int


class BuiltIn:
    """Our own engine, which keeps nothing in mind: one for everybody. See `ContextEngines`."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine

    def of(self, session: Session) -> ContextEngine:
        """See `ContextEngines`."""
        return self._engine

    def apart(self) -> ContextEngine:
        """One that belongs to no session."""
        return self._engine

    def tools(self) -> tuple[ToolSpec, ...]:
        """None."""
        return ()

    def call_tool(self, context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Raise `LookupError`: there is no tool."""
        raise LookupError(name)


class _EngineInstance:
    """What one conversation has of the engine in this process: an instance that has heard of it up to
    `version` and knows that `model`."""

    def __init__(self) -> None:
        self.engine: ContextEngine | None = None
        self.version = 0
        self.model: ModelInUse | None = None
        self.lock = threading.Lock()


class PluginContextEngines:
    """Another's engine. `own` stands in where it cannot be asked; `circuit` is around every call of it.

    Safe for many threads. `make` makes an instance, `facts` are those of conversations, `model_of` says
    which model a session uses.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], ContextEngine],
        own: ContextEngine,
        *,
        circuit: CircuitBreaker,
        facts: Facts,
        model_of: Callable[[Session], ModelInUse],
        limits: TimeLimits,
    ) -> None:
        """Raises whatever `make` raises."""
        self._name = name
        self._make = make
        self._own = own
        self._circuit = circuit
        self._facts = facts
        self._model_of = model_of
        self._limits = limits
        self._apart = make()
        self._remembers = any(hasattr(self._apart, hook) for hook in REMEMBERING)
        self._lock = threading.Lock()
        self._seats: OrderedDict[str, _EngineInstance] = OrderedDict()

    # --- as `ContextEngines` --------------------------------------------------------------------

    def of(self, session: Session) -> ContextEngine:
        """See `ContextEngines`."""
        if not self._remembers:
            return self.apart()
        engine = self._circuit.call_or_default("what a session came to", lambda: self._ready(session), None)
        return self._own if engine is None else self._contained(engine)

    def apart(self) -> ContextEngine:
        """One that belongs to no session."""
        return self._contained(self._apart)

    def _contained(self, engine: ContextEngine) -> ContextEngine:
        return IsolatedEngine(self._name, engine, self._own, self._circuit, self._limits)

    # --- as a `Listener` ------------------------------------------------------------------------

    @property
    def listens(self) -> bool:
        """Whether there is anything that it wants to be told."""
        return any(hasattr(self._apart, hook) for hook in TOLD)

    @property
    def name(self) -> str:
        """See `Listener`."""
        return f"context:{self._name}"

    def hear(self, session: Session, after: int) -> None:
        """See `Listener`. What came before `after` is told as well where this process has not heard it."""
        seat = self._seat(session.stream)
        try:
            self._ready(session)
        except Exception as error:
            raise ListenerError(self._circuit.describe(error), upto=max(seat.version, after)) from error
        if session.ended_because is not None:
            with self._lock:
                self._seats.pop(session.stream, None)

    # --- its tools ------------------------------------------------------------------------------

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that it brings along."""
        ask = getattr(self._apart, "get_tool_schemas", None)
        if ask is None:
            return ()
        none: tuple[ToolSpec, ...] = ()
        return self._circuit.ask("get_tool_schemas", lambda: tuple(ask()), self._limits.begin, none)

    def call_tool(self, context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of those tools for a session. Raises whatever it raises."""
        seat = self._seat(stream_of(context.lineage))
        with seat.lock:
            engine: Any = self._caught_up(seat, stream_of(context.lineage), EVERYTHING, EVERYTHING)
        return str(within(self._limits.tool, lambda: engine.handle_tool_call(name, arguments)))

    # --- within ---------------------------------------------------------------------------------

    def _seat(self, stream: str) -> _EngineInstance:
        with self._lock:
            seat = self._seats.setdefault(stream, _EngineInstance())
            self._seats.move_to_end(stream)
            while len(self._seats) > SEATS:
                self._seats.popitem(last=False)
        return seat

    def _ready(self, session: Session) -> ContextEngine:
        """The session's instance, which has heard all there is. Raises what it raises."""
        seat = self._seat(session.stream)
        known = (each.cursor for each in session.listeners if each.name == self.name)
        with seat.lock:
            engine = self._caught_up(seat, session.stream, session.version, next(known, EVERYTHING))
            self._told_model(seat, engine, self._model_of(session))
        return engine

    def _caught_up(self, seat: _EngineInstance, stream: str, upto: int, heard: int) -> ContextEngine:
        """Up to version `heard` all was told somewhere, or left out: what fails of that is passed over."""
        engine = seat.engine
        if engine is None:
            engine = seat.engine = self._circuit.call(self._make, self._limits.begin)
        for each in self._facts(stream, seat.version, upto):
            try:
                self._tell(seat, engine, each)
            except Exception as error:
                if each.after.version > heard:
                    raise
                self._circuit.passed_over(type(each.fact).__name__, error)
            seat.version = each.after.version
        return engine

    def _tell(self, seat: _EngineInstance, engine: ContextEngine, heard: ReplayedEvent) -> None:
        match heard.fact:
            case e.SessionStarted():
                self._call(engine, "on_session_start", session_info(heard.after))
                self._told_model(seat, engine, self._model_of(heard.after))
            case e.ModelReplied() as reply:
                response = Response(
                    turn=reply.turn, model=reply.model, purpose=reply.purpose, usage=reply.usage
                )
                self._call(engine, "update_from_response", response)
            case e.SessionEnded() as ended if ended.reason != "compression":
                self._call(engine, "on_session_end", session_info(heard.before), heard.before.messages)
            case _:
                pass

    def _told_model(self, seat: _EngineInstance, engine: ContextEngine, model: ModelInUse) -> None:
        if seat.model != model:
            self._call(engine, "update_model", model.name, model.window)
            seat.model = model

    def _call(self, engine: ContextEngine, hook: str, *values: object) -> None:
        """Call a method that need not be there."""
        method = getattr(engine, hook, None)
        if method is not None:
            self._circuit.call(lambda: method(*values), self._limits.ask)
