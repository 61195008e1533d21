"""Other agents use hermes-jobs: `mcp serve` before the SDK's client, in both eras of the protocol."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, ElicitResult, TextContent

from tests.e2e.test_mcp_input import AskingHome
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer

pytestmark = pytest.mark.slow  # two processes that import the SDK

READING = ["turn", "turns", "wait", "search_sessions", "read_memory", "schedules"]
CLEAN = AskedCall("terminal", {"command": "rm -r build"})
CLEANING = Script(rules=(Rule("Clean", (Answer(tool_calls=(CLEAN,)), Answer(text="Clean."))),))
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}

Elicit = Callable[[Any, Any], Awaitable[Any]]
eras = pytest.mark.parametrize("era", ERAS)


class Person:
    """Somebody behind a client, who gives this answer to all that they are asked."""

    def __init__(self, action: str, **content: Any) -> None:
        self.questions: list[str] = []
        self.addresses: list[str] = []
        self._answer = ElicitResult.model_validate({"action": action, "content": content or None})

    async def __call__(self, _context: Any, asked: Any) -> ElicitResult:
        self.questions.append(asked.message)
        self.addresses += [asked.url] if asked.mode == "url" else []
        return self._answer


class Serving:
    """A client of a running server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> list[str]:
        return [each.name for each in (await self.client.list_tools()).tools]

    async def call(self, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """The text and the object of a tool's result."""
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result
        return text_of(result), result.structured_content or {}

    async def refused(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return str(content.text)


@asynccontextmanager
async def serving(
    home: Home, *flags: str, era: str = "auto", asks: Elicit | None = None
) -> AsyncIterator[Serving]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_jobs", "mcp", "serve", *flags],
        env=dict(home.environ),
        cwd=home.work,
    )
    home.path.parent.mkdir(exist_ok=True)
    with (home.path.parent / "serve.err").open("a") as errors:
        async with Client(
            stdio_client(command, errlog=errors), mode=era, elicitation_callback=asks, cache=None
        ) as client:
            assert client.protocol_version == ERAS[era]
            yield Serving(client)


@eras
def test_it_is_read_only_by_default(home: Home, era: str) -> None:
    sent = home.send("Tell me about otters.")
    home.run("memory", "add", "user", "Prefers metric units.")
    home.run("schedule", "add", "--yes", "--every", "1h", "--task", "Look around.")

    async def read() -> None:
        async with serving(home, era=era) as server:
            assert await server.tools() == READING
            text, turn = await server.call("turn", turn=sent["turn"])
            assert text.startswith(sent["result"])
            assert turn["result"] == sent["result"]
            _, listed = await server.call("turns", limit=1)
            assert [each["turn"] for each in listed["turns"]] == [sent["turn"]]
            assert (await server.call("wait", turn=sent["turn"]))[1]["status"] == "completed"
            _, found = await server.call("search_sessions", query="otters")
            assert found["hits"][0]["turn"] == sent["turn"]
            assert (await server.call("read_memory"))[1]["user"] == ["Prefers metric units."]
            _, schedules = await server.call("schedules")
            assert [each["task"] for each in schedules["schedules"]] == ["Look around."]
            for tool in ("send", "cancel", "change_schedules"):
                assert f"Unknown tool: {tool}" in await server.refused(tool)

    anyio.run(read)


def test_workers_answer_if_they_have_the_key_of_its_environment(
    tmp_path: Path, model_server: ModelServer
) -> None:
    home = Home(tmp_path, endpoint(model_server.base_url))
    other = Home(tmp_path, {**home.environ, "OPENAI_API_KEY": "sk-that-the-workers-do-not-have-0123456789"})

    async def talk() -> None:
        async with serving(home, "--allow", "send") as server:
            assert (await server.call("send", text="Hello."))[1]["status"] == "completed"
        async with serving(other, "--allow", "send") as server:
            refused = await server.refused("send", text="Hello.")
            assert "do not have what is set for this process (OPENAI_API_KEY)" in refused

    with home.start("up", "--no-flower", "--no-beat") as running:
        running.wait_for("hermes-jobs is up")
        anyio.run(talk)
        running.signal(signal.SIGTERM)
        running.end()


@eras
def test_a_text_is_answered_and_a_session_continues(home: Home, era: str) -> None:
    async def talk() -> None:
        async with serving(home, "--allow", "send", era=era) as server:
            text, turn = await server.call("send", text="Hello.", workdir=str(home.path))
            assert text.startswith(turn["result"])
            assert (turn["status"], turn["text"]) == ("completed", "Hello.")
            _, second = await server.call("send", text="And again.", session=turn["session"])
            assert second["session"] == turn["session"]

    anyio.run(talk)
    (session,) = home.run("sessions", "list", "--json").json
    assert (session["source"], session["workdir"], session["num_turns"]) == ("mcp", str(home.path), 2)


def test_the_same_key_gives_the_same_turn(home: Home) -> None:
    async def send() -> None:
        async with serving(home, "--allow", "send") as server:
            first = await server.call("send", text="Once.", key="k1")
            assert await server.call("send", text="Once.", key="k1") == first
            assert "was used before, for another text" in await server.refused(
                "send", text="Twice.", key="k1"
            )

    anyio.run(send)
    assert len(home.run("turns", "list", "--json").json) == 1


def test_a_long_turn_is_named_and_waited_for(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Hold()))

    async def send() -> None:
        async with serving(home, "--allow", "send") as server:
            text, turn = await server.call("send", text="Think.", wait_seconds=0)
            assert turn["result"] is None
            assert f"[turn {turn['turn']} of session {turn['session']}: " in text
            model_server.release()
            _, ended = await server.call("wait", turn=turn["turn"], wait_seconds=60)
            assert ended["result"] == "Released."

    anyio.run(send)


