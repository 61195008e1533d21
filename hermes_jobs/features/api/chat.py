"""`/v1/models` and `/v1/chat/completions`: a turn in the form of OpenAI's Chat Completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hermes_jobs.features.api import asking, pieces
from hermes_jobs.features.api.asking import MODEL, WaitingCall
from hermes_jobs.features.api.chat_json import (
    ChatChoice,
    ChatCompletion,
    ChatMessage,
    ChatUsage,
    HermesPart,
    usage_of,
)
from hermes_jobs.features.api.choosing import HEADER, choose
from hermes_jobs.features.api.prompts import (
    RequestMessage,
    ResponseFormat,
    Settings,
    prompt_of,
    refuse_tools,
    schema_of,
)
from hermes_jobs.features.api.streams import event_stream
from hermes_jobs.features.api.wire import Call, ErrorJson, Operation, json_answer, refusal
from hermes_jobs.kernel.views.turn_json import ListedTurnJson, TurnJson

if TYPE_CHECKING:
    from hermes_jobs.kernel.turns.submitted import Submitted
    from hermes_jobs.kernel.views.models import TurnFailure

BETWEEN = "\n\n"
"""What stands between the texts of two replies in a stream."""


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`include_usage`: one more chunk, with the usage."""

    include_usage: bool | None = None


class ChatRequest(Settings, frozen=True, kw_only=True):
    """A conversation whose last message is answered."""

    messages: Annotated[tuple[RequestMessage, ...], Meta(min_length=1)]
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    n: Annotated[int, Meta(ge=1, le=1)] | None = None


