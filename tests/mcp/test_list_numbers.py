"""The time to live of a server's lists."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.server import Server, ServerRequestContext
from mcp.types import ListToolsResult, PaginatedRequestParams, Tool

from hermes_jobs.features.mcp.calls import read_all
from hermes_jobs.features.mcp.list_number import MAX_SECONDS, MIN_SECONDS, ListNumber
from tests.manual_clock import ManualClock

HOUR = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def listed(clock: ManualClock, *pages: int | None, mode: Any = "auto") -> ListNumber:
    """The number after a server of the SDK has listed its tools in pages with these `ttlMs`."""

    async def list_tools(
        _context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        at = int(params.cursor or 0) if params is not None else 0
        following = str(at + 1) if at + 1 < len(pages) else None
        tool = Tool(name=f"tool{at}", input_schema={"type": "object"})
        ttl = pages[at]
        if ttl is None:
            return ListToolsResult(tools=[tool], next_cursor=following)
        return ListToolsResult(tools=[tool], next_cursor=following, ttl_ms=ttl)

    async def ask() -> ListNumber:
        number = ListNumber(clock)
        async with Client(Server("paged", on_list_tools=list_tools), mode=mode, cache=None) as client:
            found = await read_all(number.observed(client.session.list_tools), "tools")
        assert len(found) == len(pages)
        return number

    return asyncio.run(ask())


def test_the_number_changes_once_when_the_time_of_the_shortest_page_has_passed(clock: ManualClock) -> None:
    number = listed(clock, 2 * HOUR, HOUR)
    clock.moment += 3599
    assert number.current == 0
    clock.moment += 1
    assert number.current == 1
    clock.moment += 86_400
    assert number.current == 1


def test_lists_that_are_requested_again_have_their_time_again(clock: ManualClock) -> None:
    number = listed(clock, HOUR)
    number.restart()
    clock.moment += 3600
    assert number.current == 0


@pytest.mark.parametrize("ttl", [0, None])
def test_a_server_that_gives_no_time_is_not_asked_again_at_each_call(
    clock: ManualClock, ttl: int | None
) -> None:
    number = listed(clock, ttl)
    clock.moment += 1_000_000
    assert number.current == 0


def test_a_server_of_the_older_era_gives_no_time(clock: ManualClock) -> None:
    number = listed(clock, HOUR, mode="legacy")
    clock.moment += 1_000_000
    assert number.current == 0


@pytest.mark.parametrize(("ttl", "seconds"), [(1, MIN_SECONDS), (10**400, MAX_SECONDS)])
def test_the_time_has_limits(clock: ManualClock, ttl: int, seconds: float) -> None:
    number = listed(clock, ttl)
    clock.moment += seconds - 1
    assert number.current == 0
    clock.moment += 1
    assert number.current == 1
