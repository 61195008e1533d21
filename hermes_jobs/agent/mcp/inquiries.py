"""What a server is asked besides its tools: its resources and prompts. Runs in the connector, by the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from mcp.client.client import Client
from mcp.types import InputRequiredResult, PaginatedRequestParams

from hermes_jobs.agent.mcp.messages import Inquire
from hermes_jobs.agent.mcp.task_requests import ask_about, cancel

MAX_PAGES = 50
MAX_ENTRIES = 1_000


class WantsInput(Exception):
    """The server asks for input first."""


async def every(page: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    """The entries of all pages of a list, as far as there is a limit, in the form of the specification."""
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


async def answer(client: Client, asked: Inquire) -> bytes:
    """The answer as JSON. Raises `WantsInput`, and what the SDK raises."""
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
    if asked.what == "read":
        found = await session.read_resource(given["uri"], allow_input_required=True)
    else:
        found = await session.get_prompt(given["name"], given["arguments"], allow_input_required=True)
    if isinstance(found, InputRequiredResult):
        raise WantsInput
    content: bytes = found.model_dump_json(by_alias=True, exclude_none=True).encode()
    return content
