"""One endpoint, asked on an asyncio loop. Importing this imports openai (half a second)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol

import httpx2
import msgspec
import openai
from msgspec.structs import replace

from hermes_jobs.engine.ports import ModelError, ModelRequest, Reply
from hermes_jobs.llm.assembly import ReplyAssembler
from hermes_jobs.llm.connection import UNTRUSTED, causes, is_cut, is_untrusted, root, unreachable
from hermes_jobs.llm.dialect import (
    BY_NAME,
    Dialect,
    Manner,
    Payloads,
    about_payloads,
    adapted,
    first_dialect,
)
from hermes_jobs.llm.draft import ReplyDraft, draft_for
from hermes_jobs.llm.errors import Refusal, classify, garbage, model_error, refusal_in, shortened
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.responses import ResponsesAssembler, responses_body
from hermes_jobs.llm.sse import DONE, EventDecoder
from hermes_jobs.llm.windows import Windows, learned_from

_CONNECT_SECONDS = 30.0
_MOST_SESSIONS = 1000  # of which refused payloads are remembered
_DRAIN_SECONDS = 1.0  # for what follows the end of a stream, so that its connection can be used again
IDLE_SECONDS = 120.0
UNSTREAMED_SECONDS = 600.0
BROKEN_OFF = {
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
"""Finish reasons of answers that are not complete, and the kind of failure that each is. OpenAI, OpenRouter,
Gemini, Bedrock, Zhipu (`sensitive`, `network_error`), DeepSeek (`insufficient_system_resource`), vLLM."""
_IDLE_HINT = "Try again; where the model thinks for long without a word, raise model.idle_timeout."
BROKEN = "The provider or the network failed: try again later."
_PLACEHOLDER_KEY = "no-key"  # local servers want none, the client does

OnText = Callable[[str], None]


class Answer(Protocol):
    """An answer while it arrives, in whichever form the endpoint gives it."""

    HOLDS: str

    @property
    def draft(self) -> ReplyDraft:
        """The reply, as far as it has come."""

    def refusal(self, chunk: object) -> Refusal | None:
        """The refusal that a chunk holds."""

    def feed(self, chunk: dict[str, object]) -> str:
        """The next chunk, or a whole answer; returns the text in it that may be shown."""


class Api(msgspec.Struct, frozen=True):
    """Where an API is asked, how, and how its answers are read."""

    path: str
    body: Callable[[ModelRequest, Dialect], dict[str, Any]]
    answer: Callable[[ReplyDraft], Answer]


APIS: dict[str, Api] = {
    "chat": Api("/chat/completions", request_body, ReplyAssembler),
    "responses": Api("/responses", responses_body, ResponsesAssembler),
}

ChunkStream = openai.AsyncStream[object]


class Chat:
    """Asks one endpoint. `watch` is given the HTTP client. Use from one loop only.

    `idle_timeout`: seconds without any data after which a streamed call has failed; `timeout`: seconds for a
    whole call, None for no limit. A model that does not stream gets `UNSTREAMED_SECONDS` to answer.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        idle_timeout: float = IDLE_SECONDS,
        timeout: float | None = None,
        windows: Windows,
        manner: Manner = BY_NAME,
        watch: Callable[[Any], None] | None = None,
    ) -> None:
        self._idle_timeout = idle_timeout
        self._timeout = timeout
        self._windows = windows
        self._secrets = (api_key,) if api_key else ()
        self._manner = manner
        self._api = APIS[manner.api]
        self._learned: dict[str, Dialect] = {}
        self._payloads: dict[tuple[str, str], Payloads] = {}  # what a session's payloads have come to
        self._base_url = base_url
        http_client = openai.DefaultAioHttpClient()  # less than half of what httpx2's own costs a call
        if watch is not None:
            watch(http_client)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or _PLACEHOLDER_KEY,
            base_url=base_url,
            max_retries=0,  # a retry is an event of ours
            http_client=http_client,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def reply(self, request: ModelRequest, on_text: OnText) -> Reply:
        """Ask, and again in another way where the endpoint refuses how it was asked. Raises `ModelError`."""
        try:
            return await self._adapting(request, on_text)
        except ModelError as error:
            raise learned_from(error, request, self._windows) from error.__cause__

    async def _adapting(self, request: ModelRequest, on_text: OnText) -> Reply:
        tried: list[Dialect] = []
        notes: list[str] = []
        dialect = self._dialect(request)
        while True:
            tried.append(dialect)
            answer = self._api.answer(draft_for(request, dialect))
            limit = asyncio.timeout(self._timeout)
            try:
                async with limit:
                    reply = await self._ask(request, dialect, answer, on_text)
                    return replace(reply, notes=(*reply.notes, *notes)) if notes else reply
            except openai.APIStatusError as error:
                changed = adapted(dialect, error.status_code, f"{error.message} {error.body}", self._manner)
                if changed is None or changed in tried:
                    raise self._failure(error, answer) from error
                if about_payloads(dialect, changed):
                    notes.append(_note(error, changed))
                self._learn(request, changed)
                dialect = changed
            except ModelError:
                raise
            except Exception as error:
                raise self._failure(error, answer, expired=limit.expired()) from error

    def _dialect(self, request: ModelRequest) -> Dialect:
        """How the model is asked, as far as is known by now."""
        known = self._learned.get(request.model)
        known = known or first_dialect(self._base_url, request.model, self._manner)
        return replace(known, payloads=self._payloads.get((request.model, request.session), "send"))

    def _learn(self, request: ModelRequest, dialect: Dialect) -> None:
        """Remember how the model wants to be asked; a refused payload is its session's matter alone."""
        self._learned[request.model] = dialect
        if dialect.payloads in {"replace", "omit"}:
            if len(self._payloads) >= _MOST_SESSIONS:
                self._payloads.pop(next(iter(self._payloads)))
            self._payloads[request.model, request.session] = dialect.payloads

    async def _ask(self, request: ModelRequest, dialect: Dialect, answer: Answer, on_text: OnText) -> Reply:
        stream = await self._client.post(
            self._api.path,
            cast_to=object,
            options={"timeout": self._patience(dialect)},
            content=msgspec.json.encode(self._api.body(request, dialect)),  # a tenth of openai's encoding
            stream=True,
            stream_cls=ChunkStream,
        )
        async with stream:
            kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind in {"application/json", "text/html"}:
                self._read_whole(await stream.response.aread(), answer, on_text)
            else:
                await self._read_stream(stream, answer, on_text)
        self._check_finish(answer)
        reply, shown = answer.draft.finish()
        if shown:
            on_text(shown)
        return reply

    def _check_finish(self, answer: Answer) -> None:
        """Raise `ModelError` for an answer that the provider broke off."""
        reason = answer.draft.finish_reason
        if (kind := BROKEN_OFF.get(reason)) is not None:
            raise self._error(kind, f"The provider broke off the answer (finish_reason {reason!r}).", answer)

    def _patience(self, dialect: Dialect) -> httpx2.Timeout:
        """How long each read may take."""
        idle = self._idle_timeout if dialect.streams else max(self._idle_timeout, UNSTREAMED_SECONDS)
        return httpx2.Timeout(idle, connect=min(idle, _CONNECT_SECONDS))

    async def _read_stream(self, stream: ChunkStream, answer: Answer, on_text: OnText) -> None:
        """Read the events up to the end that the endpoint marks: a finish reason, or `[DONE]`."""
        done = False
        async with aclosing(_events(stream.response)) as events:
            async for data in events:
                if data.startswith(DONE):
                    done = True
                    await _drain(events)
                    break
                self._take(json.loads(data), answer, on_text)
        if not answer.draft.begun:
            raise self._garbage("is an empty stream", answer)
        if not answer.draft.finish_reason and not done:
            raise self._garbage("ended before it was complete", answer)

    def _read_whole(self, body: bytes, answer: Answer, on_text: OnText) -> None:
        text = body.decode("utf-8", "replace")
        try:
            completion = json.loads(text)
        except ValueError:
            raise self._garbage("is no JSON" if text.strip() else "is empty", answer, text) from None
        self._take(completion, answer, on_text)
        if not completion.get(answer.HOLDS):
            raise self._garbage(f"holds no {answer.HOLDS}", answer, text)

    def _take(self, chunk: object, answer: Answer, on_text: OnText) -> None:
        if (refusal := answer.refusal(chunk)) is not None:
            raise classify(replace(refusal, at=time.time()), secrets=self._secrets, usage=answer.draft.usage)
        if not isinstance(chunk, dict):
            raise self._garbage("is no object", answer, json.dumps(chunk))
        if shown := answer.feed(chunk):
            on_text(shown)

    def _garbage(self, what: str, answer: Answer, excerpt: str = "") -> ModelError:
        return garbage(what, excerpt, secrets=self._secrets, usage=answer.draft.usage)

    def _failure(self, error: Exception, answer: Answer, *, expired: bool = False) -> ModelError:
        """What went wrong; `expired`: the limit of the whole call has passed."""
        match error:
            case TimeoutError() if expired:
                took = f"No complete answer within {self._timeout:g} s (model.timeout)."
                return self._error("timeout", took, answer, lasting=answer.draft.begun)
            case openai.APIStatusError():
                return classify(_refusal(error), secrets=self._secrets)
            case openai.APITimeoutError() | TimeoutError() | httpx2.TimeoutException() if not is_cut(error):
                return self._error("timeout", self._silence(error), answer, _IDLE_HINT)
            case openai.APIConnectionError() | httpx2.TransportError() if answer.draft.begun:
                return self._error(
                    "garbage", f"The answer broke off in the middle: {root(error)}", answer, BROKEN
                )
            case openai.APIConnectionError() | httpx2.TransportError():
                untrusted = is_untrusted(error)
                told = unreachable(error, self._base_url)
                return self._error("connection", told, answer, UNTRUSTED * untrusted, lasting=untrusted)
            case json.JSONDecodeError():
                return self._garbage("holds a chunk that is no JSON", answer, error.doc)
            case UnicodeError():
                return self._garbage("is no UTF-8", answer)
            case _:
                return self._error("unknown", f"{type(error).__name__}: {error}", answer)

    def _silence(self, error: Exception) -> str:
        if any(isinstance(cause, httpx2.ConnectTimeout) for cause in causes(error)):
            return f"No connection to {self._base_url} within {_CONNECT_SECONDS:g} s."
        return f"No data for {self._idle_timeout:g} s (model.idle_timeout)."

    def _error(
        self, kind: str, message: str, answer: Answer, hint: str = "", *, lasting: bool = False
    ) -> ModelError:
        usage = answer.draft.usage
        return model_error(kind, message, hint=hint, lasting=lasting, secrets=self._secrets, usage=usage)


