"""Answers of a server that do not have the form of the specification, or that the server itself declared.

The SDK refuses a whole list for one wrong entry, and a whole result that does not fit its output schema. Here
wrong entries are taken out of a list before the SDK reads it, so that one malformed tool costs that tool
alone; and a result that does not fit is passed on with a note. Tools that the SDK itself drops (an invalid
`x-mcp-header`, a rule of 2026-07-28) are named here, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import msgspec
from mcp.client._transport import TransportStreams
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp.types.methods import parse_server_result
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.schemas import checkable, is_too_large
from hermes_jobs.text.json_schema import faults, schema_fault

FIELDS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The field of the answer to each method that holds its entries."""
CALL = "tools/call"


class MalformedEntries:
    """What was taken out of the lists of one connection, and the output schemas of its tools.

    `version` is the revision that was agreed on; `note` is called with a line for each entry.
    """

    def __init__(self, version: Callable[[], str], note: Callable[[str], None]) -> None:
        self._version = version
        self._note = note
        self._requests: dict[str, tuple[str, str]] = {}  # the method and the tool's name, by the request's id
        self._output: dict[str, str] = {}
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
        """Note which list a request asks for, and which tool it calls."""
        request = message.message
        if isinstance(request, JSONRPCRequest) and request.method in {*FIELDS, CALL}:
            name = str((request.params or {}).get("name", "")) if request.method == CALL else ""
            self._requests[str(request.id)] = request.method, name

    def received(self, message: SessionMessage | Exception) -> None:
        """Remove malformed entries from an answer, and note what is wrong with the result of a call."""
        answer = None if isinstance(message, Exception) else message.message
        if not isinstance(answer, JSONRPCResponse | JSONRPCError):
            return
        method, tool = self._requests.pop(str(answer.id), ("", ""))
        if isinstance(answer, JSONRPCResponse):
            if method == CALL:
                self._check_result(tool, answer.result)
            elif method:
                self._filter_entries(method, answer.result)

    def _check_result(self, tool: str, result: dict[str, Any]) -> None:
        """Add a note to a result that does not fit its tool's output schema."""
        content = result.get("content")
        if not isinstance(content, list) or result.get("isError") is True:
            return
        structured = result.get("structuredContent")
        if self._version() not in MODERN_PROTOCOL_VERSIONS and not isinstance(structured, dict | None):
            content.append({"type": "text", "text": msgspec.json.encode(structured).decode()})
            del result["structuredContent"]
        schema = self._output.get(tool)
        if schema is not None and (wrong := _misfit(schema, structured)):
            content.append({"type": "text", "text": MISFIT.format(reason=wrong)})

    def _filter_entries(self, method: str, result: dict[str, Any]) -> None:
        field = FIELDS[method]
        entries = result.get(field)
        if not isinstance(entries, list):
            return
        rest, valid = {**result, field: []}, []
        if method == "tools/list":
            entries = [self._without_output(_with_object(entry)) for entry in entries]
        for number, entry in enumerate(entries, 1):
            wrong = self._what_is_wrong(method, {**rest, field: [entry]})
            if wrong:
                self._leave_out(method, _name_of(entry) or f"number {number} of the list", wrong)
            else:
                valid.append(entry)
        result[field] = valid

    def _without_output(self, entry: Any) -> Any:
        """The entry without its output schema, which is remembered if results can be checked by it."""
        if not isinstance(entry, dict) or "outputSchema" not in entry:
            return entry
        schema = checkable(entry["outputSchema"])
        if isinstance(schema, dict) and not is_too_large(schema):
            self._output[str(entry.get("name"))] = msgspec.json.encode(schema).decode()
        return {name: value for name, value in entry.items() if name != "outputSchema"}

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
    """A `ReadStream` whose answers lack malformed entries, and have notes."""

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
    """A `WriteStream` that notes the requested lists and calls."""

    async def send(self, item: SessionMessage, /) -> None:
        self._entries.sent(item)
        await self._inner.send(item)


MISFIT = "[Note of hermes-jobs: this result does not have the form that the server declares for it: {reason}]"


def _misfit(schema: str, structured: object) -> str:
    """What is wrong with a structured result; "" if it fits the schema."""
    if structured is None:
        return "it has no structured content"
    if fault := schema_fault(schema):
        return f"its schema cannot be used, {fault}"
    return "; ".join(faults(schema, msgspec.json.encode(structured).decode()))


def _with_object(entry: Any) -> Any:
    """A tool whose arguments are an object although its schema does not say so."""
    schema = entry.get("inputSchema") if isinstance(entry, dict) else None
    if not isinstance(schema, dict):
        return entry
    kind = schema.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        return {**entry, "inputSchema": {**schema, "type": "object"}}
    return entry


def _name_of(entry: object) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return clean(name)[:128] if isinstance(name, str) else ""


def validation_message(error: ValidationError, *, skip: int = 0) -> str:
    """The error of an answer with its place, without the first `skip` steps of the path."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = clean(".".join(map(str, first["loc"][skip:])))[:200]
    message = f"{place}: {first['msg']}" if place else first["msg"]
    return f"it does not have the form that the specification demands ({message})"
