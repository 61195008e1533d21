"""Servers over HTTP that do what they must not: a call fails alone, is made once, and says what is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_jobs.features.mcp.messages import CallTool, Failed, Launch, Offer, Reply, Result, decode_response
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from tests.mcp import hostile_http as it
from tests.mcp.hostile_http import HostileServer, hostile_server
from tests.tools.support import wait_until

SOON = 0.5  # seconds that what is never answered may take


class Row(NamedTuple):
    """A behaviour, and how a call fails by it: the kind, whether the server may have acted, what is told."""

    behaviour: it.Behaviour
    kind: str
    sent: bool
    told: str


ROWS = {
    "hangs before its headers": Row(it.hang, "timeout", True, "no answer within 0.5 s"),
    "drops the connection": Row(it.drop, "lost", True, "the connection was lost: "),
    "drops in mid-answer": Row(it.drop_in_json, "lost", True, "its answer broke off: "),
    "drops in mid-stream": Row(it.drop_in_sse, "lost", True, "its answer broke off"),
    "floods": Row(it.flood_json, "too_large", True, "more than 16 MiB in one message"),
    "floods in a stream": Row(it.flood_sse, "too_large", True, "more than 16 MiB in one message"),
    "unpacks to a flood": Row(it.bomb, "bad_result", True, "compressed, although that was not asked for"),
    "redirects inside": Row(
        it.redirect("http://169.254.169.254/latest"), "refused", False, "Redirect to http://169.254.169.254"
    ),
    "is a page": Row(it.page, "bad_result", True, "neither JSON nor a stream"),
    "is no JSON": Row(it.rubbish, "bad_result", True, "no JSON-RPC message"),
    "is no JSON in a stream": Row(it.rubbish_in_sse, "bad_result", True, "no JSON-RPC message"),
    "never ends its stream": Row(it.endless_sse, "timeout", True, "no answer within 0.5 s"),
    "drips": Row(it.drip, "timeout", True, "no answer within 0.5 s"),
    "400": Row(it.status(400), "refused", False, "it answered 400 Bad Request"),
    "401": Row(it.status(401), "refused", False, "it answered 401 Unauthorized"),
    "403": Row(it.status(403), "refused", False, "it answered 403 Forbidden"),
    "429": Row(it.status(429, Retry_After="30"), "refused", False, "429 Too Many Requests, and asks to"),
    "500": Row(it.status(500), "refused", True, "it answered 500 Internal Server Error"),
    "503": Row(it.status(503), "refused", True, "it answered 503 Service Unavailable"),
    "says why": Row(it.refuse(400, "no \x1b[31msuch\x1b[0m note"), "refused", False, "no such note"),
}  # fmt: skip


@pytest.fixture(params=["of 2025", "of 2026"])
def server(request: pytest.FixtureRequest) -> Iterator[HostileServer]:
    with hostile_server(modern=request.param == "of 2026") as made:
        yield made


@pytest.fixture
def old_server() -> Iterator[HostileServer]:
    with hostile_server() as made:
        yield made


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path / "mcp")
    yield made
    made.close()


def launch_of(server: HostileServer, *, start_timeout: float = 30.0, **headers: str) -> Launch:
    return Launch(
        server="h", folder="", token="", url=server.url, start_timeout=start_timeout, headers=headers
    )


def call(
    servers: Servers, launch: Launch, tool: str = "note", *, seconds: float = 60.0, repeatable: bool = False
) -> Reply:
    asked = CallTool(tool=tool, arguments=b"{}", timeout=seconds, repeatable=repeatable)
    return servers.call(launch, asked, CancelToken())


def test_each_failed_call_is_made_once_and_reported_alone(servers: Servers, server: HostileServer) -> None:
    launch = launch_of(server)
    wrong = {}
    for name, row in ROWS.items():
        server.calls.clear()
        server.at["tools/call"] = row.behaviour
        never = row.kind == "timeout"
        reply = call(servers, launch, seconds=SOON if never else 60.0)
        found = (reply.kind, reply.sent) if isinstance(reply, Failed) else reply
        told = reply.message if isinstance(reply, Failed) else ""
        del server.at["tools/call"]
        if found != (row.kind, row.sent) or row.told not in told or server.calls != ["note"]:
            wrong[name] = (found, told, server.calls[:])
        if never:
            assert server.gone.acquire(timeout=30), f"{name}: the request was not let go"
        assert isinstance(call(servers, launch, "other"), Result), name
    assert wrong == {}


def test_one_broken_call_ends_no_other(servers: Servers, server: HostileServer) -> None:
    """The call that is under way has its result although the other's connection breaks."""
    launch, go, replies = launch_of(server), threading.Event(), list[Reply]()

    def slow(handler: it.Handler, message: dict[str, object]) -> None:
        if len(server.calls) == 1:
            go.wait(60)
            it.proper(handler, message)
        else:
            it.drop(handler, message)

    server.at["tools/call"] = slow
    waiting = threading.Thread(target=lambda: replies.append(call(servers, launch)))
    waiting.start()
    wait_until(lambda: len(server.calls) == 1, "the first call")
    assert isinstance(call(servers, launch, "other"), Failed)
    go.set()
    waiting.join()
    assert isinstance(replies[0], Result), replies