@eras
def test_a_client_may_get_progress(home: Home, model_server: ModelServer, era: str) -> None:
    look = AskedCall("terminal", {"command": "true"})
    model_server.follow(Script(rules=(Rule("Look", (Answer(tool_calls=(look,)), Answer(text="Seen."))),)))
    heard: list[str] = []

    async def progress(_progress: float, _total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def send() -> None:
        async with serving(home, "--allow", "send", era=era) as server:
            asked = {"text": "Look around.", "wait_seconds": 60}
            await server.client.call_tool("send", asked, progress_callback=progress)

    anyio.run(send)
    assert any(each.startswith("· terminal true: ok") for each in heard), heard


def test_an_unfinished_turn_continues_in_the_next_process(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Hold()))
    sent: list[str] = []

    async def send() -> None:
        async with serving(home, "--allow", "send") as server:
            _, turn = await server.call("send", text="Think.", wait_seconds=0)
            sent.append(turn["turn"])

    async def read() -> None:
        async with serving(home) as server:
            assert "No worker is alive" in (await server.call("wait", turn=sent[0], wait_seconds=0))[0]

    anyio.run(send)
    anyio.run(read)
    model_server.release()
    assert home.run("turns", "wait", sent[0], "--json").json["result"] == "Released."


@eras
def test_a_person_behind_the_client_approves(home: Home, model_server: ModelServer, era: str) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)
    person = Person("accept", answer="once")

    async def send() -> None:
        async with serving(home, "--allow", "send,approve", era=era, asks=person) as server:
            _, turn = await server.call("send", text="Clean up.", wait_seconds=60)
            assert turn["result"] == "Clean."

    anyio.run(send)
    assert not (home.work / "build").exists()
    (question,) = person.questions
    assert "rm -r build" in question
    assert len(home.run("turns", "list", "--json").json) == 1


@eras
@pytest.mark.parametrize("person", [Person("decline"), Person("accept", answer="no", reason="Keep it.")])
def test_a_person_behind_the_client_refuses(
    home: Home, model_server: ModelServer, era: str, person: Person
) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)

    async def send() -> None:
        async with serving(home, "--allow", "send,approve", era=era, asks=person) as server:
            _, turn = await server.call("send", text="Clean up.", wait_seconds=60)
            assert [each["call"] for each in turn["refused"]] == [f"{turn['turn']}-1-0"]

    anyio.run(send)
    assert (home.work / "build").exists()


