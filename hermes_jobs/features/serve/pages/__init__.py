"""The web for people: pages that are made here, and work without script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hermes_jobs.features.serve.pages import overview, schedules, sessions, sign_in, turns, waiting
from hermes_jobs.features.serve.site import Part

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.routing import BaseRoute

    from hermes_jobs.features.serve.sign_in import Caller
    from hermes_jobs.features.serve.site import Site

STATIC = Path(__file__).parents[1] / "static"


def _routes(_site: Site) -> Sequence[BaseRoute]:
    tables = (
        waiting.ROUTES,
        turns.ROUTES,
        sessions.ROUTES,
        schedules.ROUTES,
        overview.ROUTES,
        sign_in.ROUTES,
    )
    pages = [
        Route(path, endpoint, methods=[method])
        for table in tables
        for (method, path), endpoint in table.items()
    ]
    return [*pages, Mount("/static", StaticFiles(directory=STATIC))]


def _identify(site: Site, connection: HTTPConnection) -> Caller | None:
    sign_in = site.sign_in
    return sign_in.caller(connection.cookies.get(sign_in.cookie), connection.headers)


PART = Part(prefixes=("/",), routes=_routes, identify=_identify)
