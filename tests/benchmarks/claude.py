"""What Claude's adapter costs beside the bare client: `python -m tests.benchmarks claude`.

Both ask the same server on loopback in turn, in one process: the client's own `messages.create`, streamed,
with the very body that the adapter makes; and the adapter, from a thread, as the engine asks. Beside it: how
much of a tool loop of five rounds and the turn after it is read from the cache, by the server's own count.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import anthropic

from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import ModelRequest, ToolSpec
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.llm.anthropic.request import RequestOptions, request_body
from hermes_jobs.llm.client import AnthropicModel
from tests.home import Home
from tests.llm.asking import nothing
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.providers.anthropic_server import AnthropicServer

CALLS = 200
ROUNDS = 20  # of tools in the history
KEY = "sk-ant-0123456789"


def main() -> None:
    """Print the table."""
    server = AnthropicServer(lambda seen: Answer(text="word " * 200)).start()
    bare, ours = _measured(server)
    server.close()
    print(f"{'median of ' + str(CALLS):<44}{'ms':>9}{'overhead':>11}{'ratio':>8}")
    print(f"{'bare client, streamed':<44}{bare:>9.2f}")
    print(f"{'through the adapter':<44}{ours:>9.2f}{ours - bare:>11.2f}{ours / bare:>8.2f}")
    print(f"\n{'input read from the cache after the first request':<55}{_share_read():>7.1%}")


def _measured(server: AnthropicServer) -> tuple[float, float]:
    """Milliseconds a call of each. They are asked in turn, so that both see the same machine."""
    request = _request()
    body = request_body(request, RequestOptions(), lambda payload, before: True)
    model = AnthropicModel(api_key=KEY, base_url=server.base_url)
    times: dict[str, list[float]] = {"bare": [], "ours": []}
    with asyncio.Runner() as runner:
        client = anthropic.AsyncAnthropic(
            api_key=KEY, base_url=server.base_url, http_client=anthropic.DefaultAioHttpClient()
        )
        ways: dict[str, Callable[[], Any]] = {
            "bare": lambda: runner.run(_bare(client, body)),
            "ours": lambda: model.reply(request, CancelToken(), nothing),
        }
        for number in range(CALLS + 20):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                if number >= 20:  # after the connections are made
                    times[name].append((time.perf_counter() - began) * 1000)
        runner.run(client.close())
    model.close()
    return median(times["bare"]), median(times["ours"])


async def _bare(client: anthropic.AsyncAnthropic, body: dict[str, Any]) -> int:
    said = 0
    async for event in await client.messages.create(**body):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            said += len(event.delta.text)
    return said


def _request() -> ModelRequest:
    history: list[Message] = [UserMessage("Look.")]
    for number in range(ROUNDS):
        call = ToolCall(f"toolu_{number}", "look", '{"path": "a.txt"}')
        history += [AssistantMessage("I look.", (call,)), ToolMessage(call.id, "look", "line\n" * 200)]
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return ModelRequest(
        model="claude-sonnet-4-5",
        system_prompt="Be kind. " * 200,
        messages=tuple(history),
        tools=tuple(ToolSpec(name, f"Does {name}.", schema) for name in ("look", "write", "run")),
    )


def _share_read() -> float:
    rounds = (*(Answer(tool_calls=(AskedCall("terminal", {"command": "true"}),)) for _ in range(5)),)
    server = AnthropicServer(Script(rules=(Rule("five", (*rounds, Answer(text="Done."))),))).start()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.base_url})
        home.send("-m", "claude-sonnet-4-5", "five")
        home.send("-c", "And thanks")
    server.close()
    assert not server.violations
    return server.share_read


if __name__ == "__main__":
    main()
