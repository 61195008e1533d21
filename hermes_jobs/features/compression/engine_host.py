"""The context engines of one process: the built-in one, or a plugin with an instance per conversation."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from hermes_jobs.features.compression.isolated_engine import IsolatedEngine
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ContextEngine, ListenerError, ToolContext, ToolSpec
from hermes_jobs.kernel.engine.repository import EventsOf, ReplayedEvent
from hermes_jobs.kernel.engine.session_info import SessionInfo, session_info
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import Message
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker, within
from hermes_jobs.plugins.instances import Instances, TimeLimits

EngineSession = SessionInfo
"""The session that a hook is called for."""

NOTIFICATION_HOOKS = ("on_session_start", "update_from_response", "on_session_end")
"""Hooks for events of the log."""
STATEFUL_HOOKS = (*NOTIFICATION_HOOKS, "update_model", "handle_tool_call")
"""Methods that require an instance per conversation."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the session's model. `purpose`: `turn` or `review`."""

    turn: str
    model: str
    purpose: str
    usage: Usage


class EngineHooks(Protocol):
    """Optional methods of a context engine beyond `ContextEngine`: hooks for events, and tools.

    An engine with any of these has one instance per conversation and process. Before any other call it is
    given the conversation's events from the log, from the first one and in order, so that its state is the
    same in each process:

        on_session_start ─▶ update_model ─▶ update_from_response ─▶ update_from_response ─▶ …
        on_session_start                            at a compression: the session `continues` another
        update_model                                where the model, or what it takes, has changed
        on_session_end                              at a real end

    A step of the queue delivers each event at least once. A hook that raises or takes too long is called
    again later; until then the built-in engine is used, and after about forty minutes the event is skipped.
    Methods are called from several threads, hooks one at a time.
    """

    def on_session_start(self, session: EngineSession) -> None:
        """The conversation begins, or continues as that session."""

    def update_model(self, model: str, window: int) -> None:
        """The model that answers, and how many tokens it takes."""

    def update_from_response(self, response: Response) -> None:
        """The model has answered."""

    def on_session_end(self, session: EngineSession, messages: Sequence[Message]) -> None:
        """The conversation has ended for good, with this history. The last call."""

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        """The engine's tools, the same for every session; a `ProvidedSpec` states a tool's effect."""

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of them; returns the result for the model."""


NO_CURSOR = sys.maxsize


class ModelInUse(msgspec.Struct, frozen=True):
    """The model of a session's next call, and how many tokens it takes."""

    name: str
    window: int


class BuiltIn:
    """The built-in engine, which has no state: one instance for all. See `ContextEngines`."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine

    @property
    def listener(self) -> None:
        """None: it has no state."""
        return None

    def of(self, session: Session) -> ContextEngine:
        """See `ContextEngines`."""
        return self._engine

    def apart(self) -> ContextEngine:
        """An engine without a session."""
        return self._engine

    def tools(self) -> tuple[ToolSpec, ...]:
        """None."""
        return ()

    def call_tool(self, context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Raise `LookupError`: there are no tools."""
        raise LookupError(name)


class _EngineInstance:
    """A conversation's instance, which has received the events up to `version`, and `model`."""

    def __init__(self) -> None:
        self.engine: ContextEngine | None = None
        self.version = 0
        self.model: ModelInUse | None = None
        self.lock = threading.Lock()


