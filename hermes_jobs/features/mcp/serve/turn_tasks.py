"""A `send` of `mcp serve` as a task, for clients with tasks: the turn's id is the handle.

Nothing is stored here: a task's state is its turn's state in the log, so a handle is valid for ever, and
for every `mcp serve` of the home. Source: the extension `io.modelcontextprotocol/tasks` of the specification
of 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from anyio import to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ElicitResult, RequestParams
from mcp.types.jsonrpc import INVALID_PARAMS

from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.features.mcp.serve import forms
from hermes_jobs.features.mcp.serve.elicitations import elicitation, modes, result_of
from hermes_jobs.features.mcp.serve.requests import Requests
from hermes_jobs.kernel.turns.submitted import Submitted

ACTIVE_STATUSES = frozenset({"queued", "running", "waiting"})
POLL_MS = 1_000  # between two polls of the client
P = ParamSpec("P")
T = TypeVar("T")


class TaskParams(RequestParams):  # type: ignore[misc]
    """The task; with `tasks/update` the answers to its questions."""

    task_id: str
    input_responses: dict[str, ElicitResult] | None = None


class TurnTasks(Extension):  # type: ignore[misc]
    """Tasks over `requests`. `can_ask`: clients may answer questions of turns."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, requests: Requests, *, can_ask: bool) -> None:
        self._requests = requests
        self._asks = can_ask

    def methods(self) -> Sequence[MethodBinding]:
        """See the base class."""
        handlers = (("tasks/get", self._get), ("tasks/update", self._update), ("tasks/cancel", self._cancel))
        return [MethodBinding(name, TaskParams, handler) for name, handler in handlers]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Turn a `send` with a running turn into a task; other calls are unchanged."""
        result = await call_next(ctx)
        if params.name != "send" or not isinstance(result, CallToolResult) or not self._is_known_to(ctx):
            return result
        content = result.structured_content or {}
        if content.get("status") not in ACTIVE_STATUSES or content.get("questions"):
            return result
        return {"resultType": "task", **await self._do(self._state, str(content["turn"]), frozenset())}

    def _is_known_to(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        capabilities = ctx.session.client_capabilities
        return capabilities is not None and self.identifier in (capabilities.extensions or {})

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        can = modes(ctx.session.client_capabilities) if self._asks else frozenset[forms.Mode]()
        return await self._do(self._state, params.task_id, can)

    async def _update(self, _ctx: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        if self._asks:
            await self._do(self._answer, params.task_id, params.input_responses or {})
        return {}

    async def _cancel(self, _ctx: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        await self._do(self._requests.cancel, params.task_id)
        return {}

    def _state(self, task: str, can: frozenset[forms.Mode]) -> dict[str, Any]:
        """The task's state, in the form of the extension; `can`: the client's elicitation modes."""
        submitted = self._own(task)
        reply = self._requests.turn(submitted.turn)
        created, times = self._requests.times(submitted)
        state: dict[str, Any] = {"taskId": submitted.turn, "createdAt": created, "lastUpdatedAt": times}
        state |= {"ttlMs": None, "pollIntervalMs": POLL_MS}
        if reply.value["status"] == "cancelled":
            return {**state, "status": "cancelled", "statusMessage": reply.text}
        if reply.value["status"] not in ACTIVE_STATUSES:
            result = result_of(reply).model_dump(mode="json", by_alias=True, exclude_none=True)
            return {**state, "status": "completed", "result": result}
        requests = {
            question.id: elicitation(question, self._requests.question_text(question)).model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
            for question in self._requests.watch(submitted).poll().questions
            if forms.form_mode(question) in can
        }
        if requests:
            return {**state, "status": "input_required", "inputRequests": requests}
        return {**state, "status": "working", "statusMessage": reply.text}

    def _answer(self, task: str, answers: Mapping[str, ElicitResult]) -> None:
        """Record the answers. Questions with a late or invalid answer are repeated at the next poll."""
        submitted = self._own(task)
        for question in self._requests.watch(submitted).poll().questions:
            response = answers.get(question.id)
            if response is not None:
                self._requests.answer(submitted, question, response.action, response.content)

    def _own(self, task: str) -> Submitted:
        """The turn of a task. Raises `Rejected`."""
        submitted = self._requests.find(task)
        if not self._requests.is_own(submitted):
            raise Rejected(f"Turn {submitted.turn} was not sent by an MCP client.", kind="usage")
        return submitted

    async def _do(self, act: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call the function in a thread. Raises `MCPError` with the error."""
        try:
            return await to_thread.run_sync(partial(act, *arguments, **named))
        except (Rejected, HermesJobsError) as error:
            raise MCPError(code=INVALID_PARAMS, message=self._requests.redact(str(error))) from error
