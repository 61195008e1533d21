"""The client of one endpoint, on an asyncio loop. Importing this imports openai (half a second)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

import httpx2
import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError, ModelRequest, Reply
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.llm.adaptation import adapt, concerns_payloads, is_missing_api
from hermes_jobs.llm.assembly import ReplyAssembler
from hermes_jobs.llm.client_errors import CONNECT_SECONDS, ErrorMapper
from hermes_jobs.llm.client_options import ClientOptions
from hermes_jobs.llm.dialect import Dialect, Payloads, first_dialect
from hermes_jobs.llm.errors import ApiRefusal, is_failed_generation, shortened
from hermes_jobs.llm.openai_sdk import openai
from hermes_jobs.llm.refusals import refused_features, without_features
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.reply_builder import ReplyBuilder, builder_for
from hermes_jobs.llm.responses import ResponsesAssembler, responses_body
from hermes_jobs.llm.served_window import ServedWindows
from hermes_jobs.llm.sse import DONE, Body, drain, events_of
from hermes_jobs.llm.transport import Address, http_options
from hermes_jobs.llm.windows import learned_from

_MOST_SESSIONS = 1000  # whose refused payloads are remembered
UNSTREAMED_SECONDS = 600.0
ABORTED = {
    **dict.fromkeys(
        (
            "content_filter",
            "content_filtered",
            "safety",
            "prohibited_content",
            "blocklist",
            "spii",
            "recitation",
        ),
        "content_policy",
    ),
    **dict.fromkeys(("sensitive", "guardrail_intervened", "moderation", "refusal"), "content_policy"),
    **dict.fromkeys(("error", "network_error", "abort", "cancelled", "failed"), "server"),
    "insufficient_system_resource": "overloaded",
    "malformed_function_call": "garbage",
}
"""Finish reasons of incomplete answers, and the kind of failure of each. OpenAI, OpenRouter, Gemini, Bedrock,
Zhipu (`sensitive`, `network_error`), DeepSeek (`insufficient_system_resource`), vLLM.
"""
_LONGEST_GENERATED = 1000  # characters of a refused call that are sent back
CALL_REFUSED = (
    "[Your last message did not arrive: the endpoint refused the tool call in it. {message}{written} "
    "Write the call again, with a name and arguments that fit the tool's schema, or answer without it.]"
)
NO_RESPONSES = "There is no Responses API at this address: `hermes-jobs config set model.api chat`."
_PLACEHOLDER_KEY = "no-key"  # local servers need none, the client does

OnText = Callable[[str], None]
T = TypeVar("T")


class IncomingAnswer(Protocol):
    """An incoming answer, in the form of one API."""

    HOLDS: str

    @property
    def draft(self) -> ReplyBuilder:
        """The reply so far."""

    def refusal(self, chunk: object) -> ApiRefusal | None:
        """The refusal in the chunk, if any."""

    def feed(self, chunk: dict[str, object]) -> str:
        """Handle the next chunk, or a complete answer; returns the text to show."""


class Api(msgspec.Struct, frozen=True):
    """One API: its path, its request body, and the class that reads its answers."""

    path: str
    body: Callable[[ModelRequest, Dialect], dict[str, Any]]
    answer: Callable[[ReplyBuilder], IncomingAnswer]


APIS: dict[str, Api] = {
    "chat": Api("/chat/completions", request_body, ReplyAssembler),
    "responses": Api("/responses", responses_body, ResponsesAssembler),
}


async def _no_chunks() -> AsyncIterator[object]:
    return
    yield


class ChunkStream(openai.AsyncStream[object]):
    """A response whose events are read elsewhere.

    An iterator of its own would hold it in a circle, together with the request's body and its pictures, until
    garbage is collected.
    """

    def __stream__(self) -> AsyncIterator[object]:
        """No events."""
        return _no_chunks()


class CompletionsClient:
    """Calls one endpoint. Use from one loop only. A model that does not stream gets `UNSTREAMED_SECONDS`
    without data.
    """

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._failing = ErrorMapper.of(openai, options)
        self._payloads: dict[tuple[str, str], Payloads] = {}  # the payload mode of each session
        self._unconstrained: dict[tuple[str, str], None] = {}  # sessions whose schema was refused
        http_client = openai.DefaultAioHttpClient(  # costs less than half of httpx2's own per call
            **http_options(options.base_url)
        )
        if options.watch is not None:
            options.watch(http_client)
        address = Address.of(options.base_url)
        self._client = openai.AsyncOpenAI(
            api_key=options.api_key or _PLACEHOLDER_KEY,
            base_url=address.base_url,
            default_query=address.query,
            default_headers=address.headers(options.api_key),
            max_retries=0,  # retries are events in the log
            http_client=http_client,
        )

        self._served = ServedWindows(options, self._client)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def served_window(self, model: str) -> int | None:
        """See `AsyncModel.served_window`."""
        return await self._served.read(model)

    async def reply(self, request: ModelRequest, on_text: OnText) -> Reply:
        """Make the call; repeat it in another dialect where the endpoint refuses the first. Raises
        `ModelError`.
        """
        try:
            return await self._served.checked(request, await self._adapting(request, on_text))
        except ModelError as error:
            raise learned_from(error, request, self._options.windows) from error.__cause__

    async def _adapting(self, request: ModelRequest, on_text: OnText) -> Reply:
        call = _Repeated(request, self._dialect(request))
        while True:
            answer = APIS[call.dialect.api].answer(builder_for(call.request, call.dialect))
            limit = asyncio.timeout(self._options.timeout)
            try:
                async with limit:
                    reply = await self._ask(call.request, call.dialect, answer, on_text)
                    if call.refused:
                        self._options.refusals.add(call.request.model, call.refused)
                    return replace(reply, notes=(*reply.notes, *call.notes)) if call.notes else reply
            except (openai.APIStatusError, _RefusedEarly) as error:
                refusal = error.refusal if isinstance(error, _RefusedEarly) else self._failing.refusal(error)
                failure = self._after_refusal(call, refusal, answer.draft.usage)
                if failure is not None:
                    raise failure from error
            except ModelError:
                raise
            except Exception as error:
                raise self._failure(error, answer, expired=limit.expired()) from error

    def _after_refusal(self, call: _Repeated, refusal: ApiRefusal, usage: Usage) -> ModelError | None:
        """Change the call to one that the endpoint may take; the failure where nothing is left to change."""
        if is_failed_generation(refusal) and not call.is_corrected:
            call.correct(refusal)
            return None
        message = f"{refusal.code} {refusal.message}"
        changed = adapt(call.dialect, refusal.status, message, self._options.manner)
        if changed is None or changed in call.tried or is_failed_generation(refusal):
            failure = self._failing.refused(refusal, usage)
            if is_missing_api(call.dialect, refusal.status, refusal.message):
                failure.hint = NO_RESPONSES
            return failure
        self._keep_for_session(call.request, changed)
        call.adapt(changed, refusal)
        return None

    def _dialect(self, request: ModelRequest) -> Dialect:
        """The dialect for the model, without what the endpoint is known to refuse."""
        manner = self._options.manner
        dialect = first_dialect(self._options.base_url, request.model, manner)
        dialect = without_features(dialect, self._options.refusals.of(request.model), manner)
        here = (request.model, request.session)
        constrains = bool(request.answer_schema) and here not in self._unconstrained
        return replace(dialect, payloads=self._payloads.get(here, "send"), constrains=constrains)

    def _keep_for_session(self, request: ModelRequest, dialect: Dialect) -> None:
        """Remember a refused payload or schema, which concerns its session only."""
        if dialect.payloads in {"replace", "omit"}:
            _keep(self._payloads, (request.model, request.session), dialect.payloads)
        if request.answer_schema and not dialect.constrains:
            _keep(self._unconstrained, (request.model, request.session), None)

    async def _ask(
        self, request: ModelRequest, dialect: Dialect, answer: IncomingAnswer, on_text: OnText
    ) -> Reply:
        api = APIS[dialect.api]
        stream = await self._client.post(
            api.path,
            cast_to=object,
            options={"timeout": self._read_timeout(dialect)},
            content=msgspec.json.encode(api.body(request, dialect)),  # ten times as fast as openai's
            stream=True,
            stream_cls=ChunkStream,
        )
        async with stream:
            body = Body(stream.response)
            if await body.is_whole():
                self._read_whole(await body.whole(), answer, on_text)
            else:
                await self._read_stream(body, answer, on_text)
        self._check_finish(answer)
        reply, text = answer.draft.finish()
        if text:
            on_text(text)
        return reply

    def _check_finish(self, answer: IncomingAnswer) -> None:
        """Raise `ModelError` for an answer that the provider cut off."""
        reason = answer.draft.finish_reason
        if (kind := ABORTED.get(reason)) is not None:
            text = f"The provider broke off the answer (finish_reason {reason!r})."
            raise self._failing.made(kind, text, answer.draft.usage)

    def _read_timeout(self, dialect: Dialect) -> httpx2.Timeout:
        """The timeout of each read."""
        idle = self._options.idle_timeout
        idle = idle if dialect.streams else max(idle, UNSTREAMED_SECONDS)
        return httpx2.Timeout(idle, connect=min(idle, CONNECT_SECONDS))

    async def _read_stream(self, body: Body, answer: IncomingAnswer, on_text: OnText) -> None:
        """Read the events up to the end that the endpoint marks: a finish reason, or `[DONE]`."""
        is_done = False
        async with aclosing(events_of(body)) as events:
            async for data in events:
                if data.startswith(DONE):
                    is_done = True
                    await drain(events)
                    break
                self._take(json.loads(data), answer, on_text)
        if not answer.draft.has_begun:
            raise self._garbage("is an empty stream", answer)
        if not answer.draft.finish_reason and not (is_done and answer.draft.says_something):
            raise self._garbage("ended before it was complete", answer)

    def _read_whole(self, body: bytes, answer: IncomingAnswer, on_text: OnText) -> None:
        completion = self._failing.decoded(body, answer.draft.usage)
        self._take(completion, answer, on_text)
        if not completion.get(answer.HOLDS):
            raise self._garbage(f"holds no {answer.HOLDS}", answer, body.decode("utf-8", "replace"))

    def _take(self, chunk: object, answer: IncomingAnswer, on_text: OnText) -> None:
        if (refusal := answer.refusal(chunk)) is not None:
            if not answer.draft.has_begun:
                raise _RefusedEarly(refusal)
            raise self._failing.refused(refusal, answer.draft.usage)
        if not isinstance(chunk, dict):
            raise self._garbage("is not an object", answer, json.dumps(chunk))
        if text := answer.feed(chunk):
            on_text(text)

    def _garbage(self, what: str, answer: IncomingAnswer, excerpt: str = "") -> ModelError:
        return self._failing.garbage(what, answer.draft.usage, excerpt)

    def _failure(self, error: Exception, answer: IncomingAnswer, *, expired: bool = False) -> ModelError:
        draft = answer.draft
        return self._failing.error(error, has_begun=draft.has_begun, usage=draft.usage, expired=expired)


class _Repeated:
    """One call, repeated while its endpoint refuses parts of it: what is sent next, in which dialect, what
    was refused, and the notes for the user."""

    def __init__(self, request: ModelRequest, dialect: Dialect) -> None:
        self.request = request
        self.dialect = dialect
        self.tried = [dialect]
        self.is_corrected = False
        self.refused: dict[str, str] = {}
        self.notes: list[str] = []

    def correct(self, refusal: ApiRefusal) -> None:
        """Ask again, with what was wrong with the call that the model wrote."""
        self.request, self.is_corrected = _with_correction(self.request, refusal), True
        self.notes.append(f"The endpoint refused a call that the model wrote: {shortened(refusal.message)}")

    def adapt(self, changed: Dialect, refusal: ApiRefusal) -> None:
        """Go on in another dialect."""
        if concerns_payloads(self.dialect, changed):
            self.notes.append(_note(refusal, changed))
        features = refused_features(self.dialect, changed)
        self.refused |= dict.fromkeys(features, shortened(refusal.message))
        self.dialect = changed
        self.tried.append(changed)


class _RefusedEarly(Exception):
    """A refusal with the status of an answer, before any part of one."""

    def __init__(self, refusal: ApiRefusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def _with_correction(request: ModelRequest, refusal: ApiRefusal) -> ModelRequest:
    """The request with a note about the call that the endpoint refused: the same one may be written again."""
    written = f" It was: {shortened(refusal.generated, _LONGEST_GENERATED)}" if refusal.generated else ""
    text = CALL_REFUSED.format(message=shortened(refusal.message), written=written)
    return replace(request, messages=(*request.messages, UserMessage(text)))


def _keep(cache: dict[tuple[str, str], T], session: tuple[str, str], value: T) -> None:
    """Remember a value for a session; the oldest is forgotten for one too many."""
    if len(cache) >= _MOST_SESSIONS and session not in cache:
        cache.pop(next(iter(cache)))
    cache[session] = value


def _note(refusal: ApiRefusal, changed: Dialect) -> str:
    notes = {"again": "It was sent once more.", "omit": "It was sent without what providers had attached."}
    consequence = notes.get(changed.payloads, "Placeholders were sent in place of what was refused.")
    message = shortened(refusal.message)
    return f"The endpoint refused what earlier messages carried: {message} {consequence}"
