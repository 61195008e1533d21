"""The part `/mcp` of `serve`: the MCP server over streamable HTTP, for programs with a key.

Each key has a server of its own, so that nobody finds the session of another one. The SDK is imported at the
first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from hermes_jobs.features.api import keys
from hermes_jobs.features.api.api import identify_by_key, key_of
from hermes_jobs.features.serve.api import Part

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from hermes_jobs.features.api.events import ApiKeyAdded
    from hermes_jobs.features.mcp.serve.requests import Requests
    from hermes_jobs.features.serve.api import Caller, Site

PATH = "/mcp"
MOST_SESSIONS = 100
"""Sessions of one key; each ends after half an hour without a request."""
ALLOWED = {"chat": "send", "manage": "schedules", "approve": "approve"}
"""What a scope beside `mcp` allows, as `mcp serve --allow` calls it."""


class _Door:
    """Takes requests, each to the server of its key."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._managers: dict[tuple[str, frozenset[str]], Any] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        connection = HTTPConnection(scope)
        origin = connection.headers.get("origin", "")
        if origin and origin.partition("://")[2].lower() != connection.headers["host"].lower():
            await PlainTextResponse("This request comes from another site.\n", 403)(scope, receive, send)
            return
        key = await run_in_threadpool(key_of, self._site, connection)
        if key is None:  # it was revoked since the gate
            await PlainTextResponse("The key is not in force.\n", 401)(scope, receive, send)
            return
        manager = await self._manager(key)
        await manager.handle_request(scope, receive, send)

    async def _manager(self, key: ApiKeyAdded) -> Any:
        """The SDK's session manager for the key, which is started where it does not run."""
        allowed = frozenset(name for scope, name in ALLOWED.items() if scope in key.scopes)
        async with self._starting:
            if (key.key, allowed) not in self._managers:
                manager = await run_in_threadpool(self._made, key, allowed)
                started = asyncio.Event()
                running = asyncio.create_task(_run(manager, started))
                self._running.add(running)
                await started.wait()
                self._managers[key.key, allowed] = manager
        return self._managers[key.key, allowed]

    def _made(self, key: ApiKeyAdded, allowed: frozenset[str]) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from hermes_jobs.features.mcp.serve.server import AgentServer

        server = AgentServer(self._requests(key), allowed).server
        return StreamableHTTPSessionManager(server._lowlevel_server, max_sessions=MOST_SESSIONS)  # noqa: SLF001

    def _requests(self, key: ApiKeyAdded) -> Requests:
        from hermes_jobs.features.mcp.serve.requests import NewSession, Requests

        application = self._site.application
        new = NewSession(application.settings.agent.workdir, None)

        def account() -> tuple[str, float | None]:
            now = keys.current(application, key)
            return keys.account_of(application, now), now.budget_usd

        return Requests(application, new, source=f"api:{key.key}", account=account)


async def _run(manager: Any, started: asyncio.Event) -> None:
    """Run the manager until the site ends."""
    async with manager.run():
        started.set()
        await asyncio.Event().wait()


def _routes(site: Site) -> Sequence[BaseRoute]:
    return [Route(PATH, _Door(site))]


def _identify(site: Site, connection: HTTPConnection) -> Caller | None:
    return identify_by_key(site, connection, "mcp")


PART = Part(prefixes=(PATH,), routes=_routes, identify=_identify)
"""Requests of MCP clients, with the scope `mcp`."""
