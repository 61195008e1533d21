"""Memory providers by name (see `hermes_jobs.plugins`), and one provider in one process: an instance per
conversation; its errors are isolated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from hermes_jobs.features.memory.provider import Factory, MemoryProvider, ProviderSession, Setup
from hermes_jobs.plugins.circuit_breaker import CircuitBreaker, within
from hermes_jobs.plugins.discovery import PluginKind
from hermes_jobs.plugins.instances import Instances, TimeLimits, acquired

T = TypeVar("T")

Act = Callable[[MemoryProvider], T]
Switch = Callable[[MemoryProvider, ProviderSession], object]


class _ProviderInstance:
    """A conversation's instance of the provider, created on first use.

    `session`: the last session passed to the instance; `switched`: the id of the last session of
    `on_session_switch`.
    """

    def __init__(self, session: ProviderSession) -> None:
        self.session = session
        self.provider: MemoryProvider | None = None
        self.switched = ""
        self.beginning = threading.Lock()
        self.learning = threading.Lock()


class ProviderHost:
    """A provider by name. Each call has a time limit; only methods that say so raise.

    `switch(provider, session)` calls the instance's hook for a conversation that continues as that session.
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
        self._instances: Instances[_ProviderInstance] = Instances(self._shut_down)

    def describe_error(self, error: Exception) -> str:
        """The error's type and message, without secrets."""
        return self._circuit.describe(error)

    def probe(self, what: str, act: Act[T], otherwise: T) -> T:
        """Call an instance without a session; returns `otherwise` if that fails."""
        limit = self._limits.begin
        return self._circuit.ask(what, lambda: act(self._factory(self._setup)), limit, otherwise)

    def ask(self, session: ProviderSession, what: str, act: Act[T], otherwise: T) -> T:
        """Call the conversation's instance, after `on_session_switch` if the session is newer.

        Returns `otherwise` if the call fails or times out, or the circuit is open.
        """
        instance = self._instance(session)
        call_or_default, limit = self._circuit.call_or_default, self._limits.ask
        provider = call_or_default("initialize", lambda: self._provider(instance, session), None)
        if provider is None:
            return otherwise
        if session.number > instance.session.number:
            call_or_default("on_session_switch", lambda: self._go_on(instance, session, limit), None)
        return self._circuit.ask(what, lambda: act(provider), limit, otherwise)

    def call_tool(self, session: ProviderSession, name: str, arguments: dict[str, Any]) -> str:
        """Run one of its tools. Raises the tool's errors, for the model, and `CallTimeout`."""
        provider = self._provider(self._instance(session), session)
        return within(self._limits.tool, lambda: provider.handle_tool_call(name, arguments))

    def notify_session(self, session: ProviderSession, act: Act[object]) -> None:
        """Pass new data to the conversation's instance, one call at a time.

        Raises its errors, `CallTimeout`, `CircuitOpen`.
        """
        instance = self._instance(session)
        provider = self._provider(instance, session)
        with acquired(instance.learning, self._limits.learn):
            self._circuit.call(lambda: act(provider), self._limits.learn)

    def try_call(self, session: ProviderSession, what: str, act: Act[object]) -> None:
        """As `notify_session`, but a failure is logged and not raised."""
        self._circuit.call_or_default(what, lambda: self.notify_session(session, act), None)

    def switch_session(self, into: ProviderSession) -> None:
        """Call `on_session_switch`, once for each session. Raises as `notify_session`."""
        instance = self._instance(into)
        self._provider(instance, into)
        self._go_on(instance, into, self._limits.learn)

    def end(self, session: ProviderSession) -> None:
        """Shut the conversation's instance down."""
        self._instances.remove(_key(session))

    def close(self) -> None:
        """Shut all instances down."""
        self._instances.clear()

    # --- instances ------------------------------------------------------------------------------

    def _instance(self, session: ProviderSession) -> _ProviderInstance:
        return self._instances.get(_key(session), lambda: _ProviderInstance(session))

    def _provider(self, instance: _ProviderInstance, session: ProviderSession) -> MemoryProvider:
        """The provider, created and initialized for that session if necessary. Raises as `notify_session`."""
        with instance.beginning:
            if instance.provider is None:
                instance.provider = self._circuit.call(lambda: self._initialized(session), self._limits.begin)
                instance.session = session
            return instance.provider

    def _initialized(self, session: ProviderSession) -> MemoryProvider:
        provider = self._factory(self._setup)
        provider.initialize(session)
        return provider

    def _go_on(self, instance: _ProviderInstance, into: ProviderSession, seconds: float) -> None:
        """Call `on_session_switch` for an instance that needs it; a late switch ends with the newest
        session."""
        with acquired(instance.learning, seconds):
            if instance.switched == into.id:
                return
            newest = instance.session
            self._switch_to(instance, into, seconds)
            if newest.number > into.number:
                self._switch_to(instance, newest, seconds)

    def _switch_to(self, instance: _ProviderInstance, into: ProviderSession, seconds: float) -> None:
        provider = instance.provider
        if provider is not None:
            self._circuit.call(lambda: self._switch(provider, into), seconds)
            instance.session, instance.switched = into, into.id

    def _shut_down(self, instance: _ProviderInstance) -> None:
        with instance.beginning:
            provider, instance.provider = instance.provider, None
        if provider is not None:
            self._circuit.ask("shutdown", provider.shutdown, self._limits.end, None)


def _key(session: ProviderSession) -> str:
    return session.lineage or session.id


class _HermesAgent:
    """The plugins of hermes-agent; the adapter is imported only for one."""

    def prepare(self, folder: Path) -> None:
        """Offer the modules that it imports."""
        from hermes_jobs.features.memory.external import hermes_agent

        if hermes_agent.is_foreign(folder / "__init__.py"):
            hermes_agent.provide_modules(folder)

    def factory_of(self, module: ModuleType) -> Factory | None:
        """The factory of its provider."""
        from hermes_jobs.features.memory.external import hermes_agent

        return hermes_agent.factory_of(module)


PROVIDERS = PluginKind(
    what="memory provider",
    setting="memory.provider",
    group="hermes_jobs.memory_providers",
    bundled={
        "honcho": "hermes_jobs.features.memory.external.honcho:HonchoMemory",
        "mem0": "hermes_jobs.features.memory.external.mem0:Mem0Memory",
    },
    attribute="provider",
    foreign=_HermesAgent(),
)
