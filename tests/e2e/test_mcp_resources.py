"""`mcp resources` and `mcp read` as people use them."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_mcp import McpHome
from tests.home import Home
from tests.model_server import ModelServer


@pytest.fixture
def mcp(home: Home, model_server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> McpHome:
    made = McpHome(home, model_server, tmp_path_factory.mktemp("servers") / "server")
    made.configure()
    return made


def test_resources_are_listed_cleaned_and_with_their_templates(mcp: McpHome) -> None:
    listed = mcp.home.run("mcp", "resources", "test", "--json").json
    assert [(each["uri"], each["is_template"]) for each in listed] == [
        ("note://logo", False),
        ("note://tea", False),
        ("note://{name}", True),
    ]
    assert listed[1]["description"] == "How tea is made."
    assert "How tea is made." in mcp.home.run("mcp", "resources").out


def test_a_resource_is_printed_as_it_is(mcp: McpHome) -> None:
    assert mcp.home.run("mcp", "read", "test", "note://tea").out == "Boil water.\nWait.\n"
    (part,) = mcp.home.run("mcp", "read", "test", "note://logo", "--json").json["contents"]
    assert (part["mime_type"], part["text"], part["blob"]) == ("image/png", None, "iVBORw0KGgo=")
    assert mcp.calls == ['read "note://tea"', 'read "note://logo"']


def test_unknown_resources_are_refused_with_the_reason(mcp: McpHome) -> None:
    missing = mcp.home.run("mcp", "read", "test", "note://nothing")
    assert missing.code == 1
    assert "test: no 'note://nothing'." in missing.err
    unknown = mcp.home.run("mcp", "read", "nobody", "note://tea")
    assert unknown.code == 2
    assert "There is no MCP server 'nobody'" in unknown.err


def test_an_unreachable_server_is_named_and_the_others_are_listed(mcp: McpHome) -> None:
    config = json.loads((mcp.home.path / "config.yaml").read_text())
    config["mcp_servers"]["gone"] = {"command": "no-such-program"}
    (mcp.home.path / "config.yaml").write_text(json.dumps(config))
    listed = mcp.home.run("mcp", "resources")
    assert listed.code == 1
    assert "note://tea" in listed.out
    assert "Away: gone: no-such-program could not be started" in listed.err


def test_a_resource_that_the_text_names_is_sent_along(mcp: McpHome) -> None:
    sent = mcp.home.run(
        "send", "Compare @test:note://tea, @test:note://tea and me@test:x.", "-f", "-", stdin="piped"
    )
    assert sent.code == 0
    assert "with test:note://tea (2 lines)" in sent.err
    told = "What the MCP server test says at note://tea:\n```\nBoil water.\nWait.\n```"
    said = "Compare @test:note://tea, @test:note://tea and me@test:x."
    assert mcp.model.requests[0].last_user_text == f"{said}\n\n{told}\n\npiped"
    assert mcp.calls == ['read "note://tea"']


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("@test:note://nothing", "test: no 'note://nothing'."),
        ("@test:note://logo", "hermes-jobs mcp read test note://logo > FILE"),
    ],
)
def test_nothing_is_sent_where_a_resource_cannot_be_read(mcp: McpHome, named: str, told: str) -> None:
    sent = mcp.home.run("send", f"Look at {named}")
    assert (sent.code, sent.out) == (2, "")
    assert told in sent.err
    assert mcp.model.requests == []
    assert mcp.home.run("turns", "list", "--json").json == []
