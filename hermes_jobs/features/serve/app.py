"""The site, made of its parts. A part is added by its line in `parts`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hermes_jobs.errors import HermesJobsError, LogUnavailable
from hermes_jobs.features.api.api import part
from hermes_jobs.features.mcp.serve.part import PART as MCP
from hermes_jobs.features.serve.feed import PING_SECONDS, SEND_SECONDS
from hermes_jobs.features.serve.gate import Gate
from hermes_jobs.features.serve.pages import PART as PAGES
from hermes_jobs.features.serve.pages.frame import problem
from hermes_jobs.features.triggers.hooks.part import PART as HOOKS
from hermes_jobs.interfaces.cli.output import event_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from hermes_jobs.features.serve.site import Part, Site


def parts() -> Sequence[Part]:
    """The parts of the site."""
    return (PAGES, HOOKS, MCP, part())


def make_app(site: Site) -> ASGIApp:
    """The site as an ASGI application."""
    own = [
        Route("/healthz", lambda _request: PlainTextResponse("ok\n")),
        Route("/readyz", _ready),
        Route("/metrics", _Metrics(site)),
        Route("/events", _events),
    ]
    routes = [route for part in parts() for route in part.routes(site)]
    app = Starlette(routes=[*own, *routes], exception_handlers={HermesJobsError: problem, 404: problem})
    app.state.site = site
    return Gate(app, site, parts())


def _ready(request: Request) -> Response:
    """Whether the log can be read."""
    site: Site = request.app.state.site
    try:
        site.application.log.last_position()
    except LogUnavailable:
        return PlainTextResponse("the log cannot be reached\n", 503)
    return PlainTextResponse("ready\n")


class _Metrics:
    """The metrics of the home, made on first use."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._registry: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.concurrency import run_in_threadpool

        text = await run_in_threadpool(self._text)
        await Response(text, media_type="text/plain; version=0.0.4")(scope, receive, send)

    def _text(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest

        from hermes_jobs.interfaces.cli.metrics import HomeMetrics

        if self._registry is None:
            self._registry = CollectorRegistry(auto_describe=False)
            self._registry.register(HomeMetrics(self._site.application))
        return generate_latest(self._registry)


async def _events(request: Request) -> Response:
    """New events as they are recorded, of all streams or one (`stream`), or of a turn (`turn`).

    Each has the log's position as its id; `Last-Event-ID`, or `after`, goes on behind one.
    """
    asked = request.headers.get("last-event-id") or request.query_params.get("after") or ""
    site: Site = request.app.state.site
    wanted = request.query_params
    after = int(asked) if asked.isdecimal() else None

    async def chosen() -> AsyncIterator[ServerSentEvent]:
        async for recorded in site.feed.events(after):
            is_of_turn = getattr(recorded.event, "turn", None) == wanted.get("turn")
            is_of_stream = wanted.get("stream", recorded.stream) == recorded.stream
            if is_of_stream and (is_of_turn or "turn" not in wanted):
                yield ServerSentEvent(site.redact(event_json(recorded).decode()), id=str(recorded.position))

    return EventSourceResponse(chosen(), ping=PING_SECONDS, send_timeout=SEND_SECONDS)
