"""The prefix of a thinking block: newer models refuse the block if anything before it has changed.

That happens after a compression, and in a review or flush, which have other tools. So a digest of the prefix
is stored with the block, and a block that would be refused is not sent. Source:
https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from hermes_jobs.domain.session.messages import Payload

Json = dict[str, Any]


class Prefix:
    """Tools, system prompt and messages of one request, without marks. For one request, one thread.

    `whole` is the digest of all of it, empty until `end`: the prefix of thinking blocks in the reply.
    """

    def __init__(self) -> None:
        self.whole = ""
        self._hash = blake2b(digest_size=16)
        self._num_read = 0

    def begin(self, tools: object, system: object) -> None:
        """Add the tools and the system prompt."""
        self._hash.update(msgspec.json.encode((tools, system)))

    def fits(self, payload: Payload, before: Sequence[Json]) -> bool:
        """Whether the payload's prefix is these messages; true if no prefix was stored with it.

        `before` extends the messages of the last call; only the last message of those may have grown since.
        """
        bound = msgspec.json.decode(payload.data).get("prefix")
        return bound is None or bound == self._upto(before)

    def end(self, messages: Sequence[Json]) -> None:
        """Add all messages of the request, the last of which is the user's."""
        self.whole = self._upto(messages)

    def _upto(self, messages: Sequence[Json]) -> str:
        """The digest; empty after an assistant message: no request ends there."""
        if not messages or messages[-1]["role"] == "assistant":
            return ""
        for message in messages[self._num_read : -1]:
            self._hash.update(msgspec.json.encode(message))
        self._num_read = len(messages) - 1
        digest = self._hash.copy()
        digest.update(msgspec.json.encode(messages[-1]))
        return digest.hexdigest()
