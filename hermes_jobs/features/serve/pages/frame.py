"""What stands around every page, and what pages and acts have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hermes_jobs.errors import HermesJobsError, LogUnavailable, Rejected
from hermes_jobs.features.push import api as push
from hermes_jobs.interfaces.html.render import Frame, render
from hermes_jobs.text.figures import moment

if TYPE_CHECKING:
    from starlette.requests import Request

    from hermes_jobs.features.serve.sign_in import Caller
    from hermes_jobs.features.serve.site import Site

TEMPLATES = Path(__file__).parents[1] / "templates"
STATIC = Path(__file__).parents[1] / "static"
Table = Mapping[tuple[str, str], Callable[["Request"], Response]]
"""Pages and acts by their method and path."""
PLACES = {
    "/": "Waiting",
    "/turns": "Turns",
    "/sessions": "Sessions",
    "/schedules": "Schedules",
    "/triggers": "Triggers",
    "/inbox": "Inbox",
    "/memory": "Memory",
    "/skills": "Skills",
    "/reviews": "Reviews",
    "/usage": "Usage",
    "/queues": "Queues",
}


def site_of(request: Request) -> Site:
    """The site."""
    site: Site = request.app.state.site
    return site


def caller_of(request: Request) -> Caller:
    """Who asks; the gate has let nobody else in."""
    caller: Caller = request.state.caller
    return caller


def field(request: Request, name: str) -> str:
    """A text of the form; empty where it has none."""
    value = request.state.form.get(name, "")
    return value if isinstance(value, str) else ""


def frame(request: Request, *, live: str = "", acts: str = "", **values: Any) -> Frame:
    """The frame. `live`: the query of the events that change the page, or `all`. `acts`: a template above."""
    caller: Caller | None = request.state.caller
    around = {
        "places": PLACES if caller is not None else {},
        "here": request.url.path,
        "csrf": "" if caller is None else caller.csrf,
        "who": "" if caller is None else caller.name,
        "local": lambda at: _local(at, site_of(request).application.settings.zone),
        "live": live,
        "position": getattr(request.state, "position", ""),
        "acts": acts,
        "browsers": [] if caller is None else push.browsers(site_of(request).application),
        "has_workers": caller is None or site_of(request).application.workers.are_live(),
    }
    return Frame(TEMPLATES, {**around, **values})


def _local(at: str, zone: tzinfo | None) -> str:
    """A moment of the log in the home's zone."""
    return moment(datetime.fromisoformat(at).astimezone(zone))


def page(
    request: Request, template: str, title: str, *, status: int = 200, live: str = "", **values: Any
) -> Response:
    """A page of the template."""
    redact = site_of(request).redact
    text = render(template, redact, frame(request, live=live), title=title, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def done(path: str) -> Response:
    """An act has happened: its effect is at that path."""
    return RedirectResponse(path, 303)


def problem(request: Request, error: Exception) -> Response:
    """The page of an error, with what to do."""
    if isinstance(error, HTTPException):
        return page(request, "problem.html", "There is no such page.", status=error.status_code, hint="")
    assert isinstance(error, HermesJobsError), error
    kind = error.kind if isinstance(error, Rejected) else ""
    status = 404 if kind == "not_found" or kind.startswith("unknown_") else 409
    if isinstance(error, LogUnavailable):
        status = 503
    hint = getattr(error, "hint", "") or ""
    return page(request, "problem.html", getattr(error, "message", str(error)), status=status, hint=hint)
