"""Memory providers that were written for hermes-agent load and are called as they expect."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.errors import Misconfigured
from hermes_jobs.features.memory.provider import ProviderSession, Setup, Turn
from hermes_jobs.features.memory.provider_host import PROVIDERS
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.session_info import session_info
from hermes_jobs.kernel.turns.evolve import evolve
from hermes_jobs.kernel.turns.session import Session

BODY = """
import json
from agent.memory_provider import MemoryProvider
from hermes_constants import get_hermes_home
from hermes_constants import display_hermes_home
from hermes_cli.config import cfg_get, load_config, load_config_readonly
from tools.registry import tool_error
from utils import is_truthy_value

CALLS = []


class Noting(MemoryProvider):
    @property
    def name(self):
        return "noting"

    def is_available(self):
        wanted = cfg_get(load_config_readonly(), "plugins", "noting", default={}).get("active", "true")
        return display_hermes_home() == str(get_hermes_home()) and is_truthy_value(wanted)

    def initialize(self, session_id, **kwargs):
        CALLS.append(("initialize", session_id, kwargs))

    def prefetch(self, query, *, session_id=""):
        CALLS.append(("prefetch", query, session_id))
        return "tea"

    def sync_turn(self, user_content, assistant_content):
        CALLS.append(("sync_turn", user_content, assistant_content))

    def get_tool_schemas(self):
        return [{"name": "ask", "description": "Ask.", "parameters": {"type": "object", "properties": {}}}]

    def handle_tool_call(self, tool_name, args, **kwargs):
        return json.dumps({"asked": args}) if tool_name == "ask" else tool_error("no such tool")

    def on_turn_start(self, turn_number, message, **kwargs):
        CALLS.append(("on_turn_start", turn_number, message))

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, **kwargs):
        CALLS.append(("on_session_switch", new_session_id, parent_session_id, reset))

    def on_session_end(self, messages):
        CALLS.append(("on_session_end", messages))
"""
REGISTER = """
def register(ctx):
    ctx.register_tool("other", lambda: None)
    ctx.register_memory_provider(Noting())
"""


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """The modules that are offered to such a plugin are gone afterwards."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"agent", "tools", "hermes_constants", "hermes_cli", "utils"}:
            del sys.modules[name]


def made(plugins: Path, source: str) -> tuple[Any, list[Any]]:
    """The provider in that source, and what it is called with."""
    folder = plugins / "noting"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(source)
    factory = PROVIDERS.factory_of("noting", plugins)
    provider = factory(Setup(folder=folder, secret=lambda _name: None))
    return provider, sys.modules["hermes_jobs_plugin_noting"].CALLS


@pytest.mark.parametrize("source", [BODY + REGISTER, BODY])
def test_a_plugin_registers_its_provider_or_has_a_subclass(tmp_path: Path, source: str) -> None:
    provider, calls = made(tmp_path, source)
    assert provider.is_available()
    provider.initialize(ProviderSession(id="s1", source="telegram", kind="scheduled"))
    [(what, session, named)] = calls
    assert (what, session, named["platform"], named["agent_context"]) == (
        "initialize",
        "s1",
        "telegram",
        "cron",
    )
    assert named["hermes_home"] == str(tmp_path / "noting")


def test_its_settings_are_in_its_folder(tmp_path: Path) -> None:
    provider, _ = made(tmp_path, BODY + REGISTER)
    (tmp_path / "noting" / "config.yaml").write_text("plugins: {noting: {active: 'false'}}\n")
    assert not provider.is_available()
    (tmp_path / "noting" / "config.yaml").write_text("[broken")
    assert provider.is_available()


def test_its_methods_get_the_arguments_that_they_take(tmp_path: Path) -> None:
    provider, calls = made(tmp_path, BODY + REGISTER)
    provider.initialize(ProviderSession(id="s1"))
    provider.on_turn_start("Hello")
    assert provider.prefetch("Which drink?") == "tea"
    provider.sync_turn("Which drink?", "Tea.")
    provider.on_session_switch(ProviderSession(id="s2", continues="s1"), reset=False, reason="compression")
    provider.on_session_end((Turn("Which drink?", "Tea."),))
    provider.on_memory_write("add", "memory", "Likes tea.")
    provider.shutdown()
    assert calls[1:] == [
        ("on_turn_start", 1, "Hello"),
        ("prefetch", "Which drink?", "s1"),
        ("sync_turn", "Which drink?", "Tea."),
        ("on_session_switch", "s2", "s1", False),
        (
            "on_session_end",
            [{"role": "user", "content": "Which drink?"}, {"role": "assistant", "content": "Tea."}],
        ),
    ]


def test_its_tools_are_offered_and_called(tmp_path: Path) -> None:
    provider, _ = made(tmp_path, BODY + REGISTER)
    [tool] = provider.get_tool_schemas()
    assert (tool.name, tool.description) == ("ask", "Ask.")
    assert json.loads(provider.handle_tool_call("ask", {"a": 1})) == {"asked": {"a": 1}}
    assert "error" in json.loads(provider.handle_tool_call("other", {}))


def test_a_package_without_a_provider_is_refused(tmp_path: Path) -> None:
    (tmp_path / "noting").mkdir()
    (tmp_path / "noting" / "__init__.py").write_text("from agent.memory_provider import MemoryProvider\n")
    with pytest.raises(Misconfigured, match="brings no memory provider"):
        PROVIDERS.factory_of("noting", tmp_path)


def test_a_conversation_that_has_not_begun_has_the_source_of_its_first_text() -> None:
    sent = e.TurnSubmitted(turn="t1", text="Hello", source="telegram", session="s1", opening=e.Opening())
    assert session_info(evolve(Session(stream="session-s1"), sent)).source == "telegram"
