"""A connector's connection to its server, using the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    Implementation,
    InputRequiredResult,
    PromptListChangedNotification,
    ToolListChangedNotification,
)
from mcp.types.jsonrpc import URL_ELICITATION_REQUIRED
from pydantic import ValidationError

from hermes_jobs import __version__
from hermes_jobs.features.mcp.bearer import Bearer
from hermes_jobs.features.mcp.calls import (
    Calls,
    NotAccepted,
    WantsInput,
    input_request_of_error,
    input_requests_of,
    read_all,
)
from hermes_jobs.features.mcp.failures import FAILURES, describe_failure, error_text, first_cause
from hermes_jobs.features.mcp.http_client import Exchange, HttpFailure, ServerClient
from hermes_jobs.features.mcp.list_number import ListNumber
from hermes_jobs.features.mcp.logins import LoginFile
from hermes_jobs.features.mcp.malformed import MalformedEntries
from hermes_jobs.features.mcp.messages import (
    CallTool,
    Failed,
    InputRequired,
    Inquire,
    Launch,
    Offer,
    Reply,
    Result,
    TaskCreated,
)
from hermes_jobs.features.mcp.pipes import MAX_LINE, pipes
from hermes_jobs.features.mcp.server_process import ServerProcess, StderrLog
from hermes_jobs.features.mcp.task_requests import TaskHandle, TasksExtension, plain

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.caller import Caller


class ServerConnection:
    """One server, from its start to its end. `failed`: why it did not start, or has ended."""

    def __init__(
        self,
        launch: Launch,
        log: StderrLog,
        process: ServerProcess | None,
        *,
        on_failure: Callable[[Failed], None],
        failed: str = "",
    ) -> None:
        """`on_failure` is called when `failed` is set."""
        self._launch = launch
        self._log = log
        self._process = process
        self._calls = Calls(log, self._hidden)
        self._noise: list[str] = []
        self._loss = ""
        self._client: Client | None = None
        self._malformed = MalformedEntries(self._version, log.add)
        self._bearer = (
            Bearer(launch.server, launch.url, LoginFile(Path(launch.login))) if launch.login else None
        )
        self._lists = ListNumber()
        self._is_new = True  # its offer was not requested yet
        self._listed = asyncio.Event()
        self._closing = asyncio.Event()
        self._on_failure = on_failure
        self._start = Exchange()
        self.failed: Failed | None = None
        if failed:
            self._end("start", failed)

    async def run(self) -> None:
        """Connect, and stay connected until `close`; errors are in `failed`."""
        if self.failed is not None:
            self._listed.set()
            return
        self._start = Exchange.begin()
        try:
            async with self._transport() as transport:
                await self._connected(self._malformed.without_malformed(transport))
        except Exception as error:  # noqa: BLE001 - any error of a server is reported to the caller
            if not self._closing.is_set():
                self._fail(first_cause(error))
        finally:
            self._client = None
            self._listed.set()

    async def _connected(self, transport: Any) -> None:
        info = Implementation(name="hermes-jobs", version=__version__)
        async with asyncio.timeout(self._launch.start_timeout) as limit:
            async with Client(
                transport,
                client_info=info,
                message_handler=self._on_message,
                elicitation_callback=self._calls.ask,
                extensions=[TasksExtension()],
                cache=None,
            ) as client:
                self._client = client
                self._offer = await self._list(client)
                limit.reschedule(None)
                self._listed.set()
                await self._closing.wait()

    def close(self) -> None:
        """End the connection."""
        self._closing.set()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._process is not None:
            yield pipes(self._process.stdin, self._process.stdout, self._note, self._ended)
            return
        limits = httpx2.Timeout(30.0, read=None)
        headers = {"Accept-Encoding": "identity", **self._launch.headers}
        async with ServerClient(headers=headers, timeout=limits, auth=self._bearer) as http:
            yield streamable_http_client(self._launch.url, http_client=http, max_sse_event_size=MAX_LINE)

    def _note(self, line: str) -> None:
        """A line on stdout that is not a message."""
        if len(self._noise) < 10:
            self._noise.append(line)
            self._log.add(f"[on stdout, and no message] {line}")

    def _ended(self, reason: str) -> None:
        """The pipes have ended."""
        if self._closing.is_set():
            return
        if not reason and self._process is not None:
            reason = self._process.how_it_ended()
        self._loss = reason
        if self._listed.is_set() and self.failed is None:
            self._end("lost", reason)

    def _fail(self, error: BaseException) -> None:
        http_trouble = self._start.trouble if not self._listed.is_set() else None
        if http_trouble is not None:
            is_told = http_trouble.kind in ("login", "scope", "refused")
            self._end(http_trouble.kind if is_told else "start", http_trouble.text)
            return
        if self._loss:
            reason = f"{self._loss}, before it had listed its tools"
        elif isinstance(error, TimeoutError):
            reason = f"the server did not list its tools within {self._launch.start_timeout:g} s"
        else:
            kind, text = describe_failure(error)
            reason = f"no connection: {text}" if kind == "refused" else text
        if self._noise:
            reason += f"; it wrote to stdout what is not a message, such as {self._noise[0][:100]!r}"
        self._end("lost" if self._listed.is_set() else "start", reason)

    def _end(self, kind: Any, message: str) -> None:
        self.failed = self._failed(kind, message)
        self._on_failure(self.failed)

    def _failed(self, kind: Any, message: str, *, sent: bool = False) -> Failed:
        return Failed(kind=kind, message=message, stderr=self._log.tail, sent=sent)

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification | PromptListChangedNotification):
            self._lists.change()

    def _version(self) -> str:
        """The revision of the specification that was agreed on; "" before that."""
        return (self._client.protocol_version if self._client is not None else "") or ""

    async def _list(self, client: Client) -> Offer:
        self._lists.restart()
        tools = []
        if client.server_capabilities.tools is not None:
            tools = await read_all(self._lists.observed(client.session.list_tools), "tools")
        prompts = []
        if client.server_capabilities.prompts is not None:
            try:
                prompts = await read_all(self._lists.observed(client.session.list_prompts), "prompts")
            except (MCPError, ValidationError) as error:  # its tools are of use without them
                self._log.add(f"[hermes-jobs] its prompts could not be listed: {error_text(error)}")
        server = client.server_info
        return Offer(
            prompts=msgspec.json.encode(prompts),
            tools=msgspec.json.encode(tools),
            protocol=client.protocol_version or "",
            version=f"{server.name} {server.version}".strip() if server is not None else "",
            instructions=client.instructions or "",
            malformed=self._malformed.pop_tools(),
        )

    async def _ready(self) -> Client | Failed:
        await self._listed.wait()
        if self.failed is not None:
            is_lost = self.failed.kind == "lost"
            return msgspec.structs.replace(self.failed, kind="ended") if is_lost else self.failed
        if self._client is None:
            return self._failed("ended", "the connection was closed")
        return self._client

    async def list_tools(self) -> Reply:
        """The server's current tools and prompts. A server need not say that its lists have changed, so each
        call asks again, except the first one after the start while the lists are the first ones."""
        client = await self._ready()
        if isinstance(client, Failed):
            return client
        if not self._is_new or self._lists.current:
            exchange = Exchange.begin()
            try:
                async with asyncio.timeout(self._launch.start_timeout):
                    self._offer = await self._list(client)
            except (MCPError, ValidationError, TimeoutError) as error:
                return self._read_failure(error, exchange, self._launch.start_timeout)
            finally:
                exchange.end()
        self._is_new = False
        return self._offer

    async def call(self, tool_call: CallTool, caller: Caller) -> Reply:
        """Call a tool, if the caller's lease is valid at that moment. Cancelling the task cancels the
        server's call."""
        client = await self._ready()
        if isinstance(client, Failed):
            return client
        if not await caller.begin():
            return Failed(kind="lease", message="the worker may not act any more")
        exchange = Exchange.begin()
        try:
            result = await self._calls.make(client, tool_call, caller)
        except FAILURES as error:
            return self._failure(error, exchange, tool_call.timeout, repeatable=tool_call.repeatable)
        finally:
            exchange.end()
        if isinstance(result, InputRequiredResult):
            return self._without_tokens(input_requests_of(result))
        if isinstance(result, TaskHandle):
            return TaskCreated(content=plain(result))
        content = self._hidden(result.model_dump_json(by_alias=True, exclude_none=True).encode())
        if len(content) > MAX_LINE:
            return self._failed("too_large", f"its result is larger than {MAX_LINE >> 20} MiB", sent=True)
        return Result(content=content, listing=self._lists.current)

    async def inquire(self, inquiry: Inquire, caller: Caller) -> Reply:
        """Request something other than a tool call. Cancelling the task cancels the server's request."""
        client = await self._ready()
        if isinstance(client, Failed):
            return client
        exchange = Exchange.begin()
        try:
            content = self._hidden(await self._calls.inquire(client, inquiry, caller))
        except WantsInput as wants:
            return self._without_tokens(input_requests_of(wants.result))
        except FAILURES as error:
            return self._read_failure(error, exchange, inquiry.timeout)
        finally:
            exchange.end()
        if len(content) > MAX_LINE:
            return self._failed("too_large", f"its answer is larger than {MAX_LINE >> 20} MiB")
        return Result(content=content, listing=self._lists.current)

    def _hidden(self, content: bytes) -> bytes:
        """The content without the tokens of the login."""
        return content if self._bearer is None else self._bearer.hide(content)

    def _troubled(self, http_trouble: HttpFailure, exchange: Exchange, *, repeatable: bool) -> Failed:
        """The failure of a call whose HTTP request has failed. An expired session ends the connection."""
        if http_trouble.expired and self.failed is None:
            self._end("ended", http_trouble.text)
        if exchange.is_answered:
            return self._failed("lost", http_trouble.text, sent=True)
        if http_trouble.expired and not repeatable:
            reason = f"{http_trouble.text}; the call was not made, and the next one begins another"
            return self._failed("refused", reason)
        return self._failed(http_trouble.kind, http_trouble.text, sent=http_trouble.sent)

    def _without_tokens(self, request: InputRequired) -> InputRequired:
        return msgspec.structs.replace(request, requests=self._hidden(request.requests))

    def _read_failure(self, error: Exception, exchange: Exchange, timeout: float) -> Reply:
        """The failure of a request that changes nothing."""
        failure = self._failure(error, exchange, timeout, repeatable=True)
        return msgspec.structs.replace(failure, sent=False) if isinstance(failure, Failed) else failure

    def _failure(self, error: Exception, exchange: Exchange, timeout: float, *, repeatable: bool) -> Reply:
        """The failure of a call without a result."""
        match error:
            case MCPError() if exchange.trouble is not None:
                return self._troubled(exchange.trouble, exchange, repeatable=repeatable)
            case TimeoutError():
                return self._failed("timeout", f"the server gave no answer within {timeout:g} s", sent=True)
            case NotAccepted():
                return self._failed("asks", "the user did not agree to visit the address that it needs")
            case MCPError() if error.error.code == URL_ELICITATION_REQUIRED:
                request = input_request_of_error(error.error.data)
                return (
                    self._failed("refused", error_text(error))
                    if request is None
                    else self._without_tokens(request)
                )
            case MCPError() if self._loss:  # servers use the code of a closed connection elsewhere, too
                return self._failed("lost", f"{self._loss}, during the call", sent=True)
            case MCPError():
                kind, reason = describe_failure(error)
                return self._failed(kind, reason, sent=kind != "refused")
            case RuntimeError() | ValidationError():
                return self._failed("bad_result", error_text(error), sent=True)
            case _:
                return self._failed("lost", error_text(error), sent=True)
