"""A memory provider that notes what it is asked, and a session to ask it for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.features.memory.provider import MemoryProvider, ProviderSession, Setup, Turn
from hermes_jobs.features.memory.provider_host import ProviderHost
from hermes_jobs.features.memory.providers import Providers, switch
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import Recalled, ToolSpec
from hermes_jobs.kernel.engine.repository import ReplayedEvent
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.turn import Turn as SessionTurn
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker
from hermes_jobs.plugins.instances import TimeLimits
from hermes_jobs.system.clock import SystemClock

PATIENT = TimeLimits(ask=30.0, begin=30.0, tool=30.0, learn=30.0, end=30.0)
REQUIRED = (
    "is_available",
    "initialize",
    "system_prompt_block",
    "prefetch",
    "queue_prefetch",
    "sync_turn",
    "get_tool_schemas",
    "handle_tool_call",
    "shutdown",
)
TOOL = ToolSpec("ask_memory", "Ask it.", {"type": "object", "properties": {}, "required": ["question"]})


class Notes:
    """What all instances of a provider were asked, in order; `disturb` is called before each answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls: list[tuple[str, ...]] = []
        self.disturb: Callable[[str], None] = lambda what: None

    def take(self, what: str, *details: str) -> None:
        with self._lock:
            self.calls.append((what, *details))
        self.disturb(what)

    def of(self, what: str) -> list[tuple[str, ...]]:
        with self._lock:
            return [call[1:] for call in self.calls if call[0] == what]


class NotingProvider:
    """A `MemoryProvider` with every hook."""

    def __init__(self, notes: Notes, available: bool = True) -> None:
        self.notes = notes
        self._available = available
        self._session = ""

    def is_available(self) -> bool:
        return self._available

    def initialize(self, session: ProviderSession) -> None:
        self._session = session.id
        self.notes.take("initialize", session.id, session.kind)

    def system_prompt_block(self) -> str:
        self.notes.take("system_prompt_block")
        return "# What it knows\nLikes tea"

    def prefetch(self, query: str) -> str:
        self.notes.take("prefetch", query)
        return f"About {query}"

    def queue_prefetch(self, query: str) -> None:
        self.notes.take("queue_prefetch", query)

    def sync_turn(self, user: str, assistant: str) -> None:
        self.notes.take("sync_turn", user, assistant)

    def get_tool_schemas(self) -> Sequence[ToolSpec]:
        return (TOOL,)

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self.notes.take("handle_tool_call", self._session, name, str(arguments["question"]))
        return "It is tea."

    def shutdown(self) -> None:
        self.notes.take("shutdown", self._session)

    def on_turn_start(self, user: str) -> None:
        self.notes.take("on_turn_start", user)

    def on_session_end(self, turns: Sequence[Turn]) -> None:
        self.notes.take("on_session_end", *(turn.user for turn in turns))

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        self._session = session.id
        self.notes.take("on_session_switch", session.id, str(reset), reason)

    def on_pre_compress(self, turns: Sequence[Turn]) -> None:
        self.notes.take("on_pre_compress", *(turn.user for turn in turns))

    def on_delegation(self, task: str, result: str) -> None:
        self.notes.take("on_delegation", task, result)

    def on_memory_write(self, action: str, target: MemoryTarget, content: str) -> None:
        self.notes.take("on_memory_write", action, target, content)


class PlainProvider:
    """A `MemoryProvider` without any of the optional hooks."""

    def __init__(self, notes: Notes) -> None:
        self._inner = NotingProvider(notes)
        for name in REQUIRED:
            setattr(self, name, getattr(self._inner, name))


class Said:
    """The facts that a session has come to."""

    def __init__(self) -> None:
        self.facts: list[ReplayedEvent] = []

    def __call__(self, _stream: str, _after: int, _upto: int) -> list[ReplayedEvent]:
        return self.facts


def registered(
    make: Callable[[], object], name: str = "noting", limits: TimeLimits = PATIENT
) -> ProviderHost:
    """The provider that `make` makes, under a name."""

    def factory(_setup: Setup) -> MemoryProvider:
        return make()  # type: ignore[return-value]  # also one without the optional hooks

    setup = Setup(folder=Path("/nowhere"), secret=lambda name: None)
    circuit = CircuitBreaker(f"memory provider {name}", SystemClock(), redact=lambda text: text)
    return ProviderHost(name, factory, setup, circuit, limits, switch)


def providers(*more: ProviderHost, tokens: int = 1_000, own: str = "", said: Said | None = None) -> Providers:
    """Our own memory, and those beside it, which hear what was said."""
    made = Providers(
        lambda session: "# Ours", lambda session, text: Recalled(own), said or Said(), recall_tokens=tokens
    )
    for each in more:
        made.add(each)
    return made


def session(name: str = "s1", kind: e.SessionKind = "conversation", turn: str = "t1") -> Session:
    """A session in the middle of its turn, with one exchange behind it."""
    started = e.SessionStarted(session=name, kind=kind, source="cli", model="m", system_prompt="You are …")
    current = SessionTurn(
        id=turn,
        texts=("Hello", "again"),
        source="cli",
        if_busy="queue",
        attended=True,
        model=None,
        toolsets=None,
    )
    return Session(
        stream="session-s1",
        started=started,
        current=current,
        messages=(UserMessage("Before"), AssistantMessage("It was."), UserMessage("Hello\n\nagain")),
    )