async def _events(response: httpx2.Response) -> AsyncGenerator[str, None]:
    """The data of each event of a streamed response.

    Not openai's own reader: that one does not say whether the end was marked, and stumbles over empty data.
    """
    decoder = EventDecoder()
    async for piece in response.aiter_bytes():
        for data in decoder.feed(piece):
            yield data
    for data in decoder.finish():
        yield data


async def _drain(events: AsyncGenerator[str, None]) -> None:
    """Read what follows the end, so that the connection can be used again."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass


def _note(error: openai.APIStatusError, changed: Dialect) -> str:
    done = {"again": "It was sent once more.", "omit": "It was sent without what providers had attached."}
    consequence = done.get(changed.payloads, "Placeholders were sent in place of what was refused.")
    said = shortened(_refusal(error).message)
    return f"The endpoint refused what earlier messages carried: {said} {consequence}"


def _refusal(error: openai.APIStatusError) -> Refusal:
    headers = {name.lower(): value for name, value in error.response.headers.items()}
    text = error.response.text
    try:
        found = refusal_in(msgspec.json.decode(text), status=error.status_code, headers=headers)
    except msgspec.MsgspecError:
        found = None
    found = found or Refusal(message=shortened(text), status=error.status_code, headers=headers)
    return replace(found, at=time.time())
