"""Entries of a server's lists that do not have the form of the specification.

The SDK refuses a whole list for one wrong entry. Here such entries are taken out of the answer before the SDK
reads it, so that one malformed tool costs that tool alone. Tools that the SDK itself drops (an invalid
`x-mcp-header`, a rule of 2026-07-28) are named here, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

from mcp.client._transport import TransportStreams
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp.types.methods import parse_server_result
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from hermes_jobs.agent.mcp.catalogue import clean
from hermes_jobs.agent.mcp.schemas import checkable, is_too_large

FIELDS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The field of the answer to each method that holds its entries."""


class MalformedEntries:
    """What was taken out of the lists of one connection.

    `version` is the revision that was agreed on; `note` is called with a line for each entry.
    """

    def __init__(self, version: Callable[[], str], note: Callable[[str], None]) -> None:
        self._version = version
        self._note = note
        self._requests: dict[str, str] = {}
        self._tools: list[tuple[str, str]] = []

    def pop_tools(self) -> tuple[tuple[str, str], ...]:
        """The names of tools removed since the last call, each with the error."""
        tools, self._tools = self._tools, []
        return tuple(tools)

    @asynccontextmanager
    async def without_malformed(
        self, transport: AbstractAsyncContextManager[TransportStreams]
    ) -> AsyncIterator[TransportStreams]:
        """The transport whose answers lack such entries."""
        async with transport as (incoming, outgoing):
            yield _Incoming(incoming, self), _Outgoing(outgoing, self)

    def sent(self, message: SessionMessage) -> None:
        """Note which list a request asks for."""
        request = message.message
        if isinstance(request, JSONRPCRequest) and request.method in FIELDS:
            self._requests[str(request.id)] = request.method

    def received(self, message: SessionMessage | Exception) -> None:
        """Remove malformed entries from an answer."""
        answer = None if isinstance(message, Exception) else message.message
        if not isinstance(answer, JSONRPCResponse | JSONRPCError):
            return
        method = self._requests.pop(str(answer.id), None)
        if method is not None and isinstance(answer, JSONRPCResponse):
            self._filter_entries(method, answer.result)

    def _filter_entries(self, method: str, result: dict[str, Any]) -> None:
        field = FIELDS[method]
        entries = result.get(field)
        if not isinstance(entries, list):
            return
        rest, valid = {**result, field: []}, []
        for number, entry in enumerate(entries, 1):
            wrong = self._what_is_wrong(method, {**rest, field: [entry]})
            if wrong:
                self._leave_out(method, _name_of(entry) or f"number {number} of the list", wrong)
            else:
                valid.append(_with_checkable_output(entry))
        result[field] = valid

    def _leave_out(self, method: str, name: str, wrong: str) -> None:
        self._note(f"[hermes-jobs] left out of {method}: {name}: {wrong}")
        if method == "tools/list":
            self._tools.append((name, wrong))

    def _what_is_wrong(self, method: str, alone: dict[str, Any]) -> str:
        """The error of the only entry of a list; "" if it is valid."""
        try:
            parse_server_result(method, self._version(), alone)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            inside = first["loc"][:1] == (FIELDS[method],)
            return (
                validation_message(error, skip=2) if inside else ""
            )  # else the list itself is wrong: the SDK reports it
        except KeyError:
            return ""  # the revision has no such list
        if method == "tools/list" and self._version() in MODERN_PROTOCOL_VERSIONS:
            return clean(find_invalid_x_mcp_header(alone["tools"][0].get("inputSchema")) or "")[:300]
        return ""


class _Stream:
    """One direction of a transport, which ends with `async with` as the SDK requires."""

    def __init__(self, inner: Any, entries: MalformedEntries) -> None:
        self._inner = inner
        self._entries = entries

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class _Incoming(_Stream):
    """A `ReadStream` whose answers lack malformed entries."""

    @property
    def last_context(self) -> Any:
        """The context of the sender, which the SDK looks for."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._seen(await self._inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._seen(await self._inner.__anext__())

    def _seen(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        self._entries.received(message)
        return message


class _Outgoing(_Stream):
    """A `WriteStream` that notes the requested lists."""

    async def send(self, item: SessionMessage, /) -> None:
        self._entries.sent(item)
        await self._inner.send(item)


def _with_checkable_output(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry of a tool whose results the SDK can check in little time, and else does not check."""
    schema = checkable(entry.get("outputSchema"))
    if schema is None:
        return entry
    rest = {name: value for name, value in entry.items() if name != "outputSchema"}
    return rest if is_too_large(schema) else {**rest, "outputSchema": schema}


def _name_of(entry: object) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return clean(name)[:128] if isinstance(name, str) else ""


def validation_message(error: ValidationError, *, skip: int = 0) -> str:
    """The error of an answer with its place, without the first `skip` steps of the path."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = clean(".".join(map(str, first["loc"][skip:])))[:200]
    message = f"{place}: {first['msg']}" if place else first["msg"]
    return f"it does not have the form that the specification demands ({message})"
