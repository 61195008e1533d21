"""The client of one Messages API endpoint, on an asyncio loop. Importing this imports anthropic."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.ports import ModelError, ModelRequest, Reply
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import AssistantMessage, Payload
from hermes_jobs.llm.anthropic.abilities import abilities
from hermes_jobs.llm.anthropic.assembly import MessageAssembler
from hermes_jobs.llm.anthropic.request import (
    EFFORT,
    MARKS,
    Prefix,
    RequestOptions,
    refused_feature,
    request_body,
    without,
    without_features,
)
from hermes_jobs.llm.client_errors import CONNECT_SECONDS, ErrorMapper
from hermes_jobs.llm.client_options import ANTHROPIC_URL, ClientOptions
from hermes_jobs.llm.errors import ApiRefusal, model_error, parse_refusal, shortened
from hermes_jobs.llm.sse import Body, drain, events_of
from hermes_jobs.llm.transport import http_options
from hermes_jobs.llm.windows import learned_from

AUTH_HINT = "Check ANTHROPIC_API_KEY, and that it belongs to the endpoint that is asked."

_ABOUT_THOUGHTS = re.compile(
    r"signature.{0,20} in .{0,3}(?:redacted_)?thinking"
    r"|thinking.{0,120}(?:cannot be modified|signature|bound to|must be passed back)"
    r"|expected .{0,3}thinking.{0,60}found"
)


def stop_error(reason: str, details: Mapping[str, object], window: int, usage: Usage) -> ModelError | None:
    """The error of a stop reason; None if the reply is usable. `window` in tokens."""
    match reason:
        case "refusal":
            category, explanation = details.get("category"), details.get("explanation")
            why = f" (category: {category})" if category else ""
            message = f"The model declined to answer{why}." + (f" {explanation}" if explanation else "")
            return model_error("content_policy", message, usage=usage)
        case "model_context_window_exceeded":
            message = f"The answer reached the end of the model's context window of {window:,} tokens."
            return model_error("context_overflow", message, limit=window, usage=usage)
        case _:
            return None


def is_about_thoughts(message: str) -> bool:
    """Whether a refusal is about thinking blocks that were sent back."""
    return _ABOUT_THOUGHTS.search(message.lower()) is not None


logger = logging.getLogger(__name__)

_TITLES = {MARKS: "cache marks", EFFORT: "model.reasoning_effort"}

MAX_PAUSES = 8
"""The most continuations of a paused model in one call."""

_MOST_SESSIONS = 1000  # whose refused schemas are remembered
_MOST_REFUSED = 10_000  # payloads that are remembered

OnText = Callable[[str], None]
EventStream = anthropic.AsyncStream[object]
Json = dict[str, Any]


class MessagesClient:
    """Calls one endpoint. Use from one loop only. The API pings while the model thinks."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._failing = ErrorMapper.of(anthropic, options)
        manner, url, idle = options.manner, options.base_url, options.idle_timeout
        self._conduct = RequestOptions(
            marks=None if manner.prompt_cache == "off" else manner.cache_ttl,
            insists_on_marks=manner.prompt_cache == "on",
            effort=manner.reasoning_effort,
        )
        self._unconstrained: dict[str, None] = {}  # sessions whose schema was refused
        self._stale: dict[bytes, None] = {}  # digests of payloads, the oldest first
        self._endpoint = urlsplit(url).netloc.rpartition("@")[2]
        http_client = anthropic.DefaultAioHttpClient(  # costs less than half of httpx2's own per call
            **http_options(options.base_url),
            follow_redirects=False,  # the key would go along to another host
        )
        if options.watch is not None:
            options.watch(http_client)
        self._client = anthropic.AsyncAnthropic(
            api_key=options.api_key,
            base_url=url,
            # The client sends the key as a bearer token; older gateways know only the older header.
            default_headers={} if url == ANTHROPIC_URL else {"x-api-key": options.api_key},
            timeout=httpx2.Timeout(idle, connect=min(idle, CONNECT_SECONDS)),
            max_retries=0,  # retries are events in the log
            open_telemetry=False,  # spans are our own
            http_client=http_client,
        )

    async def served_window(self, model: str) -> int | None:
        """None: Anthropic's windows are in the list of models."""

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def reply(self, request: ModelRequest, on_text: OnText) -> Reply:
        """Make the call; repeat it with other options where the endpoint refuses the first. Raises
        `ModelError`.
        """
        try:
            return await self._adapting(request, on_text)
        except ModelError as error:
            raise learned_from(error, request, self._options.windows) from error.__cause__

    async def _adapting(self, request: ModelRequest, on_text: OnText) -> Reply:
        notes: list[str] = []
        refused: dict[str, str] = {}
        while True:
            conduct = replace(
                without_features(self._conduct, {**self._options.refusals.of(request.model), **refused}),
                constrains=bool(request.answer_schema) and request.session not in self._unconstrained,
            )
            if not self._options.manner.sees.get(request.model, True):
                conduct = replace(conduct, takes=replace(conduct.takes, pictures=False))
            message = MessageAssembler()
            limit = asyncio.timeout(self._options.timeout)
            try:
                async with limit:
                    reply = await self._ask(request, conduct, message, on_text)
                if refused:
                    self._options.refusals.add(request.model, refused)
                return replace(reply, notes=tuple(notes)) if notes else reply
            except anthropic.APIStatusError as error:
                refusal = self._failing.refusal(error)
                note = self._adapted(request, conduct, refusal, message, refused)
                if note is None:
                    raise self._refused(refusal, message) from error
                notes.append(note)
            except ModelError:
                raise
            except Exception as error:
                raise self._failing.error(
                    error, has_begun=message.has_begun, usage=message.usage, expired=limit.expired()
                ) from error

    def _adapted(
        self,
        request: ModelRequest,
        conduct: RequestOptions,
        refusal: ApiRefusal,
        message: MessageAssembler,
        refused: dict[str, str],
    ) -> str | None:
        """The note about what is left out from now on, added to `refused` if it is an option of requests;
        None if that would not help.
        """
        if message.has_begun or refusal.status not in {400, 422}:
            return None
        sent = [_digest(payload) for payload in _payloads(request) if self._takes(request, payload)]
        if sent and is_about_thoughts(refusal.message):
            self._forget(sent)
            reason = shortened(refusal.message)
            logger.warning("%s: what it had thought is left out of the request: %s", request.model, reason)
            return f"The endpoint refused what earlier messages carried: {reason} It was sent without that."
        changed = without(conduct, refusal.message)
        if changed is None:
            return None
        if changed.constrains != conduct.constrains:
            self._unconstrained[request.session] = None
            for oldest in list(self._unconstrained)[:-_MOST_SESSIONS]:
                del self._unconstrained[oldest]
            short = shortened(refusal.message)
            return f"The endpoint refused the answer's schema as a parameter: left out. It said: {short}"
        feature = refused_feature(conduct, changed)
        refused[feature] = short = shortened(refusal.message)
        return f"The endpoint refused {_TITLES.get(feature, feature)}: left out. It said: {short}"

    def _forget(self, refused_digests: list[bytes]) -> None:
        """Stop sending these payloads. Thinking from now on was made without them, and is valid."""
        self._stale |= dict.fromkeys(refused_digests)
        for oldest in list(self._stale)[:-_MOST_REFUSED]:
            del self._stale[oldest]

    def _takes(self, request: ModelRequest, payload: Payload) -> bool:
        """Whether a payload is sent back: signatures are valid for the same model at the same endpoint."""
        same = payload.model == request.model and payload.endpoint == self._endpoint
        return same and (not self._stale or _digest(payload) not in self._stale)

    async def _ask(
        self, request: ModelRequest, conduct: RequestOptions, message: MessageAssembler, on_text: OnText
    ) -> Reply:
        prefix = Prefix() if abilities(request.model).binds else None

        def takes(payload: Payload, before: Sequence[Json]) -> bool:
            return self._takes(request, payload) and (prefix is None or prefix.fits(payload, before))

        body = request_body(request, conduct, takes, prefix)
        for _ in range(MAX_PAUSES):
            await self._receive(body, message, on_text)
            if message.stop_reason != "pause_turn":
                break
            body = {
                **body,
                "messages": [*body["messages"], {"role": "assistant", "content": message.paused()}],
            }
        window = self._options.windows.of(request.model)
        if (error := stop_error(message.stop_reason, message.details, window, message.usage)) is not None:
            raise error
        reply, text = message.finish(request.model, self._endpoint, prefix.whole if prefix else "")
        if text:
            on_text(text)
        return reply

    async def _receive(self, body: Json, message: MessageAssembler, on_text: OnText) -> None:
        """Read one response to its end."""
        stream = await self._client.post(
            "/v1/messages",
            cast_to=object,
            content=msgspec.json.encode(body),  # ten times as fast as the client's
            stream=True,
            stream_cls=EventStream,
            options={"headers": {"content-type": "application/json"}},
        )
        async with stream:
            received = Body(stream.response)
            if await received.is_whole():
                self._read_whole(await received.whole(), message, on_text)
            else:
                await self._read_stream(received, message, on_text)

    async def _read_stream(self, body: Body, message: MessageAssembler, on_text: OnText) -> None:
        async with aclosing(events_of(body)) as events:
            async for data in events:
                event = json.loads(data)
                self._take(event, message, on_text)
                if event.get("type") == "message_stop":
                    await drain(events)
                    break
        if not message.has_begun:
            raise self._garbage("is an empty stream", message)
        if not message.stop_reason:
            raise self._garbage("ended before it was complete", message)

    def _read_whole(self, body: bytes, message: MessageAssembler, on_text: OnText) -> None:
        self._take(self._failing.decoded(body, message.usage), message, on_text)
        if not message.stop_reason:
            raise self._garbage("holds no message", message, body.decode("utf-8", "replace"))

    def _take(self, event: object, message: MessageAssembler, on_text: OnText) -> None:
        if not isinstance(event, dict):
            raise self._garbage("is not an object", message, json.dumps(event))
        if (refusal := parse_refusal(event)) is not None:
            raise self._refused(refusal, message)
        if text := message.feed(event):
            on_text(text)

    def _refused(self, refusal: ApiRefusal, message: MessageAssembler) -> ModelError:
        error = self._failing.refused(refusal, message.usage)
        if error.kind == "auth":
            error.hint = AUTH_HINT
        return error

    def _garbage(self, what: str, message: MessageAssembler, excerpt: str = "") -> ModelError:
        return self._failing.garbage(what, message.usage, excerpt)


def _payloads(request: ModelRequest) -> list[Payload]:
    replies = (message for message in request.messages if isinstance(message, AssistantMessage))
    return [message.payload for message in replies if message.payload is not None]


def _digest(payload: Payload) -> bytes:
    return sha256(payload.data.encode("utf-8", "replace")).digest()