@eras
@pytest.mark.parametrize(
    ("allow", "person"),
    [("send", Person("accept", answer="once")), ("send,approve", Person("cancel")), ("send,approve", None)],
)
def test_an_undecided_approval_stays_for_the_command_line(
    home: Home, model_server: ModelServer, era: str, allow: str, person: Person | None
) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)

    async def send() -> None:
        async with serving(home, "--allow", allow, era=era, asks=person) as server:
            text, turn = await server.call("send", text="Clean up.", wait_seconds=60)
            assert turn["status"] == "waiting"
            assert "rm -r build" in text
            command = text.partition("hermes-jobs ")[2].partition(" (")[0].split()
            await anyio.to_thread.run_sync(lambda: home.run(*command))
            _, ended = await server.call("wait", turn=turn["turn"], wait_seconds=60)
            assert ended["result"] == "Clean."

    anyio.run(send)


@eras
@pytest.mark.parametrize(
    ("person", "calls"),
    [
        (Person("accept", seat="12A", bags=1), ["asked LX1", "booked LX1 [('bags', 1), ('seat', '12A')]"]),
        (Person("decline"), ["asked LX1", "decline LX1"]),
    ],
)
def test_a_servers_question_in_a_turn_is_passed_on(
    home: Home, model_server: ModelServer, tmp_path: Path, era: str, person: Person, calls: list[str]
) -> None:
    asking = AskingHome(home, model_server, tmp_path / "server")
    asking.configure()
    asking.asks_for(("new__book", {"flight": "LX1"}))

    async def send() -> None:
        async with serving(home, "--allow", "send,approve", era=era, asks=person) as server:
            _, turn = await server.call("send", text="Go.", wait_seconds=60)
            assert turn["result"] == "Done."

    anyio.run(send)
    assert asking.calls == calls
    assert "Which seat on LX1?" in person.questions[0]


@eras
@pytest.mark.parametrize("action", ["accept", "decline"])
def test_an_address_that_a_server_wants_opened_is_passed_on(
    home: Home, model_server: ModelServer, tmp_path: Path, era: str, action: str
) -> None:
    person = Person(action)
    asking = AskingHome(home, model_server, tmp_path / "server")
    asking.configure()
    asking.asks_for(("new__pay", {}))

    async def send() -> None:
        async with serving(home, "--allow", "send,approve", era=era, asks=person) as server:
            _, turn = await server.call("send", text="Go.", wait_seconds=60)
            assert turn["result"] == "Done."

    anyio.run(send)
    assert asking.calls == [f"pay {action}"]
    assert person.addresses == ["https://bücher.example/pay?id=7"]
    assert "It leads to the host xn--bcher-kva.example." in person.questions[0]


@eras
def test_an_unanswered_form_stays_for_the_command_line(
    home: Home, model_server: ModelServer, tmp_path: Path, era: str
) -> None:
    asking = AskingHome(home, model_server, tmp_path / "server")
    asking.configure()
    asking.asks_for(("new__book", {"flight": "LX1"}))

    async def send() -> None:
        person = Person("accept", seat="much too long", bags=1)
        async with serving(home, "--allow", "send,approve", era=era, asks=person) as server:
            text, turn = await server.call("send", text="Go.", wait_seconds=60)
            assert turn["status"] == "waiting"
            assert "--call" in text
            assert f"hermes-jobs turns answer {turn['turn']}" in text
            await server.call("cancel", turn=turn["turn"])

    anyio.run(send)


def test_a_question_answered_elsewhere_is_closed(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)

    async def nobody_is_there(_context: Any, asked: Any) -> Any:
        turn = home.run("turns", "list", "--json").json[0]["turn"]
        await anyio.to_thread.run_sync(lambda: home.run("turns", "deny", turn, "--no-wait"))
        await anyio.sleep_forever()

    async def send() -> None:
        async with serving(home, "--allow", "send,approve", era="legacy", asks=nobody_is_there) as server:
            _, turn = await server.call("send", text="Clean up.", wait_seconds=60)
            assert turn["status"] == "completed"

    anyio.run(send)


