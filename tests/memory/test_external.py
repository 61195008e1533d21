"""The memory providers that we ship, with their real clients, before their APIs on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from hermes_jobs.features.memory.external.honcho import HonchoMemory
from hermes_jobs.features.memory.external.mem0 import Mem0Memory
from hermes_jobs.features.memory.provider import ProviderSession, Setup
from tests.memory.service import Service, honcho, mem0

SESSION = ProviderSession(id="s-3k9")
KEYS = {"MEM0_API_KEY": "m0-secret", "HONCHO_API_KEY": "hch-secret"}


def setup(folder: Path, options: Mapping[str, object], keys: Mapping[str, str] = KEYS) -> Setup:
    return Setup(folder=folder, secret=keys.get, options=options)


class TestMem0:
    @pytest.fixture
    def service(self) -> Iterator[Service]:
        with mem0(["Likes tea", "Likes tea", "Lives in Haifa"]) as service:
            yield service

    @pytest.fixture
    def memory(
        self, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Mem0Memory]:
        if find_spec("mem0") is None:
            pytest.skip("the extra mem0 is not installed")
        for name in ("MEM0_DIR", "MEM0_TELEMETRY"):
            monkeypatch.setenv(name, "")  # so that what the provider sets is gone after the test
            monkeypatch.delenv(name)
        memory = Mem0Memory(setup(tmp_path, {"base_url": service.url, "user": "anna"}))
        assert memory.is_available()
        memory.initialize(SESSION)
        yield memory
        memory.shutdown()

    def test_its_clients_statistics_are_off(self, memory: Mem0Memory) -> None:
        from mem0.memory import telemetry

        assert telemetry.client_telemetry.posthog is None

    def test_each_known_fact_is_recalled_once(self, memory: Mem0Memory, service: Service) -> None:
        assert memory.prefetch("what does she drink?") == "- Likes tea\n- Lives in Haifa"
        (asked,) = service.of("/v3/memories/search/")
        assert asked.body["query"] == "what does she drink?"
        assert asked.body["filters"] == {"user_id": "anna"}
        assert asked.key == "Token m0-secret"

    def test_a_turn_is_handed_over_with_its_session(self, memory: Mem0Memory, service: Service) -> None:
        memory.sync_turn("I like tea.", "Noted.")
        (asked,) = service.of("/v3/memories/add/")
        assert asked.body["messages"] == [
            {"role": "user", "content": "I like tea."},
            {"role": "assistant", "content": "Noted."},
        ]
        assert (asked.body["user_id"], asked.body["run_id"]) == ("anna", "s-3k9")

    def test_a_turn_without_words_is_not(self, memory: Mem0Memory, service: Service) -> None:
        memory.sync_turn(" ", "")
        assert service.of("/v3/memories/add/") == []
        assert memory.prefetch("  ") == ""

    def test_its_tool_searches(self, memory: Mem0Memory) -> None:
        (tool,) = memory.get_tool_schemas()
        assert memory.handle_tool_call(tool.name, {"query": "tea"}).startswith("- Likes tea")

    def test_a_compressed_session_continues_under_its_new_id(
        self, memory: Mem0Memory, service: Service
    ) -> None:
        memory.on_session_switch(ProviderSession(id="s-3k9.2"), reset=False, reason="compression")
        memory.sync_turn("More", "Yes.")
        assert service.of("/v3/memories/add/")[0].body["run_id"] == "s-3k9.2"


class TestHoncho:
    @pytest.fixture
    def service(self) -> Iterator[Service]:
        with honcho(["Name: Anna"], "Anna drinks tea.") as service:
            yield service

    @pytest.fixture
    def memory(self, service: Service, tmp_path: Path) -> Iterator[HonchoMemory]:
        memory = HonchoMemory(setup(tmp_path, {"base_url": service.url, "user": "anna b."}))
        assert memory.is_available()
        memory.initialize(SESSION)
        yield memory
        memory.shutdown()

    def test_the_card_of_the_user_is_in_the_prompt(self, memory: HonchoMemory, service: Service) -> None:
        assert memory.system_prompt_block() == "# What Honcho knows of the user\n- Name: Anna"
        assert service.of("/v3/workspaces/hermes-jobs/peers/anna-b-/context")[0].key == "Bearer hch-secret"

    def test_related_facts_are_recalled(self, memory: HonchoMemory, service: Service) -> None:
        assert memory.prefetch("what does she drink?") == "Anna drinks tea."
        (asked,) = service.of(".*/context")
        assert asked.query["search_query"] == "what does she drink?"

    def test_a_prepared_recall_is_used_once(self, memory: HonchoMemory, service: Service) -> None:
        memory.queue_prefetch("tea")
        assert memory.prefetch("and milk?") == "Anna drinks tea."
        assert len(service.of(".*/context")) == 1
        memory.prefetch("and bread?")
        assert len(service.of(".*/context")) == 2

    def test_a_turn_is_passed_on_by_speaker(self, memory: HonchoMemory, service: Service) -> None:
        memory.sync_turn("I like tea.", "Noted.")
        (asked,) = service.of("/v3/workspaces/hermes-jobs/sessions/s-3k9/messages")
        said = [(each["peer_id"], each["content"]) for each in asked.body["messages"]]
        assert said == [("anna-b-", "I like tea."), ("hermes", "Noted.")]

    def test_its_tool_asks_about_the_user(self, memory: HonchoMemory, service: Service) -> None:
        (tool,) = memory.get_tool_schemas()
        assert memory.handle_tool_call(tool.name, {"question": "What do they drink?"}) == "They like tea."
        assert service.of(".*/chat")[0].body["query"] == "What do they drink?"

    def test_a_compressed_session_continues_under_its_new_id(
        self, memory: HonchoMemory, service: Service
    ) -> None:
        memory.on_session_switch(ProviderSession(id="s-3k9.2"), reset=False, reason="compression")
        memory.sync_turn("More", "Yes.")
        assert service.of("/v3/workspaces/hermes-jobs/sessions/s-3k9-2/messages")


def test_without_a_key_neither_is_available(tmp_path: Path) -> None:
    assert not Mem0Memory(setup(tmp_path, {}, {})).is_available()
    assert not HonchoMemory(setup(tmp_path, {}, {})).is_available()