@pytest.mark.slow
def test_failures_at_the_start_are_reported(servers: Servers, server: HostileServer) -> None:
    wrong = {}
    for name, row in ROWS.items():
        server.at["tools/list"] = row.behaviour
        never = row.kind == "timeout"
        launch = launch_of(server, start_timeout=2.0 if never else 30.0, X_Case=name.replace(" ", "-"))
        reply = servers.list_tools(launch, CancelToken())
        told = "did not list its tools within 2 s" if never else row.told
        if not isinstance(reply, Failed) or told not in reply.message:
            wrong[name] = reply
        del server.at["tools/list"]
    assert wrong == {}


def test_a_session_that_has_expired_is_replaced(servers: Servers, old_server: HostileServer) -> None:
    launch = launch_of(old_server)
    assert isinstance(call(servers, launch), Result)
    old_server.session += 1
    assert isinstance(call(servers, launch, repeatable=True), Result)
    old_server.session += 1
    refused = call(servers, launch)
    assert isinstance(refused, Failed)
    assert (refused.kind, refused.sent) == ("refused", False)
    assert "its session has expired; the call was not made" in refused.message
    assert isinstance(call(servers, launch), Result)
    assert old_server.asked.count("initialize") == 3


def test_a_write_is_sent_once_even_if_the_server_ends_the_session(
    servers: Servers, old_server: HostileServer
) -> None:
    old_server.at["tools/call"] = it.status(404)
    assert isinstance(call(servers, launch_of(old_server)), Failed)
    assert old_server.calls == ["note"]


def test_an_answered_call_counts_as_made(servers: Servers, old_server: HostileServer) -> None:
    """The SDK asks for the list again after the call of a tool that it does not know."""
    launch = launch_of(old_server)
    assert isinstance(servers.list_tools(launch, CancelToken()), Offer)
    old_server.at["tools/list"] = it.status(429)
    reply = call(servers, launch, "unlisted")
    assert isinstance(reply, Failed)
    assert reply.sent


def test_a_header_that_is_refused_is_named(servers: Servers, old_server: HostileServer) -> None:
    old_server.at["tools/list"] = it.status(401)
    reply = servers.list_tools(launch_of(old_server, Authorization="Bearer old"), CancelToken())
    assert isinstance(reply, Failed)
    assert "401 Unauthorized; look at the Authorization header of its entry" in reply.message


@pytest.mark.slow
def test_a_server_that_does_not_let_go_holds_no_connector(
    servers: Servers, old_server: HostileServer, tmp_path: Path
) -> None:
    """The end of a session is asked for, and not waited for without end."""
    old_server.at["DELETE"] = it.drip
    launch = launch_of(old_server)
    assert isinstance(call(servers, launch), Result)
    servers.close()
    wait_until(lambda: "DELETE" in old_server.asked, "the end of the session")
    wait_until(lambda: not servers.is_running(launch), "the end of the connector", seconds=60)


def test_only_listed_tools_are_offered(servers: Servers, server: HostileServer) -> None:
    offer = servers.list_tools(launch_of(server), CancelToken())
    assert isinstance(offer, Offer)
    assert [each["name"] for each in decode_response(offer.tools)] == ["note", "other"]
