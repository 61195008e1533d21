"""`/v1/responses`: a turn in the form of OpenAI's Responses, also in the background."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hermes_jobs.errors import Rejected
from hermes_jobs.features.api import asking, pieces
from hermes_jobs.features.api.choosing import HEADER, Chosen, choose, continued
from hermes_jobs.features.api.input_items import InputItem, InputItems, ListedItems
from hermes_jobs.features.api.prompts import (
    Prompt,
    RequestMessage,
    ResponseFormat,
    Settings,
    prompt_of,
    refuse_tools,
    schema_of,
)
from hermes_jobs.features.api.response_json import (
    BLOCK,
    PREFIX,
    Asked,
    ResponseEvent,
    ResponseJson,
    ResponseWriter,
    behind,
    response_json,
)
from hermes_jobs.features.api.streams import event_stream
from hermes_jobs.features.api.wire import Call, Operation, json_answer
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.views.turn_json import ListedTurnJson, listed_turn_json
from hermes_jobs.system.struct_types import described

if TYPE_CHECKING:
    from hermes_jobs.kernel.turns.submitted import Submitted

Key = Annotated[str, Meta(max_length=64)]
Value = Annotated[str, Meta(max_length=512)]
ENDS = {"completed": "response.completed", "failed": "response.failed"}


class TextOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The form of the answer."""

    format: ResponseFormat | None = None


class ResponsesRequest(Settings, frozen=True, kw_only=True):
    """A text, or a conversation whose last message is answered."""

    input: str | Annotated[tuple[RequestMessage, ...], Meta(min_length=1)]
    instructions: str | None = None
    previous_response_id: Annotated[str, Meta(max_length=200)] | None = None
    background: bool | None = None
    text: TextOptions | None = None
    metadata: Annotated[dict[Key, Value], Meta(max_length=16)] | None = None


class GetResponse(msgspec.Struct, frozen=True, kw_only=True):
    """How a response is read. `starting_after`: the last number that the client has."""

    stream: bool = False
    starting_after: Annotated[int, Meta(ge=0, le=2**53)] | None = None


async def create(call: Call, asked: ResponsesRequest) -> Response:
    """Answer the input: at once, as a stream, or in the background. Raises `Rejected`."""
    submitted = await run_in_threadpool(_submitted, call, asked)
    headers = {HEADER: (await run_in_threadpool(_listed, call, submitted)).session}
    if asked.stream:
        return event_stream(call, _events(call, submitted, -1), headers)
    writer = ResponseWriter(submitted.turn)
    if asked.background:
        await run_in_threadpool(write_backlog, call, submitted, writer)
    else:
        async for piece in pieces.pieces(call.site, submitted):
            _ = list(writer.take(piece))
            if writer.waiting and isinstance(piece, pieces.Waits):
                break
    response = await run_in_threadpool(_response, call, submitted, writer)
    return json_answer(call.site, response, headers=headers)


async def get(call: Call, asked: GetResponse) -> Response:
    """A response as it is now, or the rest of its stream. Raises `Rejected`."""
    submitted = await run_in_threadpool(_found, call)
    if asked.stream:
        after = -1 if asked.starting_after is None else asked.starting_after
        return event_stream(call, _events(call, submitted, after))
    return json_answer(call.site, await run_in_threadpool(_as_it_is, call, submitted))


def cancel(call: Call) -> ResponseJson:
    """Cancel the turn, unless it has ended. Raises `Rejected`."""
    submitted = call.turn(_turn_of(call.path["response"]), "manage")
    try:
        call.site.turns.cancel(submitted.turn, by=call.by)
    except Rejected as refused:
        if refused.kind != "already_ended":
            raise
    return _as_it_is(call, submitted)


def input_items(call: Call, asked: ListedItems) -> InputItems:
    """What the response was asked: the text of its turn, with pictures and files. Raises `Rejected`."""
    submitted = _found(call)
    items = (InputItem.of(submitted.turn, _text_of(call, submitted)),) if asked.after is None else ()
    name = items[0].id if items else None
    return InputItems(data=items, first_id=name, last_id=name)


def delete(call: Call) -> ResponseJson:
    """Refuse: a response is a part of its session. Raises `Rejected`."""
    session = _listed(call, _found(call)).session
    raise Rejected(
        "A response is part of its session, whose record is kept: it cannot be deleted by itself.",
        kind="kept",
        hint=f"Whoever runs this home deletes the session for good: hermes-jobs sessions delete {session}",
    )