def test_turns_of_others_are_neither_approved_nor_cancelled(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)
    sent = home.run("send", "--no-wait", "Clean up.").out.strip()
    home.run("turns", "wait", sent, "--timeout", "0")
    person = Person("accept", answer="once")

    async def meddle() -> None:
        async with serving(home, "--allow", "send,approve", asks=person) as server:
            _, turn = await server.call("wait", turn=sent, wait_seconds=60)
            assert turn["status"] == "waiting"
            assert "was not sent by an MCP client" in await server.refused("cancel", turn=sent)
            _, own = await server.call("send", text="Clean up.", wait_seconds=0)
            assert (await server.call("cancel", turn=own["turn"]))[1]["status"] in {"cancelled", "running"}

    anyio.run(meddle)
    assert person.questions == []


def test_schedules_are_changed_where_that_is_allowed(home: Home) -> None:
    async def change() -> None:
        async with serving(home, "--allow", "schedules") as server:
            assert await server.tools() == [*READING, "change_schedules"]
            done, _ = await server.call("change_schedules", action="add", when="every day at 9", task="Look.")
            assert done.startswith("Added: ")
            _, listed = await server.call("schedules")
            (schedule,) = listed["schedules"]
            assert (schedule["task"], schedule["canonical"]) == ("Look.", "every day at 09:00")
            await server.call("change_schedules", action="remove", schedule=schedule["schedule"])
            assert (await server.call("schedules"))[1] == {"schedules": []}
            assert "was not understood" in await server.refused("change_schedules", action="add", when="soon")

    anyio.run(change)


def test_bad_requests_are_refused_with_the_reason(home: Home) -> None:
    async def ask() -> None:
        async with serving(home, "--allow", "send") as server:
            assert "tnone" in await server.refused("turn", turn="tnone")
            assert "snone" in await server.refused("send", text="Hi.", session="snone")
            assert "there is no folder" in await server.refused("send", text="Hi.", workdir="/no/such")
            assert "empty" in await server.refused("send", text=" ")
            assert "less than or equal to 600" in await server.refused("send", text="Hi.", wait_seconds=1e9)

    anyio.run(ask)
    assert home.run("turns", "list", "--json").json == []


def test_no_secret_is_returned(home: Home, model_server: ModelServer) -> None:
    home.path.mkdir()
    (home.path / ".env").write_text("OPENAI_API_KEY=sk-hunter2hunter2hunter2\n")
    (home.path / ".env").chmod(0o600)
    model_server.follow(Script(default=Answer(text="It is sk-hunter2hunter2hunter2.")))

    async def send() -> None:
        async with serving(home, "--allow", "send") as server:
            assert "hunter2" not in repr(await server.call("send", text="Which key is it?"))
            assert "hunter2" not in repr(await server.call("turns"))
            assert "hunter2" not in repr(await server.call("search_sessions", query="hunter2*"))

    del home.environ["OPENAI_API_KEY"]
    anyio.run(send)


def started(home: Home) -> subprocess.Popen[str]:
    """A server whose input stays open."""
    return subprocess.Popen(
        [sys.executable, "-m", "hermes_jobs", "mcp", "serve", "--allow", "send"],
        env=home.environ,
        cwd=home.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_standard_output_carries_only_messages_and_it_ends_with_its_input(home: Home) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "send", "arguments": {"text": "Hello."}}},
    ]
    with started(home) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for each in said:
            process.stdin.write(json.dumps({**each, "jsonrpc": "2.0"}) + "\n")
        process.stdin.flush()
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        rest, errors = process.communicate()
    assert [each["id"] for each in lines] == [1, 2]
    assert (rest, process.returncode) == ("", 0)
    assert "Traceback" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_although_its_input_is_open(home: Home, number: int, code: int) -> None:
    with started(home) as process:
        assert process.stderr is not None
        process.stderr.readline()  # its worker has begun
        process.send_signal(number)
        process.wait()
    assert process.returncode == code


@pytest.mark.parametrize(
    ("allow", "told"),
    [
        ("everything", "'everything' is none of send, schedules, approve."),
        ("approve", "--allow send,approve"),
    ],
)
def test_unknown_values_of_allow_are_refused(home: Home, allow: str, told: str) -> None:
    ran = home.run("mcp", "serve", "--allow", allow)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
