"""Signing in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from hermes_jobs.features.serve.pages.frame import Table, done, field, page, site_of
from hermes_jobs.features.serve.sign_in import COOKIE_SECONDS

if TYPE_CHECKING:
    from starlette.requests import Request


def show(request: Request) -> Response:
    """Sign in by a link, else ask for the password."""
    sign_in = site_of(request).sign_in
    link = request.query_params.get("link")
    if link is not None and (cookie := sign_in.use_link(link)) is not None:
        return _signed_in(request, cookie)
    wrong = "This link has been used, or is too old." if link is not None else ""
    return _ask(request, wrong, 403 if wrong else 200)


def take_password(request: Request) -> Response:
    """Sign in by a password."""
    sign_in = site_of(request).sign_in
    cookie = sign_in.use_password(field(request, "password")) if sign_in.takes_password else None
    if cookie is None:
        return _ask(request, "This password is wrong.", 403)
    return _signed_in(request, cookie)


def leave(request: Request) -> Response:
    """Forget the cookie in this browser."""
    answer = done("/sign-in")
    answer.delete_cookie(site_of(request).sign_in.cookie)
    return answer


def _ask(request: Request, wrong: str, status: int) -> Response:
    asks = site_of(request).sign_in.takes_password
    return page(request, "sign_in.html", "Sign in", status=status, wrong=wrong, asks=asks)


def _signed_in(request: Request, cookie: str) -> Response:
    answer = RedirectResponse("/", 303)
    is_secure = request.headers.get("origin", "").startswith("https:")
    answer.set_cookie(
        site_of(request).sign_in.cookie,
        cookie,
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=is_secure,
    )
    return answer


ROUTES: Table = {
    ("GET", "/sign-in"): show,
    ("POST", "/sign-in"): take_password,
    ("POST", "/sign-out"): leave,
}
