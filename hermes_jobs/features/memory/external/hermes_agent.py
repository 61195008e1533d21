"""Memory providers that were written for hermes-agent: loaded and called through its interface.

Such a plugin is a package with `register(ctx)`, which calls `ctx.register_memory_provider(provider)`, or with
a subclass of `agent.memory_provider.MemoryProvider`. It finds that class here, with the helpers that such
plugins import: see `provide_modules`. What else a plugin registers (tools, hooks, commands) has no place here
and is logged.

The interface: https://github.com/NousResearch/hermes-agent, `agent/memory_provider.py` and `plugins/memory`.
"""

from __future__ import annotations

import inspect
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from hermes_jobs.features.memory.events import MemoryTarget
from hermes_jobs.features.memory.provider import MemoryProvider, ProviderSession, Setup, Turn
from hermes_jobs.kernel.engine.ports import ToolSpec

logger = logging.getLogger(__name__)

MARKS = ("register_memory_provider", "MemoryProvider")
"""What the source of such a plugin mentions."""
HEAD = 8_192  # characters of the source that are looked at
_CONTEXTS = {"scheduled": "cron", "child": "subagent"}
"""Their names for our kinds of sessions; all others are `primary`."""


class ForeignProvider:
    """What their providers derive from: every method but those that each needs has a default."""

    def unavailable_reason(self) -> str:
        """Why it is not available."""
        return ""

    def system_prompt_block(self) -> str:
        """The section of the system prompt."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Context for a message."""
        return ""

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **named: Any) -> str:
        """Run a tool."""
        raise NotImplementedError(tool_name)

    def get_tool_schemas(self) -> Sequence[Mapping[str, Any]]:
        """The tools, as functions of OpenAI's API."""
        return []

    def on_pre_compress(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Messages will be summarised."""
        return ""

    def _nothing(self, *_values: object, **_named: object) -> None:
        return None

    queue_prefetch = sync_turn = shutdown = _nothing
    on_turn_start = on_session_end = on_session_switch = on_delegation = on_memory_write = _nothing


def is_foreign(source: Path) -> bool:
    """Whether the plugin at that path was written for hermes-agent, as its source says."""
    try:
        with source.open(encoding="utf-8", errors="replace") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return any(mark in head for mark in MARKS)


def provide_modules(home: Path) -> None:
    """Offer the modules that such plugins import, unless there are modules of that name. `home`: what they
    take for the home of hermes-agent."""
    _offer("agent", "memory_provider", MemoryProvider=ForeignProvider)
    _offer("tools", "registry", tool_error=_tool_error)
    _offer("hermes_constants", "", get_hermes_home=lambda: home, display_hermes_home=lambda: str(home))
    _offer("utils", "", is_truthy_value=_is_truthy)

    def config() -> dict[str, Any]:
        return _config_in(home)

    _offer("hermes_cli", "config", cfg_get=_config_value, load_config=config, load_config_readonly=config)


def _offer(package: str, name: str, **values: object) -> None:
    if package not in sys.modules and find_spec(package) is not None:
        return
    outer = sys.modules.setdefault(package, ModuleType(package))
    inner = outer
    if name:
        outer.__path__ = []
        inner = sys.modules.setdefault(f"{package}.{name}", ModuleType(f"{package}.{name}"))
        setattr(outer, name, inner)
    for key, value in values.items():
        setattr(inner, key, value)


def _tool_error(message: object, **more: object) -> str:
    return json.dumps({"error": str(message), **more}, default=str)


def _is_truthy(value: object, default: bool = False) -> bool:
    """Whether a setting means yes, also as a text."""
    if value is None:
        return default
    return value.strip().lower() in {"1", "true", "yes", "on"} if isinstance(value, str) else bool(value)


def _config_in(home: Path) -> dict[str, Any]:
    """The mapping in `config.yaml` there; empty where there is none."""
    try:
        found = yaml.safe_load((home / "config.yaml").read_bytes())
    except (OSError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _config_value(config: object, *keys: str, default: Any = None) -> Any:
    """The value under nested keys."""
    for key in keys:
        if not isinstance(config, Mapping) or key not in config:
            return default
        config = config[key]
    return config


class _Context:
    """What `register` gets: it keeps the provider, and accepts all other registrations without effect."""

    def __init__(self) -> None:
        self.provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        """Keep the provider."""
        self.provider = provider

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("register_"):
            raise AttributeError(name)

        def ignored(*_values: object, **_named: object) -> None:
            logger.info("the plugin's %s has no effect: of its parts only the memory provider is used", name)

        return ignored


def factory_of(module: ModuleType) -> Callable[[Setup], MemoryProvider] | None:
    """The factory of the module's provider; None where it has none."""
    register = getattr(module, "register", None)
    if not callable(register) and _subclass_in(module) is None:
        return None

    def make(setup: Setup) -> MemoryProvider:
        provider = _registered(register) if callable(register) else None
        if provider is None and (found := _subclass_in(module)) is not None:
            provider = found()
        if provider is None:
            raise TypeError(f"{module.__file__} registers no memory provider")
        return Adapter(provider, setup.folder)

    return make


def _registered(register: Callable[[Any], object]) -> Any:
    context = _Context()
    register(context)
    return context.provider


def _subclass_in(module: ModuleType) -> type | None:
    """The first class in the module that derives from their base class."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ForeignProvider) and value is not ForeignProvider:
            return value
    return None


class Adapter:
    """One of their providers as one of ours, for one conversation."""

    def __init__(self, provider: Any, folder: Path) -> None:
        self._provider = provider
        self._folder = folder
        self._session = ""
        self._turns = 0

    def is_available(self) -> bool:
        """See `MemoryProvider`."""
        available = bool(self._provider.is_available())
        if not available and (reason := _call(self._provider, "unavailable_reason")):
            logger.warning("%s", reason)
        return available

    def initialize(self, session: ProviderSession) -> None:
        """See `MemoryProvider`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._session = session.id
        _call(
            self._provider,
            "initialize",
            session.id,
            hermes_home=str(self._folder),
            platform=session.source or "cli",
            agent_context=_CONTEXTS.get(session.kind, "primary"),
            agent_identity="",
            agent_workspace="hermes-jobs",
            parent_session_id=session.continues or "",
        )

    def system_prompt_block(self) -> str:
        """See `MemoryProvider`."""
        return _call(self._provider, "system_prompt_block") or ""

    def prefetch(self, query: str) -> str:
        """See `MemoryProvider`."""
        return _call(self._provider, "prefetch", query, session_id=self._session) or ""

    def queue_prefetch(self, query: str) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "queue_prefetch", query, session_id=self._session)

    def sync_turn(self, user: str, assistant: str) -> None:
        """See `MemoryProvider`."""
        messages = _messages((Turn(user, assistant),))
        _call(self._provider, "sync_turn", user, assistant, session_id=self._session, messages=messages)

    def get_tool_schemas(self) -> tuple[ToolSpec, ...]:
        """See `MemoryProvider`."""
        described = (
            schema.get("function", schema) for schema in _call(self._provider, "get_tool_schemas") or ()
        )
        return tuple(
            ToolSpec(
                name=str(tool["name"]),
                description=str(tool.get("description", "")),
                parameters=dict(tool.get("parameters") or {"type": "object", "properties": {}}),
            )
            for tool in described
        )

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """See `MemoryProvider`."""
        result = _call(self._provider, "handle_tool_call", name, dict(arguments), session_id=self._session)
        return result if isinstance(result, str) else json.dumps(result, default=str)

    def shutdown(self) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "shutdown")

    def on_turn_start(self, user: str) -> None:
        """See `MemoryProvider`."""
        self._turns += 1
        _call(self._provider, "on_turn_start", self._turns, user)

    def on_session_end(self, turns: Sequence[Turn]) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "on_session_end", _messages(turns))

    def on_session_switch(self, session: ProviderSession, *, reset: bool, reason: str) -> None:
        """See `MemoryProvider`."""
        before, self._session = self._session, session.id
        named = {"parent_session_id": session.continues or before, "reset": reset, "reason": reason}
        _call(self._provider, "on_session_switch", session.id, **named)

    def on_pre_compress(self, turns: Sequence[Turn]) -> None:
        """See `MemoryProvider`. What theirs return for the summary's prompt is not used."""
        _call(self._provider, "on_pre_compress", _messages(turns))

    def on_delegation(self, task: str, result: str) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "on_delegation", task, result)

    def on_memory_write(self, action: str, target: MemoryTarget, content: str) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "on_memory_write", action, target, content)

    def get_config_schema(self) -> Mapping[str, str]:
        """See `MemoryProvider`."""
        fields = _call(self._provider, "get_config_schema") or ()
        return {
            str(field.get("env_var") or field.get("key")): str(field.get("description", ""))
            for field in fields
        }

    def save_config(self, values: Mapping[str, str]) -> None:
        """See `MemoryProvider`."""
        _call(self._provider, "save_config", dict(values), str(self._folder))


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """The exchanges as messages of OpenAI's API."""
    return [
        {"role": role, "content": text}
        for turn in turns
        for role, text in (("user", turn.user), ("assistant", turn.assistant))
        if text
    ]


def _call(provider: Any, name: str, *values: object, **named: object) -> Any:
    """Call a method, with those of the named arguments that it takes; None where there is no such method."""
    method = getattr(provider, name, None)
    if method is None:
        return None
    parameters = inspect.signature(method).parameters
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        named = {key: value for key, value in named.items() if key in parameters}
    return method(*values, **named)
