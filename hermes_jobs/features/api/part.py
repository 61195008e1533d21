"""The part of the site for programs: its routes, and who may ask for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes_jobs.features.api import chat, keys, openapi, responses, routes
from hermes_jobs.features.api.events import SOURCE
from hermes_jobs.features.api.wire import Call, Operation, json_answer, perform, refusal
from hermes_jobs.features.serve.api import Caller, Part, Site

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

READS = ("/events", "/metrics")
MAX_BODY = 40_000_000
"""Bytes: as many as a message's files have in base64, and some more."""


def _routes(site: Site) -> Sequence[BaseRoute]:
    operations = (*chat.OPERATIONS, *responses.OPERATIONS, *routes.operations())
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        by_path[operation.path][operation.method] = operation
    document = openapi.document(operations)

    def show(_request: Request) -> Response:
        return json_answer(site, document)

    def nothing(request: Request) -> Response:
        return json_answer(site, refusal(404, f"There is nothing at {request.url.path}.", "not_found"), 404)

    return [
        Route("/openapi.json", show),
        *(Route(path, _Endpoint(site, methods)) for path, methods in by_path.items()),
        *(Route(path, nothing, methods=["GET", "POST"]) for path in ("/v1/{_:path}", "/api/{_:path}")),
    ]


class _Endpoint:
    """What the methods of one path do."""

    def __init__(self, site: Site, operations: dict[str, Operation]) -> None:
        self._site = site
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        operation = self._operations.get("GET" if request.method == "HEAD" else request.method)
        if operation is None:
            allowed = ", ".join(self._operations)
            said = refusal(405, f"{request.url.path} takes {allowed}.", "method_not_allowed")
            return json_answer(self._site, said, 405, {"Allow": allowed})
        caller, key = request.state.caller, getattr(request.state, "key", None)
        return await perform(operation, Call(self._site, request, caller.name, key))


def _identify(site: Site, connection: HTTPConnection) -> Caller | None:
    """The program of the key; the person of the cookie, where there is no key."""
    if "authorization" not in connection.headers:
        sign_in = site.sign_in
        return sign_in.caller(connection.cookies.get(sign_in.cookie), connection.headers)
    key = keys.of_header(site.application, connection.headers)
    if key is None or (connection.url.path in READS and "read" not in key.scopes):
        return None
    connection.state.key = key
    return Caller(SOURCE + key.key)


def _refuse(status: int, text: str) -> Response:
    """A refusal of the gate."""
    said = refusal(status, text, "invalid_api_key" if status == 401 else "refused")
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return Response(msgspec.json.encode(said), status, headers, media_type="application/json")


PART = Part(
    prefixes=("/v1/", "/api/", "/openapi.json", *READS),
    routes=_routes,
    identify=_identify,
    max_body=MAX_BODY,
    refuse=_refuse,
)
