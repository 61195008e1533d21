"""Calls of a server's tools and reads of its resources and prompts, and its questions for the user meanwhile.

Runs in the connector, with the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.types import (
    CallToolResult,
    ElicitationRequiredErrorData,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    PaginatedRequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from hermes_jobs.features.mcp.elicitation import METHOD
from hermes_jobs.features.mcp.messages import AskNow, CallTool, InputRequired, Inquire, Inquiry
from hermes_jobs.features.mcp.server_process import StderrLog
from hermes_jobs.features.mcp.task_requests import TaskHandle, ask_about, cancel

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.caller import Caller

READS = frozenset({"read", "prompt"})
"""Requests other than calls in which a server may ask the user."""

CallResult: TypeAlias = CallToolResult | InputRequiredResult | TaskHandle


class NotAccepted(Exception):
    """The user declined an action that an older server requires before the call."""


class Calls:
    """All calls of one connection."""

    def __init__(self, log: StderrLog, hide: Callable[[bytes], bytes]) -> None:
        """`hide` removes secrets from questions."""
        self._log = log
        self._hide = hide
        self._open: list[_OpenCall] = []
        self._number = 0

    async def make(self, client: Client, call: CallTool, caller: Caller) -> CallResult:
        """Make the call; time spent on the user's answers does not count.

        Raises `TimeoutError`, `NotAccepted`, and the SDK's errors.
        """
        answers = _answers(client, call.answers)
        async with self._under_way(caller, seconds=call.timeout):
            return await _call_tool(client, call, answers, caller)

    async def inquire(self, client: Client, inquiry: Inquire, caller: Caller) -> bytes:
        """The answer as JSON; time spent on the user's answers does not count.

        Raises `WantsInput`, `TimeoutError`, `NotAccepted`, and the SDK's errors.
        """
        if inquiry.what not in READS:
            async with asyncio.timeout(inquiry.timeout):
                return await answer(client, inquiry, None)
        answers = _answers(client, inquiry.answers)
        async with self._under_way(caller, seconds=inquiry.timeout):
            return await answer(client, inquiry, {**answers} or None)

    @asynccontextmanager
    async def _under_way(self, caller: Caller, *, seconds: float) -> AsyncIterator[None]:
        """A request in which an older server may ask the user. Raises `TimeoutError`."""
        async with asyncio.timeout(seconds) as limit:
            call = _OpenCall(caller, limit)
            self._open.append(call)
            try:
                yield
            finally:
                self._open.remove(call)

    async def ask(self, _context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Ask the user a question of an older server, which does not say to which request it belongs."""
        if len(self._open) != 1:
            self._log.add(
                f"[hermes-jobs] it asks for input, and {len(self._open)} requests are under way: cancelled"
            )
            return ElicitResult(action="cancel")
        self._number += 1
        request = msgspec.json.encode({"method": METHOD, "params": _plain(params)})
        question = AskNow(key=str(self._number), request=self._hide(request))
        return ElicitResult.model_validate_json(await self._open[0].ask(question))


class _OpenCall:
    def __init__(self, caller: Caller, limit: asyncio.Timeout) -> None:
        self._caller = caller
        self._limit = limit
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, question: AskNow) -> bytes:
        """The answer; the call's time limit is paused."""
        now = asyncio.get_running_loop().time
        async with self._one_at_a_time:
            remaining = (self._limit.when() or now()) - now()
            self._limit.reschedule(None)
            answer = await self._caller.ask(question)
            self._limit.reschedule(now() + remaining)
            return answer


