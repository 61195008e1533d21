"""What a thought is bound to: newer models refuse one when anything before it is not as it was.

That is the case once a conversation was compressed, in a review and in a flush, which have other tools. So a
digest of all that came before is stored with the thought, and one that would be refused is left out at once.
Source: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting.
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

    `whole` is the digest of all of it, empty until `end`: what is thought in the reply is bound to that.
    """

    def __init__(self) -> None:
        self.whole = ""
        self._hash = blake2b(digest_size=16)
        self._num_read = 0

    def begin(self, tools: object, system: object) -> None:
        """What stands before the messages."""
        self._hash.update(msgspec.json.encode((tools, system)))

    def fits(self, payload: Payload, before: Sequence[Json]) -> bool:
        """Whether the payload came after just these messages; true where nobody stored what it came after.

        `before` goes on from the messages of the last call; only the last of those may have grown since.
        """
        bound = msgspec.json.decode(payload.data).get("prefix")
        return bound is None or bound == self._upto(before)

    def end(self, messages: Sequence[Json]) -> None:
        """All messages of the request, the last of which is the user's."""
        self.whole = self._upto(messages)

    def _upto(self, messages: Sequence[Json]) -> str:
        """The digest; empty where the assistant has just spoken: nothing was ever asked there."""
        if not messages or messages[-1]["role"] == "assistant":
            return ""
        for message in messages[self._num_read : -1]:
            self._hash.update(msgspec.json.encode(message))
        self._num_read = len(messages) - 1
        digest = self._hash.copy()
        digest.update(msgspec.json.encode(messages[-1]))
        return digest.hexdigest()