def _submitted(call: Call, asked: ResponsesRequest) -> Submitted:
    """The turn: that of an earlier request with the same `Idempotency-Key`, or a new one."""
    refuse_tools(asked)
    said = asked.input
    messages = (RequestMessage(role="user", content=said),) if isinstance(said, str) else said
    prompt, schema = prompt_of(messages), schema_of(asked.text.format if asked.text is not None else None)
    if (earlier := asking.joined(call, prompt)) is not None:
        return earlier
    system = "\n\n".join(filter(None, (asked.instructions, prompt.system)))
    prompt = prompt._replace(system=system)
    chosen = _chosen(call, prompt, asked)
    said_again = Asked(
        previous_response_id=asked.previous_response_id,
        background=bool(asked.background),
        metadata=asked.metadata or {},
    )
    return asking.ask(
        call,
        prompt,
        chosen,
        model=asked.model,
        schema=schema,
        waits=not asked.background,
        data=msgspec.json.encode(said_again).decode(),
    )


def _chosen(call: Call, prompt: Prompt, asked: ResponsesRequest) -> Chosen:
    if asked.previous_response_id is None:
        return choose(call, prompt, asked.user)
    return Chosen(continued(call, _turn_of(asked.previous_response_id)), begins=False, system=None)


def _found(call: Call) -> Submitted:
    return call.turn(_turn_of(call.path["response"]))


def _turn_of(response: str) -> str:
    """The turn with that id of a response. Raises `Rejected`."""
    if not response.startswith(PREFIX):
        raise Rejected(f"There is no response {response!r}.", kind="unknown_response")
    return response.removeprefix(PREFIX)


def _listed(call: Call, submitted: Submitted) -> ListedTurnJson:
    return listed_turn_json(call.site.application.views.turn(submitted.turn))


def _as_it_is(call: Call, submitted: Submitted) -> ResponseJson:
    writer = ResponseWriter(submitted.turn)
    write_backlog(call, submitted, writer)
    return _response(call, submitted, writer)


def _response(call: Call, submitted: Submitted, writer: ResponseWriter) -> ResponseJson:
    return response_json(_listed(call, submitted), writer, _asked(call, submitted))


def write_backlog(call: Call, submitted: Submitted, writer: ResponseWriter) -> None:
    """Have the writer write all that happened so far."""
    _, recorded = pieces.recorded_below(call.site.application.log, submitted)
    for piece in pieces.TurnReader(submitted.turn).backlog(recorded):
        _ = list(writer.take(piece))


def _asked(call: Call, submitted: Submitted) -> Asked:
    """What the request said; nothing for a turn that was asked for in another way."""
    try:
        return msgspec.json.decode(_text_of(call, submitted).client_data or "{}", type=described(Asked))
    except msgspec.MsgspecError:  # its texts were removed
        return Asked()


def _text_of(call: Call, submitted: Submitted) -> TurnSubmitted:
    """The event that submitted the turn."""
    application = call.site.application
    (recorded,) = application.log.at((application.views.turn(submitted.turn).position,))
    assert isinstance(recorded.event, TurnSubmitted)
    return recorded.event


async def _events(call: Call, submitted: Submitted, after: int) -> AsyncIterator[tuple[str, Any]]:
    """The events of the response behind the number `after`."""
    writer = ResponseWriter(submitted.turn)
    turn = await run_in_threadpool(_listed, call, submitted)
    facts = await run_in_threadpool(_asked, call, submitted)
    begun = msgspec.structs.replace(turn, status="running", error=None, model=None)
    for number, kind in enumerate(("response.created", "response.in_progress")):
        if number > after:
            response = response_json(begun, writer, facts)
            yield kind, ResponseEvent(type=kind, sequence_number=number, response=response)
    async for piece in pieces.pieces(call.site, submitted):
        for event in writer.take(piece):
            if (left := behind(event, after)) is not None:
                yield event.type, left
        if isinstance(piece, pieces.Ended):
            turn = await run_in_threadpool(_listed, call, submitted)
            response = response_json(turn, writer, facts)
            kind = ENDS.get(response.status, "response.incomplete")
            number = piece.block * BLOCK + 1
            if number > after:
                yield kind, ResponseEvent(type=kind, sequence_number=number, response=response)


OPERATIONS = (
    Operation(
        "POST",
        "/v1/responses",
        "Answer the input: at once, as a stream, or in the background.",
        create,
        ResponseJson,
        ResponsesRequest,
        ("chat",),
    ),
    Operation(
        "GET",
        "/v1/responses/{response}",
        "A response as it is now, or the rest of its stream.",
        get,
        ResponseJson,
        GetResponse,
        ("chat", "read"),
    ),
    Operation(
        "DELETE",
        "/v1/responses/{response}",
        "Refused: a response is part of its session, whose record is kept.",
        delete,
        ResponseJson,
        None,
        ("chat",),
    ),
    Operation(
        "GET",
        "/v1/responses/{response}/input_items",
        "What a response was asked.",
        input_items,
        InputItems,
        ListedItems,
        ("chat", "read"),
    ),
    Operation(
        "POST",
        "/v1/responses/{response}/cancel",
        "Cancel a response that has not ended.",
        cancel,
        ResponseJson,
        None,
        ("chat",),
    ),
)
