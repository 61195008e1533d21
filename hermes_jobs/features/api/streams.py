"""Server-sent events for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent

from hermes_jobs.errors import HermesJobsError
from hermes_jobs.features.api.wire import Call, error_json
from hermes_jobs.features.serve.api import PING_SECONDS, SEND_SECONDS

if TYPE_CHECKING:
    from starlette.responses import Response


def event_stream(
    call: Call, events: AsyncIterator[tuple[str, Any]], headers: Mapping[str, str] = {}
) -> Response:
    """The answer that sends each event, a name (empty for none) and its data, without secrets.

    An error ends it, and is its last event.
    """

    async def sent() -> AsyncIterator[ServerSentEvent]:
        try:
            async for name, data in events:
                text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
                yield ServerSentEvent(call.site.redact(text), event=name or None)
        except HermesJobsError as error:
            yield ServerSentEvent(
                call.site.redact(msgspec.json.encode(error_json(error)[1]).decode()), event="error"
            )

    return EventSourceResponse(
        sent(), ping=PING_SECONDS, send_timeout=SEND_SECONDS, headers=dict(headers), sep="\n"
    )
