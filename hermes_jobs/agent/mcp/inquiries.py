"""Requests to a server besides tool calls: resources and prompts. Runs in the connector, with the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from mcp.client.client import Client
from mcp.types import InputRequiredResult, InputResponses, PaginatedRequestParams

from hermes_jobs.agent.mcp.messages import Inquire, Inquiry
from hermes_jobs.agent.mcp.task_requests import ask_about, cancel

MAX_PAGES = 50
MAX_ENTRIES = 1_000
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds before a request is repeated if the server only wants its own state back."""


class WantsInput(Exception):
    """The server asks for input first."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__()
        self.result = result


async def every(page: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """The entries of all pages of a list, up to a limit, in the form of the specification."""
    found: list[Any] = []
    cursor = None
    for _ in range(MAX_PAGES):
        answer = await page(params=PaginatedRequestParams(cursor=cursor))
        found += [
            each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in getattr(answer, field)
        ]
        cursor = answer.next_cursor
        if cursor is None or len(found) >= MAX_ENTRIES:
            break
    return found[:MAX_ENTRIES]


async def answer(client: Client, asked: Inquire, responses: InputResponses | None) -> bytes:
    """The answer as JSON; `responses` are what the user answered before. Raises `WantsInput`, and the
    SDK's errors."""
    session, given = client.session, msgspec.json.decode(asked.arguments)
    if asked.what == "resources":
        if client.server_capabilities.resources is None:
            return b"{}"
        resources = await every(session.list_resources, "resources")
        templates = await every(session.list_resource_templates, "resource_templates")
        return msgspec.json.encode({"resources": resources, "templates": templates})
    if asked.what == "task":
        return await ask_about(client, given)
    if asked.what == "cancel_task":
        return await cancel(client, given)
    return await _read(client, asked.what, given, responses, asked.state)


async def _read(
    client: Client,
    what: Inquiry,
    given: Mapping[str, Any],
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
            found = await client.session.read_resource(given["uri"], **before)
        else:
            found = await client.session.get_prompt(given["name"], given["arguments"], **before)
        if not isinstance(found, InputRequiredResult):
            content: bytes = found.model_dump_json(by_alias=True, exclude_none=True).encode()
            return content
        if found.input_requests:
            raise WantsInput(found)
        responses, state = None, found.request_state
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
