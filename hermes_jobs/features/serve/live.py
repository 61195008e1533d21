"""The answer of a running turn, word by word, as its worker publishes it: an event stream for one listener.

Text is lost where nobody listens; the log has the whole answer once it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from hermes_jobs.features.serve.feed import PING_SECONDS, SEND_SECONDS
from hermes_jobs.kernel.live import LiveTranscript, TextDelta

if TYPE_CHECKING:
    from starlette.requests import Request

    from hermes_jobs.features.serve.site import Site


HELD_BACK = 64  # characters


class Growth(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the text is from `at` on, which counts UTF-16 units, as scripts do. `over`: it is all of it."""

    at: int
    text: str
    over: bool = False


async def show(request: Request) -> Response:
    """The text of the turn's answer as it grows; 204 once it has ended: browsers do not ask again then."""
    site: Site = request.app.state.site
    views = site.application.views
    turn = await asyncio.to_thread(lambda: views.turn(views.find_turn(request.path_params["turn"])))
    if turn.ended_at is not None:
        return Response(status_code=204)
    return EventSourceResponse(_events(site, turn.id), ping=PING_SECONDS, send_timeout=SEND_SECONDS)


async def _events(site: Site, turn: str) -> AsyncIterator[ServerSentEvent]:
    loop = asyncio.get_running_loop()
    deltas: asyncio.Queue[TextDelta] = asyncio.Queue()

    def take(delta: TextDelta) -> None:
        with suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(deltas.put_nowait, delta)

    leave = site.live.subscribe(turn, take)
    try:
        sent, transcript = "", LiveTranscript()
        while True:
            batch = [await deltas.get()]
            while not deltas.empty():
                batch.append(deltas.get_nowait())
            is_over = False
            for delta in batch:
                if not delta.tool:
                    transcript.add_delta(delta)
                    is_over = delta.over
            shown = site.redact(transcript.text)
            shown = shown if is_over else whole_words(shown)
            if shown != sent or is_over:
                grown = msgspec.json.encode(growth(sent, shown, is_over=is_over))
                yield ServerSentEvent(grown.decode(), event="text")
            sent = shown
    finally:
        leave()


def whole_words(text: str) -> str:
    """The text without the word at its end, which may be the beginning of a secret; of a long one, without
    the last characters: not all languages part words by blanks."""
    words = text.split()
    if not words or text[-1].isspace():
        return text
    return text[: -min(len(words[-1]), HELD_BACK)]


def growth(before: str, text: str, *, is_over: bool) -> Growth:
    """What a browser that has the text `before` needs for the new one."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(before, text, strict=False))
    same = before if text.startswith(before) else "".join(first for first, _ in pairs)
    return Growth(len(same.encode("utf-16-le", "surrogatepass")) // 2, text[len(same) :], is_over)
