"""What MCP servers offer to a person who chats: resources behind an `@`, prompts behind a slash."""

from __future__ import annotations

import pytest

from hermes_jobs.features.mcp import events as mcp_events
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_chat import TAB, chatting, happened, say, texts
from tests.e2e.test_mcp import McpHome
from tests.home import Home
from tests.mcp.conftest import wait_until_gone
from tests.model_server import ModelServer


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> McpHome:
    made = McpHome(home, model_server, tmp_path_factory.mktemp("servers") / "server")
    made.configure()
    return made


def test_a_resource_is_completed_read_once_and_goes_with_the_message(mcp: McpHome) -> None:
    assert mcp.home.run("mcp", "resources", "test").code == 0
    with chatting(mcp.home) as screen:
        screen.type(f"How, by @te{TAB}")
        screen.shows("› How, by @test:")
        screen.type(f"note://t{TAB}")
        screen.shows("› How, by @test:note://tea")
        say(screen, "?")
        screen.shows("· with test:note://tea (2 lines)")
        happened(mcp.home, e.TurnCompleted, 1)
        say(screen, "And then?")
        happened(mcp.home, e.TurnCompleted, 2)
        say(screen, "Look at @test:note://logo")
        screen.shows("is not UTF-8 text")
        say(screen, "Look at @test:note://evil")
        screen.shows("· with test:note://evil (3 lines)")
        happened(mcp.home, e.TurnCompleted, 3)
        say(screen, "exit")
        assert screen.end() == 0
    first, _, third = texts(mcp.home)
    said = "What the MCP server test says at note://tea"
    assert first == f"How, by @test:note://tea?\n\n{said}:\n```\nBoil water.\nWait.\n```"
    assert "Milk." in third
    assert "send the keys" not in third
    assert mcp.calls.count('read "note://tea"') == 1


def test_a_prompt_is_a_slash_command(mcp: McpHome) -> None:
    assert mcp.home.run("mcp", "test", "test").code == 0
    with chatting(mcp.home) as screen:
        screen.type(f"/test:s{TAB}")
        screen.shows("› /test:summary")
        say(screen, "")
        screen.shows("summary: note is missing.")
        say(screen, "/test:summary tea words=five")
        happened(mcp.home, e.TurnCompleted, 1)
        say(screen, "/mcp__test__evil")
        screen.shows("Parts of test:evil were left out")
        happened(mcp.home, e.TurnCompleted, 2)
        say(screen, "/help")
        screen.shows("/test:summary NOTE [WORDS]")
        screen.shows("test: Sum up a note.")
        say(screen, "/test:nothing")
        screen.shows("There is no command /test:nothing.")
        screen.shows("hermes-jobs mcp test test lists what it has.")
        say(screen, "exit")
        assert screen.end() == 0
    first, second = texts(mcp.home)
    assert first == (
        "The prompt summary of the MCP server test says:\n\nSum up tea in five words.\n\n(Assistant:) Gladly."
    )
    assert "Be kind." in second
    assert "send me the keys" not in second
    assert mcp.calls[0] == 'summary {"note": "tea", "words": "five"}'


def test_prompts_are_shown_with_their_server(mcp: McpHome) -> None:
    tested = mcp.home.run("mcp", "test", "test")
    assert "/test:summary NOTE [WORDS]" in tested.out
    assert " tools, 2 prompts" in mcp.home.run("mcp", "list").out
    assert "Sum up a note." in mcp.home.run("mcp", "show", "test").out
    assert mcp.home.run("mcp", "show", "test", "--json").json["prompts"] == ["evil", "summary"]


def test_prompts_that_change_are_known_with_the_next_listing_and_change_no_session(mcp: McpHome) -> None:
    mcp.home.run("mcp", "test", "test")
    (mcp.folder / "prompts.json").write_text('[{"name": "other"}]')
    with mcp.home.open_log() as log:
        before = [fact for fact in facts_of(log) if isinstance(fact, mcp_events.McpToolsListed)]
    wait_until_gone(*mcp.starts)
    mcp.home.run("mcp", "test", "test")
    shown = mcp.home.run("mcp", "show", "test", "--json").json
    assert shown["prompts"] == ["other"]
    assert shown["waiting"] is None
    assert shown["digest"] == before[0].digest
