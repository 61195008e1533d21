"""The number of a server's lists, by which workers notice that they have to be requested again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

MIN_SECONDS = 30.0
MAX_SECONDS = 24 * 3600.0


class ListNumber:
    """Changes when the server reports a change, and when the time to live of its lists has passed.

    The time to live is the shortest `ttlMs` of the pages, between `MIN_SECONDS` and `MAX_SECONDS`. Zero
    and none at all give no time: servers that do not set it send zero. See "Caching" in the specification of
    2026-07-28.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._number = 0
        self._expires_at: float | None = None

    @property
    def current(self) -> int:
        """The number now."""
        if self._expires_at is not None and self._clock() >= self._expires_at:
            self.change()
        return self._number

    def change(self) -> None:
        """The lists have changed, or may have."""
        self._number += 1
        self._expires_at = None

    def restart(self) -> None:
        """The lists are requested now."""
        self._expires_at = None

    def observed(self, page: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The request for a page of a list, with the time to live of its answer taken into account."""

        async def request(**arguments: Any) -> Any:
            answer = await page(**arguments)
            self._take(answer)
            return answer

        return request

    def _take(self, answer: Any) -> None:
        """`answer`: a `CacheableResult` of the SDK, which leaves out `ttlMs` of older revisions."""
        if "ttl_ms" not in answer.model_fields_set or answer.ttl_ms <= 0:
            return
        seconds = max(MIN_SECONDS, min(answer.ttl_ms, MAX_SECONDS * 1000) / 1000)
        expires_at = self._clock() + seconds
        self._expires_at = expires_at if self._expires_at is None else min(self._expires_at, expires_at)
