"""What a call of an MCP server's tool costs: `python -m tests.benchmarks mcp`.

Baselines of the same run: the bare SDK, which starts the same server and calls the same tool; turns that read
a file in the place of the call. What workers hold is their proportional set size.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import psutil
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from hermes_jobs.features.mcp.messages import CallTool, Launch, Result
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.runtime.broker_address import find_server
from tests.benchmarks.many_turns import crew_on
from tests.benchmarks.turns import many, model_server, turn_time, waiter
from tests.faults.crew import Crew
from tests.soak.vitals import MB

FIRST = 7
IDLE_LOOKS = 5
WARM = 100
TURNS = 200
ROUNDS = 5
SMALL = Path(__file__).parents[1] / "mcp" / "server.py"
MODERN = Path(__file__).parents[1] / "mcp" / "modern_server.py"
TEXT = {"text": "hello"}
SCRIPT = {
    "rules": [
        {
            "contains": text,
            "actions": [{"do": "answer", "tool_calls": [call]}, {"do": "answer", "text": "Done."}],
        }
        for text, call in (
            ("call the server", {"name": "test__echo", "arguments": TEXT}),
            ("read the file", {"name": "read_file", "arguments": {"path": "etc/hostname"}}),
        )
    ],
    "default": {"do": "answer", "text": "Hello."},
}


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, server, tool, arguments in (
            ("a server that needs no imports", [sys.executable, "-I", "-S", str(SMALL)], "echo", TEXT),
            ("a server by the SDK", [sys.executable, str(MODERN)], "add", {"a": 1, "b": 2}),
        ):
            show_calls(folder, title, server, tool, arguments)
        with model_server(folder, SCRIPT) as base_url:
            show_turns(folder, base_url)


# --- calls ------------------------------------------------------------------------------------------


def show_calls(folder: Path, title: str, command: list[str], tool: str, arguments: Mapping[str, Any]) -> None:
    """First and warm calls, each after the same by the bare SDK."""
    environ = {"PATH": os.environ["PATH"], "MCP_TEST": str(folder)}
    launch = Launch(
        server="test", folder="", token="", command=command[0], args=tuple(command[1:]), env=environ, cwd="/"
    )
    encoded = json.dumps(dict(arguments)).encode()
    bare: tuple[list[float], list[float]] = ([], [])
    ours: tuple[list[float], list[float]] = ([], [])
    of_all, prepared, beside = [], [], []
    for _ in range(FIRST):
        beside.append(asyncio.run(bare_calls(command, environ, tool, dict(arguments)))[0])
        of_all.append(first_of_all(launch, tool, encoded))
        prepared.append(first_of_all(launch, tool, encoded, prepare=True))
    with tempfile.TemporaryDirectory() as run, held(run) as servers:
        list(our_calls(servers, launch, tool, encoded, 2))
        for at in range(FIRST):
            start, warm = asyncio.run(bare_calls(command, environ, tool, dict(arguments)))
            bare[0].append(start)
            bare[1].extend(warm)
            other = launch_with(launch, AT=str(at))  # another environment is another server
            ours[0].extend(our_calls(servers, other, tool, encoded, 1))
            ours[1].extend(our_calls(servers, other, tool, encoded, WARM))
    print(f"{title}, ms: median (least to most)")
    show("  its start and a call, bare SDK", bare[0])
    show("  the first call of the server", ours[0], bare[0])
    show("  the first call of all, for which the SDK is imported", of_all, beside)
    show("  the first call of a home whose worker is ready", prepared, beside)
    show("  a warm call, bare SDK", bare[1])
    show("  a warm call", ours[1], bare[1])


def first_of_all(launch: Launch, tool: str, arguments: bytes, *, prepare: bool = False) -> float:
    """Seconds of the first call of a home; with `prepare` after a worker has imported the SDK ahead of it."""
    with tempfile.TemporaryDirectory() as run, held(run) as servers:
        if prepare:
            servers.prepare()
            until_idle(run)
        (seconds,) = our_calls(servers, launch, tool, arguments, 1)
    return seconds


def until_idle(run: str) -> None:
    """Wait until the process from which connectors are forked has imported the SDK: it uses no CPU time."""
    used, times = -1.0, 0
    while times < IDLE_LOOKS:
        time.sleep(0.1)
        found = [each for each in psutil.process_iter(["cmdline"]) if run in (each.info["cmdline"] or ())]
        now = sum(sum(each.cpu_times()[:2]) for each in found)
        times = times + 1 if found and now == used else 0
        used = now


def launch_with(launch: Launch, **environ: str) -> Launch:
    """The same server with more in its environment."""
    return msgspec.structs.replace(launch, env={**launch.env, **environ})


@contextmanager
def held(folder: str) -> Iterator[Servers]:
    """The servers of one worker."""
    servers = Servers(Path(folder))
    try:
        yield servers
    finally:
        servers.close()


async def bare_calls(
    command: list[str], environ: dict[str, str], tool: str, arguments: dict[str, Any]
) -> tuple[float, list[float]]:
    """Seconds from the start of the server to the result of a first call, and of warm ones."""
    begun = time.perf_counter()
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=environ, cwd="/")
    async with Client(parameters, cache=None) as client:
        await client.session.list_tools()
        await client.call_tool(tool, arguments)
        start = time.perf_counter() - begun
        warm = []
        for _ in range(WARM):
            begun = time.perf_counter()
            await client.call_tool(tool, arguments)
            warm.append(time.perf_counter() - begun)
    return start, warm


def our_calls(servers: Servers, launch: Launch, tool: str, arguments: bytes, times: int) -> Iterator[float]:
    """Seconds of calls through the connector."""
    for _ in range(times):
        begun = time.perf_counter()
        call = CallTool(tool=tool, arguments=arguments, timeout=60.0)
        reply = servers.call(launch, call, CancelToken())
        assert isinstance(reply, Result), reply
        yield time.perf_counter() - begun


def show(name: str, seconds: list[float], beside: list[float] | None = None) -> None:
    """One line; `beside`: what it is compared with."""
    each = [1000 * second for second in seconds]
    more = "" if beside is None else f"   {median(each) - 1000 * median(beside):+8.2f} ms beside the bare SDK"
    print(f"{name:<54}{median(each):>9.2f} ({min(each):.2f} to {max(each):.2f}){more}")


# --- turns ------------------------------------------------------------------------------------------


def show_turns(folder: Path, base_url: str) -> None:
    """Turns on two workers that call one server, beside turns that read a file, and what workers hold."""
    served = folder / "served"
    served.mkdir()
    entry = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SMALL)],
        "env": {"MCP_TEST": str(served)},
        "writable": [str(served)],
        "trusted": True,
    }
    with crew_on(folder / "plain", find_server(), base_url, 2) as plain:
        took = turns_of(plain, "read the file")
        print(f"{TURNS} turns on two workers of a home without servers, each reads a file: {told(took)}")
        print(f"  the workers hold {memory(plain)} MB")
    with crew_on(folder / "mcp", find_server(), base_url, 2, mcp_servers=json.dumps({"test": entry})) as crew:
        took = turns_of(crew, "read the file")
        print(f"the same in a home with a server: {told(took)}; the workers hold {memory(crew)} MB")
        took = turns_of(crew, "call the server")
        print(f"{TURNS} turns, each calls the server: {told(took)}; the workers hold {memory(crew)} MB")
        engine = crew.application.engine("bench")
        for text in ("read the file", "call the server"):
            one = [turn_time(engine, waiter(engine), text) for _ in range(40)]
            print(f"  one turn at a time, {text}: {1000 * median(one):.1f} ms")
        ended = [each.event for each in crew.log.tail(0, 1_000_000)]
        failed = sum(isinstance(each, e.TurnFailed) for each in ended)
        wrong = sum(isinstance(each, e.ToolFinished) and not each.ok for each in ended)
        calls = len((served / "calls").read_text().splitlines())
        starts = len((served / "starts").read_text().splitlines())
        print(f"  {calls} calls, {starts} server process(es), {failed} failed turns, {wrong} failed calls")


def turns_of(crew: Crew, text: str) -> list[float]:
    """Seconds of rounds of turns at once, after one that warms up."""
    engine = crew.application.engine("bench")
    many(engine, TURNS, text)
    return [many(engine, TURNS, text) for _ in range(ROUNDS)]


def told(seconds: list[float]) -> str:
    """Seconds of rounds in words."""
    each = 1000 * median(seconds) / TURNS
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), {each:.1f} ms each"


def memory(crew: Crew) -> str:
    """What each worker holds, in MB. Raises RuntimeError where one has ended: a zombie holds nothing."""
    workers = crew.processes()
    ended = [worker.pid for worker in workers if worker.status() == psutil.STATUS_ZOMBIE]
    if ended:
        raise RuntimeError(f"{len(ended)} of {len(workers)} workers have ended")
    return " and ".join(str(worker.memory_full_info().pss // MB) for worker in workers)


if __name__ == "__main__":
    main()
