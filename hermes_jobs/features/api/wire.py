"""What requests of programs have in common: who asks, what they may, JSON, and errors in OpenAI's form."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hermes_jobs.errors import HermesJobsError, LogUnavailable, OutOfBudget, Rejected
from hermes_jobs.features.api import keys
from hermes_jobs.features.api.events import SOURCE, ApiKeyAdded, Scope
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.system.struct_types import described

if TYPE_CHECKING:
    from starlette.requests import Request

    from hermes_jobs.features.serve.api import Site

Method = Literal["GET", "POST", "DELETE"]
STATUS = {
    **dict.fromkeys(("usage", "configuration", "secret"), 400),
    "scope": 403,
    "not_found": 404,
    "budget": 429,
    "no_worker": 503,
}
"""The statuses of kinds of `Rejected`. Kinds that begin with `unknown_` are 404, all others 409."""
TYPES = {401: "authentication_error", 403: "permission_error", 429: "insufficient_quota"}


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong and what to do. `code`: the kind, for programs."""

    message: str
    type: str
    code: str
    param: str | None = None


class ErrorJson(msgspec.Struct, frozen=True, kw_only=True):
    """An error in OpenAI's form."""

    error: ErrorBody


class Call(NamedTuple):
    """A request that was let in. `key`: whose it is; None for a person with a browser, who may everything."""

    site: Site
    request: Request
    by: str
    key: ApiKeyAdded | None

    @property
    def path(self) -> Mapping[str, str]:
        """The parts of the path that have a name."""
        return self.request.path_params

    def may(self, scope: Scope) -> bool:
        """Whether the key has the scope."""
        return self.key is None or scope in self.key.scopes

    def require(self, *scopes: Scope) -> None:
        """Raise `Rejected` unless the key has one of the scopes."""
        if not any(map(self.may, scopes)):
            needed = " or ".join(scopes)
            raise Rejected(
                f"This key may not do that: it needs the scope {needed}.",
                kind="scope",
                hint="A key's scopes are set when it is made: hermes-jobs keys add NAME --scope …",
            )

    def turn(self, name: str, others: Scope = "read", own: Scope = "chat") -> Submitted:
        """A turn that the key may use: one that it has sent, or a sub-agent's of such a
        one, with the scope `own`; or any, with `others` and
        `read`. Raises `Rejected`."""
        submitted, views = self.site.turns.find(name), self.site.application.views
        view = views.turn(submitted.turn)
        source = views.turn(view.place.root_turn).source if view.place is not None else view.source
        is_own = self.key is not None and source == SOURCE + self.key.key
        if not is_own and not self.may("read"):
            raise Rejected(f"There is no turn {name!r}.", kind="unknown_turn")
        if not (is_own and self.may(own)):
            self.require(others)
        return submitted

    def refuse_without_budget(self) -> None:
        """Raise `OutOfBudget` where the key has spent what it may in this month."""
        key = self.key
        if key is None or key.budget_usd is None:
            return
        spent = keys.spent_usd(self.site.application, key)
        if spent >= key.budget_usd:
            raise OutOfBudget(
                f"The key {key.key} has used up its budget: ${spent:.2f} of ${key.budget_usd:g} this month.",
                kind="budget",
                hint=f"It begins again next month; for more: hermes-jobs keys edit {key.key} --budget USD",
                until=None,
            )


class Operation(NamedTuple):
    """What a path does. `run` gets the call, and the body or query as a `takes`; it returns what `gives`
    describes, or a `Response`. `scopes`: one of them is needed; empty: `run` decides."""

    method: Method
    path: str
    summary: str
    run: Callable[..., Any]
    gives: Any
    takes: type[msgspec.Struct] | None = None
    scopes: tuple[Scope, ...] = ()


async def perform(operation: Operation, call: Call) -> Response:
    """Do what is asked; errors become answers."""
    try:
        call.require(*operation.scopes) if operation.scopes else None
        arguments: tuple[Any, ...] = (call,)
        if operation.takes is not None:
            arguments = (call, await _read(operation, call.request))
        if inspect.iscoroutinefunction(operation.run):
            result = await operation.run(*arguments)
        else:
            result = await run_in_threadpool(operation.run, *arguments)
        return result if isinstance(result, Response) else json_answer(call.site, result)
    except HermesJobsError as error:
        return error_answer(call.site, error)


async def _read(operation: Operation, request: Request) -> msgspec.Struct:
    """The body, or the query. Raises `Rejected`."""
    assert operation.takes is not None
    kind = operation.takes
    try:
        if operation.method == "GET":
            return msgspec.convert(dict(request.query_params), described(kind), strict=False)
        return msgspec.json.decode(await request.body() or b"{}", type=described(kind))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Rejected(f"The request cannot be read: {error}.", kind="usage") from None


def json_answer(site: Site, value: object, status: int = 200, headers: Mapping[str, str] = {}) -> Response:
    """The value as JSON, without secrets."""
    text = site.redact(msgspec.json.encode(value).decode())
    return Response(text.encode(), status, dict(headers), media_type="application/json")


def error_answer(site: Site, error: HermesJobsError) -> Response:
    """The error in OpenAI's form."""
    status, body = error_json(error)
    return json_answer(site, body, status)


def error_json(error: HermesJobsError) -> tuple[int, ErrorJson]:
    """The status of the error, and what is said."""
    if not isinstance(error, Rejected):
        status = 503 if isinstance(error, LogUnavailable) else 500
        return status, refusal(status, str(error), "unavailable")
    status = 404 if error.kind.startswith("unknown_") else STATUS.get(error.kind, 409)
    code = "insufficient_quota" if status == 429 else error.kind
    return status, refusal(status, f"{error.message} {error.hint}".rstrip(), code)


def refusal(status: int, message: str, code: str) -> ErrorJson:
    """An error with that status."""
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return ErrorJson(error=ErrorBody(message=message, type=kind, code=code))
