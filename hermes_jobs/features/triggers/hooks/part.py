"""The part `/hooks/NAME` of `serve`: a signed request fires a trigger, once for each delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.features.api.api import identify_by_key
from hermes_jobs.features.serve.api import Caller, Part
from hermes_jobs.features.triggers import api
from hermes_jobs.features.triggers.events import Hook, TriggerPlan
from hermes_jobs.features.triggers.hooks.keys import home_key
from hermes_jobs.features.triggers.hooks.payloads import Payload
from hermes_jobs.features.triggers.hooks.signatures import delivery_id, derived_secret
from hermes_jobs.features.triggers.tables import select_plan
from hermes_jobs.text.moments import iso

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request
    from starlette.routing import BaseRoute

    from hermes_jobs.features.serve.api import Site

MOST_BYTES = 1_000_000
"""Bytes of a body, as of what `trigger` reads."""
ID_CHARS = 200
ANYBODY = Caller("hook")
"""What is not signed is refused once its body is there."""
CLOSED = TriggerPlan(text="")
REFUSED = "The signature is wrong, or there is no such hook."


class _Hooks:
    """Takes requests. One at a time is recorded: the others wait without a thread."""

    def __init__(self, site: Site) -> None:
        self._application = site.application
        self._engine = site.application.engine()
        self._recording = asyncio.Lock()

    async def __call__(self, request: Request) -> Response:
        body = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        is_signed = request.state.caller == ANYBODY
        accept = partial(self._accept, request.path_params["name"], headers, body, is_signed=is_signed)
        async with self._recording:
            status, answer = await run_in_threadpool(accept)
        return JSONResponse(answer, status)

    def _accept(
        self, name: str, headers: dict[str, str], body: bytes, *, is_signed: bool
    ) -> tuple[int, dict[str, Any]]:
        """The status of the answer, and its body."""
        try:
            return self._checked(name, headers, body, is_signed=is_signed)
        except LogUnavailable as error:
            return 503, {"error": str(error)}
        except Rejected as rejected:
            return 409, {"error": rejected.message}

    def _checked(
        self, name: str, headers: dict[str, str], body: bytes, *, is_signed: bool
    ) -> tuple[int, dict[str, Any]]:
        plan = self._application.views.read(select_plan, name) or CLOSED
        hook = plan.hook or Hook(salt="")
        key = home_key(self._application)
        # A hook that is missing is compared, too: an answer does not tell whether there is one.
        secret = derived_secret(key, name, hook.salt)
        delivery = delivery_id(secret, headers, body, self._application.clock.now())
        if not is_signed:
            delivery = headers.get("x-delivery", "")
        if delivery is None or not key or not hook.salt:
            return 401, {"error": REFUSED}
        if len(delivery) > ID_CHARS:
            return 400, {"error": f"The id of a delivery has at most {ID_CHARS} characters."}
        payload = Payload(headers, body)
        if not payload.is_wanted(hook):
            return 200, {"turn": None, "reason": "The filters of this hook leave it out."}
        unique = f"hook {delivery}" if delivery else ""
        text = payload.input_of(plan.text)
        fired = api.fire(self._application, name, text, key=unique, engine=self._engine)
        return 202, {"turn": fired.turn, "starts_at": iso(fired.due), "repeated": not fired.is_new}


def _routes(site: Site) -> Sequence[BaseRoute]:
    return [Route("/hooks/{name}", _Hooks(site).__call__, methods=["POST"])]


def _identify(site: Site, connection: HTTPConnection) -> Caller | None:
    if "authorization" in connection.headers:
        return identify_by_key(site, connection, "hooks")
    return ANYBODY


PART = Part(prefixes=("/hooks/",), routes=_routes, identify=_identify, max_body=MOST_BYTES)
"""Requests of other programs, each with a signature of its own."""
