"""The web for people: pages that are made here, and work without script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hermes_jobs.features.serve import live
from hermes_jobs.features.serve.pages import (
    files,
    learned,
    overview,
    push,
    schedules,
    sessions,
    sign_in,
    turns,
    waiting,
)
from hermes_jobs.features.serve.pages.frame import STATIC
from hermes_jobs.features.serve.site import Part

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from hermes_jobs.features.serve.sign_in import Caller
    from hermes_jobs.features.serve.site import Site


def _routes(_site: Site) -> Sequence[BaseRoute]:
    tables = (
        waiting.ROUTES,
        files.ROUTES,
        learned.ROUTES,
        turns.ROUTES,
        sessions.ROUTES,
        schedules.ROUTES,
        overview.ROUTES,
        push.ROUTES,
        sign_in.ROUTES,
    )
    pages = [
        Route(path, _positioned(endpoint), methods=[method])
        for table in tables
        for (method, path), endpoint in table.items()
    ]
    pages.append(Route("/turns/{turn}/text", live.show))
    return [*pages, Mount("/static", StaticFiles(directory=STATIC))]


def _positioned(endpoint: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """The endpoint, whose page follows the log from where it was before the page was made."""

    def show(request: Request) -> Response:
        request.state.position = request.app.state.site.application.log.last_position()
        return endpoint(request)

    return show


def _identify(site: Site, connection: HTTPConnection) -> Caller | None:
    sign_in = site.sign_in
    return sign_in.caller(connection.cookies.get(sign_in.cookie), connection.headers)


PART = Part(prefixes=("/",), routes=_routes, identify=_identify, uploads=("/sessions",))
