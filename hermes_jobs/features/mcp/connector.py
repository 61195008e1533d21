"""The connector of one MCP server: starts or reaches it, and passes on the calls of all workers of this host.

Forked by `connector_host`; it prints `listening` when workers can connect to `FOLDER/socket`. It is a
separate process, so that workers share one server, do not import the SDK, and read only bounded replies of a
server.

It stops the server and ends when no worker holds it, when it was idle for a while, and when the server has
ended. `FOLDER/ended.json` has the reason.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.features.mcp.caller import Caller
from hermes_jobs.features.mcp.messages import (
    LENGTH,
    MAX_FRAME,
    AnswerNow,
    CallTool,
    ConnectorEnd,
    Failed,
    Hold,
    Inquire,
    Launch,
    Reply,
    Request,
    decode_request,
)
from hermes_jobs.features.mcp.server_process import ServerProcess, StderrLog
from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.process_identity import kill, marked

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.connection import ServerConnection

FIRST_HOLDER_SECONDS = 15.0  # seconds without a holder after its start
NOTICE_SECONDS = 3.0
LINGER_SECONDS = 0.5  # seconds without a holder later
TICK = 0.25
ENDING_SECONDS = 25.0  # seconds for the previous connector to stop its server
MARK = "HERMES_JOBS_MCP"
"""Set in the environment of a server and its child processes: the folder of its connector."""


def run(launch: Launch) -> None:
    """Serve until a reason to end occurs."""
    folder = Path(launch.folder)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not locked(lock):
        return  # another connector serves
    kill(marked(MARK, launch.folder))  # of a server that was killed together with its supervisor
    asyncio.run(_serve(launch, StderrLog(folder / "stderr.log", launch.secrets)))
    kill(marked(MARK, launch.folder))


def locked(lock: int) -> bool:
    """Wait for a connector that is ending; whether it has ended."""
    give_up = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.02)
        else:
            return True


async def _serve(launch: Launch, log: StderrLog) -> None:
    """Start the server and forward calls to it."""
    process = None
    if launch.command:
        try:
            process = ServerProcess(_with_mark(launch), log)
        except (OSError, ValueError) as error:
            failure = f"{launch.command} could not be started: {getattr(error, 'strerror', None) or error}"
            await Connector(launch, log, failed=failure).serve()
            return
    try:
        await Connector(launch, log, process=process).serve()
    finally:
        if process is not None:
            await asyncio.get_running_loop().run_in_executor(None, process.stop)


def _with_mark(launch: Launch) -> Launch:
    return msgspec.structs.replace(launch, env={**launch.env, MARK: launch.folder})


class Connector:
    """Serves the workers' connections, and decides when to end."""

    def __init__(
        self, launch: Launch, log: StderrLog, *, process: ServerProcess | None = None, failed: str = ""
    ) -> None:
        """`failed`: why the server could not be started."""
        self._launch = launch
        self._log = log
        self._process = process
        self._failed = failed
        self._holds = 0
        self._calls = 0
        self._unheld_since = time.monotonic() + FIRST_HOLDER_SECONDS - LINGER_SECONDS
        self._last_call = self._started_at = time.monotonic()
        self._notified = asyncio.Event()
        self._stopping = asyncio.Event()
        self._address = str(Path(launch.folder, "socket"))
        self._connection: ServerConnection
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Listen, connect to the server, and forward calls until a reason to end occurs."""
        listener = listen(Path(self._launch.folder), "socket")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stopping.set)
        os.write(1, b"listening\n")
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        accepting = asyncio.create_task(self._accept(listener))
        connection = connection_class()(  # its import continues beside the server's own start
            self._launch, self._log, self._process, failed=self._failed, on_failure=self._on_failure
        )
        self._connection = connection
        self._last_call = time.monotonic()
        connecting = asyncio.create_task(connection.run())
        reason = await self._until_over()
        if (
            connection.failed is not None
        ):  # while it listens: the process that has started it may not have sent its request yet
            await self._until_answered()
        with suppress(OSError):
            os.unlink(self._address)  # noqa: PTH108 - at once
        listener.close()
        accepting.cancel()
        if connection.failed is None:
            self._record(reason, well=True)
        connection.close()
        await asyncio.gather(accepting, connecting, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _until_over(self) -> str:
        """Wait until there is a reason to end, and return it."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), TICK)
            now = time.monotonic()
            if self._stopping.is_set():
                return "it was told to end"
            if self._holds == 0 and self._calls == 0 and now - self._unheld_since > LINGER_SECONDS:
                return "no worker wanted it"
            if self._calls == 0 and now - self._last_call > self._launch.idle_seconds:
                return "nothing was called"

    def _on_failure(self, failed: Failed) -> None:
        """The server cannot be used, or has failed. The reason is recorded before callers are notified."""
        at_once = failed.kind in ("login", "ended")  # after a login, and in a new session
        self._record(failed.message, well=at_once)
        self._stopping.set()

    def _record(self, reason: str, *, well: bool) -> None:
        lived = time.monotonic() - self._started_at
        ended = ConnectorEnd(at=time.time(), lived=lived, why=reason, well=well, stderr=self._log.tail)
        write_bytes(Path(self._launch.folder, "ended.json"), msgspec.json.encode(ended), durable=False)

    async def _until_answered(self) -> None:
        """Wait until all pending requests are answered with the failure."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTICE_SECONDS):
                await self._notified.wait()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                worker, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many files are open
                self._log.add(f"[hermes-jobs] a connection could not be taken: {error!r}")
                await asyncio.sleep(TICK)
                continue
            task = asyncio.create_task(self._worker(worker))
            self._tasks.add(task)
            task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.add(f"[hermes-jobs] a request has failed: {task.exception()!r}")

    async def _worker(self, worker: socket.socket) -> None:
        """Serve one connection. An invalid one is closed without a reply, and logged."""
        with worker:
            worker.setblocking(False)
            try:
                request, lease = await asyncio.wait_for(_first(worker), 10)
            except (OSError, msgspec.DecodeError, asyncio.IncompleteReadError) as error:
                self._log.add(f"[hermes-jobs] a request could not be read: {error!r}")
                return
            try:
                if isinstance(request, AnswerNow) or request.token != self._launch.token:
                    self._log.add("[hermes-jobs] a request without the right token was refused")
                    return
                with suppress(OSError):
                    await self._request(Caller(worker, lease), request)
            finally:
                if lease >= 0:
                    os.close(lease)

    async def _request(self, caller: Caller, request: Request) -> None:
        ended = asyncio.create_task(caller.wait_until_closed())
        try:
            if isinstance(request, Hold):
                self._holds += 1
                try:
                    await ended
                finally:
                    self._holds -= 1
                    self._unheld_since = time.monotonic()
                return
            work = asyncio.create_task(self._reply(caller, request))
            await asyncio.wait({ended, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                return
            await caller.reply(work.result())
            if self._calls == 0:
                self._notified.set()
        finally:
            ended.cancel()
            await asyncio.gather(ended, return_exceptions=True)

    async def _reply(self, caller: Caller, request: Request) -> Reply:
        self._calls += 1
        try:
            if isinstance(request, Inquire):
                return await self._connection.inquire(request, caller)
            if not isinstance(request, CallTool):
                return await self._connection.list_tools()

            call = asyncio.create_task(self._connection.call(request, caller))
            while not call.done():
                await asyncio.wait({call}, timeout=1.0)
                if not call.done() and not caller.may_act:
                    call.cancel()
                    await asyncio.gather(call, return_exceptions=True)
                    return Failed(kind="lease", message="the worker may not act any more", sent=True)
            return call.result()
        finally:
            self._calls -= 1
            self._last_call = time.monotonic()


def connection_class() -> type[ServerConnection]:
    """Import the class of connections, and with it the SDK. The garbage collector is off meanwhile, and skips
    the imported objects later: it would take a fifth of the time."""
    gc.disable()
    try:
        from hermes_jobs.features.mcp.connection import ServerConnection
    finally:
        gc.enable()
    gc.freeze()
    return ServerConnection


def listen(folder: Path, name: str) -> socket.socket:
    """A socket in that folder, after `chdir`: an address has at most 100 characters."""
    (folder / name).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(folder)
    try:
        listener.bind(name)
    finally:
        os.chdir("/")
    (folder / name).chmod(0o600)
    listener.listen(256)
    listener.setblocking(False)
    return listener


async def _first(worker: socket.socket) -> tuple[Request, int]:
    """The request of a connection, and the descriptor that came with it, or -1."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()

    def ready() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(worker.fileno(), ready)
    try:
        await readable
    finally:
        loop.remove_reader(worker.fileno())
    data, descriptors, _, _ = socket.recv_fds(worker, 1 << 16, 1)
    lease = descriptors[0] if descriptors else -1
    head = bytearray(data)
    while len(head) < LENGTH.size or len(head) < LENGTH.size + min(LENGTH.unpack_from(head)[0], MAX_FRAME):
        chunk = await loop.sock_recv(worker, 1 << 20)
        if not chunk:
            raise asyncio.IncompleteReadError(bytes(head), None)
        head += chunk
    return decode_request(bytes(head[LENGTH.size :])), lease