class PluginContextEngines:
    """A plugin's engine. `own` is used while it fails; every call goes through `circuit`.

    Safe for many threads. `make` returns a new instance, `events` replays the events of conversations,
    `model_of` returns the model that a session uses.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], ContextEngine],
        own: ContextEngine,
        *,
        circuit: CircuitBreaker,
        events: EventsOf,
        model_of: Callable[[Session], ModelInUse],
        limits: TimeLimits,
    ) -> None:
        """Raises the errors of `make`."""
        self._name = name
        self._make = make
        self._default = own
        self._circuit = circuit
        self._events = events
        self._model_of = model_of
        self._limits = limits
        self._apart = make()
        self._remembers = any(hasattr(self._apart, hook) for hook in STATEFUL_HOOKS)
        self._instances: Instances[_EngineInstance] = Instances()

    # --- as `ContextEngines` --------------------------------------------------------------------

    def of(self, session: Session) -> ContextEngine:
        """See `ContextEngines`."""
        if not self._remembers:
            return self.apart()
        engine = self._circuit.call_or_default("what a session came to", lambda: self._ready(session), None)
        return self._default if engine is None else self._isolate(engine)

    def apart(self) -> ContextEngine:
        """An engine without a session."""
        return self._isolate(self._apart)

    def _isolate(self, engine: ContextEngine) -> ContextEngine:
        return IsolatedEngine(self._name, engine, self._default, self._circuit, self._limits)

    # --- as a `Listener` ------------------------------------------------------------------------

    @property
    def listener(self) -> PluginContextEngines | None:
        """These, if the engine implements any hook for events."""
        return self if any(hasattr(self._apart, hook) for hook in NOTIFICATION_HOOKS) else None

    @property
    def name(self) -> str:
        """See `Listener`."""
        return f"context:{self._name}"

    def notify(self, session: Session, after: int) -> None:
        """See `Listener`. Events before `after` are passed on too, unless this process has done so.

        Raises `ListenerError`.
        """
        instance = self._instance(session.stream)
        try:
            self._ready(session)
        except Exception as error:
            raise ListenerError(self._circuit.describe(error), upto=max(instance.version, after)) from error
        if session.ended_because is not None:
            self._instances.remove(session.stream)

    # --- its tools ------------------------------------------------------------------------------

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that it provides; none if it fails."""
        ask = getattr(self._apart, "get_tool_schemas", None)
        if ask is None:
            return ()
        no_specs: tuple[ToolSpec, ...] = ()
        return self._circuit.ask("get_tool_schemas", lambda: tuple(ask()), self._limits.begin, no_specs)

    def call_tool(self, context: ToolContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one of those tools for a session. Raises the tool's errors, `CallTimeout`, `CircuitOpen`."""
        instance = self._instance(stream_of(context.lineage))
        with instance.lock:
            engine: Any = self._catch_up(instance, stream_of(context.lineage), NO_CURSOR, NO_CURSOR)
        return str(within(self._limits.tool, lambda: engine.handle_tool_call(name, arguments)))

    # --- within ---------------------------------------------------------------------------------

    def _instance(self, stream: str) -> _EngineInstance:
        return self._instances.get(stream, _EngineInstance)

    def _ready(self, session: Session) -> ContextEngine:
        """The session's instance, up to date with its events. Raises the errors of its hooks."""
        instance = self._instance(session.stream)
        cursors = (
            subscription.cursor for subscription in session.listeners if subscription.name == self.name
        )
        with instance.lock:
            engine = self._catch_up(instance, session.stream, session.version, next(cursors, NO_CURSOR))
            self._set_model(instance, engine, self._model_of(session))
        return engine

    def _catch_up(self, instance: _EngineInstance, stream: str, upto: int, position: int) -> ContextEngine:
        """Pass on events up to version `upto`; a failure up to version `position` is only logged."""
        engine = instance.engine
        if engine is None:
            engine = instance.engine = self._circuit.call(self._make, self._limits.begin)
        for replayed in self._events(stream, instance.version, upto):
            try:
                self._notify(instance, engine, replayed)
            except Exception as error:
                if replayed.after.version > position:
                    raise
                self._circuit.log_failure(type(replayed.event).__name__, error)
            instance.version = replayed.after.version
        return engine

    def _notify(self, instance: _EngineInstance, engine: ContextEngine, replayed: ReplayedEvent) -> None:
        match replayed.event:
            case e.SessionStarted():
                self._call(engine, "on_session_start", session_info(replayed.after))
                self._set_model(instance, engine, self._model_of(replayed.after))
            case e.ModelReplied() as reply:
                response = Response(
                    turn=reply.turn, model=reply.model, purpose=reply.purpose, usage=reply.usage
                )
                self._call(engine, "update_from_response", response)
            case e.SessionEnded() as ended if ended.reason != "compression":
                self._call(engine, "on_session_end", session_info(replayed.before), replayed.before.messages)
            case _:
                pass

    def _set_model(self, instance: _EngineInstance, engine: ContextEngine, model: ModelInUse) -> None:
        if instance.model != model:
            self._call(engine, "update_model", model.name, model.window)
            instance.model = model

    def _call(self, engine: ContextEngine, hook: str, *values: object) -> None:
        """Call an optional method."""
        method = getattr(engine, hook, None)
        if method is not None:
            self._circuit.call(lambda: method(*values), self._limits.ask)
