"""Listeners of `/events` beside a plain starlette application: latency, and memory of the process.

    LISTENERS=200 python -m tests.benchmarks listeners

Each event is recorded (or posted) by this process; its latency at a listener counts from then. The plain
application sends what is posted to it to all listeners, and keeps nothing.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import psutil

from tests.home import Home

EVENTS = 30
PAUSE = 0.1  # seconds between two events
PLAIN = """
import asyncio, sys, uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
queues = set()
async def events(request):
    async def sent():
        queue = asyncio.Queue()
        queues.add(queue)
        while True:
            yield ServerSentEvent(await queue.get())
    return EventSourceResponse(sent())
async def post(request):
    text = (await request.body()).decode()
    for queue in queues:
        queue.put_nowait(text)
    return PlainTextResponse("ok")
app = Starlette(routes=[Route("/events", events), Route("/post", post, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
"""


def main() -> None:
    """Measure both, and print a line for each."""
    count = int(os.environ.get("LISTENERS", "200"))
    print(f"{count} listeners, {EVENTS} events, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    for name, measure in (("plain starlette", _plain), ("hermes-jobs serve", _serve)):
        asyncio.run(measure(name, count))


async def _plain(name: str, count: int) -> None:
    port = _free_port()
    process = subprocess.Popen([sys.executable, "-c", PLAIN, str(port)])  # noqa: ASYNC220
    url = f"http://127.0.0.1:{port}"
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def post(text: str) -> None:
                await session.post(f"{url}/post", data=text)

            await _measure(name, count, session, f"{url}/events", process.pid, post)
    finally:
        process.terminate()
        process.wait()


async def _serve(name: str, count: int) -> None:
    from hermes_jobs.client import Home as Client

    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder), {"OPENAI_BASE_URL": "http://127.0.0.1:9", "HERMES_JOBS_MODEL": "none"})
        key = home.run("keys", "add", "bench", "--scope", "read").out.strip()
        port = _free_port()
        command = [sys.executable, "-m", "hermes_jobs", "serve", "--port", str(port)]
        environ = {**os.environ, **home.environ}
        process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
        connector, headers = aiohttp.TCPConnector(limit=0), {"Authorization": f"Bearer {key}"}
        try:
            with Client(home.path, environ=home.environ) as client:
                async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

                    async def record(text: str) -> None:
                        await asyncio.to_thread(client.turns.submit, text)

                    await _measure(
                        name, count, session, f"http://127.0.0.1:{port}/events", process.pid, record
                    )
        finally:
            process.terminate()
            process.wait()


async def _measure(
    name: str,
    count: int,
    session: aiohttp.ClientSession,
    url: str,
    pid: int,
    send: Callable[[str], Awaitable[None]],
) -> None:
    await _until_served(session, url)
    await asyncio.sleep(2)
    idle = _memory(pid)
    sent: dict[str, float] = {}
    took: list[float] = []
    connected = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(_listen(session, url, sent, took, connected)) for _ in range(count)]
    for _ in range(count):
        await connected.acquire()
    await asyncio.sleep(2)
    for number in range(EVENTS):
        marker = f"event-{number:04d}"
        sent[marker] = time.perf_counter()
        await send(marker)
        await asyncio.sleep(PAUSE)
    await asyncio.wait(listeners, timeout=60)
    used = _memory(pid)
    for task in listeners:
        task.cancel()
    cuts = statistics.quantiles(took, n=100)
    print(
        f"{name:18} {len(took)}/{count * EVENTS} received; latency p50 {cuts[49] * 1000:.0f} ms, "
        f"p99 {cuts[98] * 1000:.0f} ms; memory {idle:.0f} MB idle, {used:.0f} MB with listeners"
    )


async def _listen(
    session: aiohttp.ClientSession,
    url: str,
    sent: dict[str, float],
    took: list[float],
    connected: asyncio.Semaphore,
) -> None:
    seen = 0
    async with session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as answer:
        connected.release()
        async for line in answer.content:
            text = line.decode()
            at = text.find("event-")
            if text.startswith("data:") and at >= 0 and (marker := text[at : at + 10]) in sent:
                took.append(time.perf_counter() - sent[marker])
                seen += 1
                if seen == EVENTS:
                    return


async def _until_served(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        try:
            async with session.get(url):
                return
        except aiohttp.ClientError:
            await asyncio.sleep(0.1)


def _memory(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
