"""The protocol's extension for tasks, in which servers continue calls; the SDK does not have it.

Source: the extension `io.modelcontextprotocol/tasks` of the specification of 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, Request, RequestParams, Result
from mcp.types.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

UNKNOWN = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND})
"""Error codes for an unknown task: the server was restarted, or has forgotten it."""


class TaskHandle(Result):  # type: ignore[misc]
    """Instead of a result: the server continues in a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str = "working"
    status_message: str | None = None
    poll_interval_ms: float | None = None


class _Task(Result):  # type: ignore[misc]
    """The state of a task, with its result, its error, or its questions."""

    task_id: str
    status: str
    status_message: str | None = None
    poll_interval_ms: float | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


class _TaskParams(RequestParams):  # type: ignore[misc]
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: dict[str, Any]


class _GetTask(Request[_TaskParams, Literal["tasks/get"]]):  # type: ignore[misc]
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskParams


class _CancelTask(Request[_TaskParams, Literal["tasks/cancel"]]):  # type: ignore[misc]
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: _TaskParams


class _UpdateTask(Request[_UpdateParams, Literal["tasks/update"]]):  # type: ignore[misc]
    name_param: ClassVar[str | None] = "taskId"
    method: Literal["tasks/update"] = "tasks/update"
    params: _UpdateParams


class TasksExtension(ClientExtension):  # type: ignore[misc]
    """Announces to servers that calls may become tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """See the base class."""
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=_unresolved),)


async def _unresolved(_handle: TaskHandle, _context: ClaimContext) -> CallToolResult:
    raise AssertionError("the connector passes the handle on")


async def ask_about(client: Client, metadata: Mapping[str, Any]) -> bytes:
    """The state of the task as JSON, `unknown` if the server has none; first it gets the `answers`.

    Raises what the SDK raises.
    """
    task, answers = metadata["taskId"], metadata.get("answers")
    try:
        if answers:
            params = _UpdateParams(task_id=task, input_responses=answers)
            await client.session.send_request(_UpdateTask(params=params), Result)
        task_state = await client.session.send_request(_GetTask(params=_TaskParams(task_id=task)), _Task)
    except MCPError as error:
        if error.error.code not in UNKNOWN:
            raise
        return msgspec.json.encode({"status": "unknown", "statusMessage": error.error.message})
    return plain(task_state)


async def cancel(client: Client, metadata: Mapping[str, Any]) -> bytes:
    """Cancel the task. Raises the SDK's errors."""
    params = _TaskParams(task_id=metadata["taskId"])
    await client.session.send_request(_CancelTask(params=params), Result)
    return msgspec.json.encode({})


def plain(model: Result) -> bytes:
    """The model as JSON in the form of the specification."""
    content: bytes = model.model_dump_json(by_alias=True, exclude_none=True).encode()
    return content
