"""“Notify this browser”: what its script asks for, and the script that shows notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import FileResponse, JSONResponse, Response

from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.features.push import api
from hermes_jobs.features.serve.pages.frame import STATIC, Table, caller_of, field, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request


def show_worker(_request: Request) -> Response:
    """The service worker: at this path, so that it is one for the whole site."""
    return FileResponse(STATIC / "push-worker.js", media_type="text/javascript")


def give_key(request: Request) -> str:
    """The public key of the home, which is made on first use."""
    return api.public_key(site_of(request).application)


def subscribe(request: Request) -> str:
    """Notify the browser that asks; its id."""
    given = api.Subscription(field(request, "endpoint"), field(request, "p256dh"), field(request, "auth"))
    return api.subscribe(site_of(request).application, given, caller_of(request).name)


def unsubscribe(request: Request) -> str:
    """Notify the browser no more; its id, also where it was removed before."""
    browser = request.path_params["browser"]
    try:
        api.unsubscribe(site_of(request).application, browser, caller_of(request).name)
    except Rejected as rejected:
        if rejected.kind != "unknown_browser":
            raise
    return str(browser)


def _said(act: Callable[[Request], str]) -> Callable[[Request], Response]:
    """The act for a script: `said`, or `error` in words."""

    def answer(request: Request) -> Response:
        try:
            return JSONResponse({"said": act(request)})
        except HermesJobsError as error:
            return JSONResponse({"error": str(error)}, 409)

    return answer


ROUTES: Table = {
    ("GET", "/push-worker.js"): show_worker,
    ("POST", "/push/key"): _said(give_key),
    ("POST", "/push"): _said(subscribe),
    ("POST", "/push/{browser}/remove"): _said(unsubscribe),
}