async def _call_tool(
    client: Client, call: CallTool, answers: dict[str, ElicitResult], caller: Caller
) -> CallResult:
    responses: InputResponses | None = {**answers} or None
    state, pause = call.state, FIRST_PAUSE

    async def told(progress: float, total: float | None, message: str | None) -> None:
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        await caller.tell(f"{far}: {message}" if message else far)

    while True:
        result = await client.session.call_tool(
            call.tool,
            msgspec.json.decode(call.arguments),
            progress_callback=told,
            input_responses=responses,
            request_state=state,
            allow_input_required=True,
            allow_claimed=True,
        )
        if isinstance(result, CallToolResult | TaskHandle):
            return result
        assert isinstance(result, InputRequiredResult), f"{type(result).__name__} was not claimed"
        if result.input_requests:
            return result
        responses, state = None, result.request_state
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def input_requests_of(result: InputRequiredResult) -> InputRequired:
    """The questions that a server returned instead of a result."""
    requests = {key: _plain(request) for key, request in (result.input_requests or {}).items()}
    return InputRequired(requests=msgspec.json.encode(requests), state=result.request_state)


def input_request_of_error(data: object) -> InputRequired | None:
    """The addresses that an older server requires to be visited before the call; None if there are none."""
    try:
        elicitations = ElicitationRequiredErrorData.model_validate(data).elicitations
    except ValidationError:
        return None
    requests = {
        elicitation.elicitation_id or str(number): {"method": METHOD, "params": _plain(elicitation)}
        for number, elicitation in enumerate(elicitations)
    }
    return InputRequired(requests=msgspec.json.encode(requests)) if requests else None


def _answers(client: Client, stored: bytes) -> dict[str, ElicitResult]:
    """The answers for the server. An older one requires the same request again after addresses were visited:
    raises `NotAccepted` if the user declined."""
    stored_answers: dict[str, Any] = msgspec.json.decode(stored) if stored else {}
    answers = {key: ElicitResult.model_validate(value) for key, value in stored_answers.items()}
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return answers
    if any(response.action != "accept" for response in answers.values()):
        raise NotAccepted
    return {}


def _plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


MAX_PAGES = 50
MAX_ENTRIES = 1_000
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds before a request is repeated if the server only requests its own state back."""


class WantsInput(Exception):
    """The server asks for input first."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__()
        self.result = result


async def read_all(page: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """The entries of all pages of a list, up to a limit, in the form of the specification."""
    items: list[Any] = []
    cursor = None
    for _ in range(MAX_PAGES):
        answer = await page(params=PaginatedRequestParams(cursor=cursor))
        items += [
            item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in getattr(answer, field)
        ]
        cursor = answer.next_cursor
        if cursor is None or len(items) >= MAX_ENTRIES:
            break
    return items[:MAX_ENTRIES]


async def answer(client: Client, inquiry: Inquire, responses: InputResponses | None) -> bytes:
    """The answer as JSON; `responses` are what the user answered before. Raises `WantsInput`, and the
    SDK's errors."""
    session, arguments = client.session, msgspec.json.decode(inquiry.arguments)
    if inquiry.what == "resources":
        if client.server_capabilities.resources is None:
            return b"{}"
        resources = await read_all(session.list_resources, "resources")
        templates = await read_all(session.list_resource_templates, "resource_templates")
        return msgspec.json.encode({"resources": resources, "templates": templates})
    if inquiry.what == "task":
        return await ask_about(client, arguments)
    if inquiry.what == "cancel_task":
        return await cancel(client, arguments)
    return await _read(client, inquiry.what, arguments, responses, inquiry.state)


async def _read(
    client: Client,
    what: Inquiry,
    arguments: Mapping[str, Any],
    responses: InputResponses | None,
    state: str | None,
) -> bytes:
    """A resource or a prompt."""
    pause = FIRST_PAUSE
    while True:
        before: Any = {
            "input_responses": responses,
            "request_state": state,
            "allow_input_required": True,
        }
        if what == "read":
            result = await client.session.read_resource(arguments["uri"], **before)
        else:
            result = await client.session.get_prompt(arguments["name"], arguments["arguments"], **before)
        if not isinstance(result, InputRequiredResult):
            content: bytes = result.model_dump_json(by_alias=True, exclude_none=True).encode()
            return content
        if result.input_requests:
            raise WantsInput(result)
        responses, state = None, result.request_state
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