class ModelJson(msgspec.Struct, frozen=True, kw_only=True):
    """A name that `model` may have."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = MODEL


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    data: tuple[ModelJson, ...]
    object: str = "list"


def list_models(call: Call) -> ModelList:
    """The names that `model` may have."""
    return ModelList(data=tuple(ModelJson(id=name) for name in asking.models(call)))


async def complete(call: Call, asked: ChatRequest) -> Response:
    """Answer the last message, whole or as a stream. Raises `Rejected`."""
    submitted = await run_in_threadpool(_submitted, call, asked)
    listed = await run_in_threadpool(_listed, call, submitted)
    headers = {HEADER: listed.session, "X-Hermes-Turn": submitted.turn}
    writer = _Writer(listed, asked.model or MODEL)
    if asked.stream:
        with_usage = asked.stream_options is not None and bool(asked.stream_options.include_usage)
        return event_stream(call, _chunks(call, submitted, writer, with_usage), headers)
    waiting: tuple[WaitingCall, ...] = ()
    async for piece in pieces.pieces(call.site, submitted):
        if isinstance(piece, pieces.Waits):
            waiting += asking.waiting_calls(piece)
        elif isinstance(piece, pieces.Answered):
            waiting = tuple(each for each in waiting if each.call != piece.call)
        if waiting and isinstance(piece, pieces.Waits):
            break
    turn = await run_in_threadpool(call.site.turns.current, submitted)
    if turn.error is not None:
        status, said = failure(turn.error)
        return json_answer(call.site, said, status, headers)
    return json_answer(call.site, writer.whole(turn, waiting), headers=headers)


def _submitted(call: Call, asked: ChatRequest) -> Submitted:
    """The turn: that of an earlier request with the same `Idempotency-Key`, or a new one."""
    refuse_tools(asked)
    prompt, schema = prompt_of(asked.messages), schema_of(asked.response_format)
    if (earlier := asking.joined(call, prompt)) is not None:
        return earlier
    chosen = choose(call, prompt, asked.user)
    return asking.ask(call, prompt, chosen, model=asked.model, schema=schema, waits=True)


def _listed(call: Call, submitted: Submitted) -> ListedTurnJson:
    from hermes_jobs.kernel.views.turn_json import listed_turn_json

    return listed_turn_json(call.site.application.views.turn(submitted.turn))


class _Writer:
    """Writes the answers about one turn."""

    def __init__(self, listed: ListedTurnJson, model: str) -> None:
        self._listed = listed
        self._model = model
        self._created = int(datetime.fromisoformat(listed.submitted_at).timestamp())

    def whole(self, turn: TurnJson, waiting: tuple[WaitingCall, ...]) -> ChatCompletion:
        """The whole answer; where a person has to decide first, what about."""
        text = turn.result or ""
        if waiting:
            text = "\n".join(
                f"Waits for you: {each.text or f'{each.tool} {each.arguments}'}" for each in waiting
            )
        choice = ChatChoice(
            finish_reason=finish_reason(turn), message=ChatMessage(role="assistant", content=text)
        )
        return self._completion("chat.completion", (choice,), usage_of(turn.usage), _hermes(turn, waiting))

    def chunk(
        self, text: str | None = None, *, hermes: HermesPart | UnsetType = UNSET, finish: str | None = None
    ) -> ChatCompletion:
        """A part of the answer."""
        choice = ChatChoice(delta=ChatMessage(content=text), finish_reason=finish)
        return self._completion("chat.completion.chunk", (choice,), UNSET, hermes)

    def first(self) -> ChatCompletion:
        """The first chunk, which names the turn."""
        choice = ChatChoice(delta=ChatMessage(role="assistant", content=""))
        hermes = HermesPart(turn=self._listed.turn, session=self._listed.session)
        return self._completion("chat.completion.chunk", (choice,), UNSET, hermes)

    def last(self, turn: TurnJson) -> ChatCompletion:
        """The usage, as the last chunk."""
        return self._completion("chat.completion.chunk", (), usage_of(turn.usage), _hermes(turn, ()))

    def _completion(
        self,
        kind: str,
        choices: tuple[ChatChoice, ...],
        usage: ChatUsage | UnsetType,
        hermes: HermesPart | UnsetType,
    ) -> ChatCompletion:
        return ChatCompletion(
            id=f"chatcmpl-{self._listed.turn}",
            object=kind,
            created=self._created,
            model=self._model,
            choices=choices,
            usage=usage,
            hermes=hermes,
        )


async def _chunks(
    call: Call, submitted: Submitted, writer: _Writer, with_usage: bool
) -> AsyncIterator[tuple[str, Any]]:
    """The answer in parts, as the model writes it; at last `[DONE]`."""
    yield "", writer.first()
    has_text, block, open_calls = False, 0, set[str]()
    async for piece in pieces.pieces(call.site, submitted):
        match piece:
            case pieces.TextPiece():
                between = BETWEEN if has_text and piece.block != block else ""
                has_text, block = True, piece.block
                yield "", writer.chunk(between + piece.text)
            case pieces.Waits():
                open_calls.add(piece.asked.call)
                yield "", writer.chunk(hermes=HermesPart(waiting=asking.waiting_calls(piece)))
            case pieces.Answered() if piece.call in open_calls:
                yield "", writer.chunk(hermes=HermesPart(answered=piece.call, ok=piece.allowed))
            case pieces.CallDone():
                yield "", writer.chunk(hermes=HermesPart(tool=piece.tool, call=piece.call, ok=piece.ok))
            case pieces.Reply() | pieces.Answered() | pieces.Ended():
                pass
    turn = await run_in_threadpool(call.site.turns.current, submitted)
    if turn.error is not None:
        yield "", failure(turn.error)[1]
    else:
        yield "", writer.chunk(finish=finish_reason(turn))
    if with_usage:
        yield "", writer.last(turn)
    yield "", "[DONE]"


def failure(error: TurnFailure) -> tuple[int, ErrorJson]:
    """The status of a turn that has failed, and what is said of it."""
    message = f"{error.message} {error.hint}".rstrip()
    if error.kind == "budget":
        return 429, refusal(429, message, "insufficient_quota")
    return 502, refusal(502, message, error.kind)


def finish_reason(turn: TurnJson) -> str:
    """Why the answer ends, in OpenAI's words."""
    return "length" if turn.stopped_by else "stop"


def _hermes(turn: TurnJson, waiting: tuple[WaitingCall, ...]) -> HermesPart:
    return HermesPart(
        turn=turn.turn, session=turn.session, status=turn.status, cost_usd=turn.cost_usd, waiting=waiting
    )


OPERATIONS = (
    Operation(
        "GET", "/v1/models", "The names that `model` may have.", list_models, ModelList, None, ("chat",)
    ),
    Operation(
        "POST",
        "/v1/chat/completions",
        "Answer the last message: a turn of the agent, whose tools run here.",
        complete,
        ChatCompletion,
        ChatRequest,
        ("chat",),
    ),
)
