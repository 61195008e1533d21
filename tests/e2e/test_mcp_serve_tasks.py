"""`mcp serve` before clients that know tasks: a `send` that takes long is one, its handle the turn's id."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from hermes_jobs.features.mcp.task_requests import TaskHandle, TasksExtension, ask_about, cancel
from tests.e2e.test_mcp_serve import CLEANING, Person
from tests.home import Home
from tests.model_script import Hold, Script
from tests.model_server import PATIENCE, ModelServer

pytestmark = pytest.mark.slow  # two processes that import the SDK


class TaskClient:
    """A client that knows tasks."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def send(self, text: str, wait_seconds: float = 0) -> str:
        """The handle of a text that was sent."""
        given = {"text": text, "wait_seconds": wait_seconds}
        found = await self.client.session.call_tool("send", given, allow_claimed=True)
        assert isinstance(found, TaskHandle), found
        return str(found.task_id)

    async def state(self, task: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await ask_about(self.client, {"taskId": task, **more}))
        return found

    async def until_not(self, status: str, task: str) -> dict[str, Any]:
        """How it stands when that is not its state any more."""
        with anyio.fail_after(PATIENCE):
            while (found := await self.state(task))["status"] == status:
                pass
        return found


@asynccontextmanager
async def serving(home: Home, allow: str, asks: Person | None = None) -> AsyncIterator[TaskClient]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_jobs", "mcp", "serve", "--allow", allow],
        env=dict(home.environ),
        cwd=home.work,
    )
    extensions = [TasksExtension()]
    with (home.path.parent / "serve.err").open("a") as errors:
        transport = stdio_client(command, errlog=errors)
        async with Client(transport, elicitation_callback=asks, extensions=extensions, cache=None) as client:
            yield TaskClient(client)


def test_a_text_that_takes_long_is_a_task(home: Home, model_server: ModelServer) -> None:
    model_server.follow(Script(default=Hold()))

    async def send() -> None:
        async with serving(home, "send") as server:
            task = await server.send("Take your time.")
            stands = await server.state(task)
            assert (stands["status"], stands["taskId"]) == ("working", task)
            model_server.release()
            ended = await server.until_not("working", task)
            assert ended["status"] == "completed"
            assert ended["result"]["structuredContent"]["result"] == "Released."
            assert home.turn(task)["result"] == "Released."

    anyio.run(send)


def test_a_task_is_cancelled_and_one_of_others_is_unknown(home: Home, model_server: ModelServer) -> None:
    own = home.send("Hello.")["turn"]
    model_server.follow(Script(default=Hold()))

    async def send() -> None:
        async with serving(home, "send") as server:
            task = await server.send("Take your time.")
            await cancel(server.client, {"taskId": task})
            assert (await server.until_not("working", task))["status"] == "cancelled"
            assert (await server.state(own))["status"] == "unknown"
            assert (await server.state("tnone"))["status"] == "unknown"

    anyio.run(send)


def test_a_question_of_a_task_is_answered_at_the_next_poll(home: Home, model_server: ModelServer) -> None:
    (home.work / "build").mkdir()
    model_server.follow(CLEANING)

    async def send() -> None:
        async with serving(home, "send,approve", Person("accept", answer="once")) as server:
            task = await server.send("Clean up.")
            asked = await server.until_not("working", task)
            ((key, request),) = asked["inputRequests"].items()
            assert "rm -r build" in request["params"]["message"]
            answer = {"action": "accept", "content": {"answer": "once"}}
            await server.state(task, answers={key: answer})
            with anyio.fail_after(PATIENCE):
                while (ended := await server.state(task))["status"] != "completed":
                    pass
            assert ended["result"]["structuredContent"]["result"] == "Clean."

    anyio.run(send)
    assert not (home.work / "build").exists()
