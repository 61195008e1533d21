"""Prompt caching as Anthropic documents it, counted in tokens.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from tests.model_script import CHARACTERS_A_TOKEN

Json = dict[str, Any]

LOOKBACK = 20  # blocks before a mark in which an earlier mark is looked for
SMALLEST = 1024  # tokens: a shorter prefix is not kept


class Counted(msgspec.Struct, frozen=True):
    """The input of one request in tokens: what was not kept, what was read, and what was written."""

    fresh: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def usage(self) -> Json:
        """As the API reports it."""
        return {
            "input_tokens": self.fresh,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }

    @property
    def total(self) -> int:
        """All of the input."""
        return self.fresh + self.read + self.written_5m + self.written_1h


class _Place(msgspec.Struct, frozen=True):
    """A block of the prompt: what all up to it hash to, how large they are, and the mark on it."""

    digest: bytes
    tokens: int
    ttl: str | None


class PromptCache:
    """What was kept of the prompts so far; nothing is ever forgotten. Safe for many threads."""

    def __init__(self, smallest: int = SMALLEST) -> None:
        self._smallest = smallest
        self._lock = threading.Lock()
        self._kept: set[bytes] = set()

    def count(self, body: Json) -> Counted:
        """The input of the request; what its marks end at is kept from now on."""
        places = list(_places(body))
        marks = [at for at, place in enumerate(places) if place.ttl is not None]
        total = places[-1].tokens if places else 0
        with self._lock:
            found = [self._found(places, at) for at in marks]
            read = max((places[at].tokens for at in found if at is not None), default=0)
            written = {"5m": 0, "1h": 0}
            reached = read
            for place in (places[at] for at in marks):
                if place.tokens >= self._smallest:
                    self._kept.add(place.digest)
                    if place.tokens > reached:
                        written[place.ttl or "5m"] += place.tokens - reached
                        reached = place.tokens
        return Counted(total - reached, read, written["5m"], written["1h"])

    def _found(self, places: list[_Place], mark: int) -> int | None:
        near = range(mark, max(-1, mark - LOOKBACK - 1), -1)
        return next((at for at in near if places[at].digest in self._kept), None)


def _places(body: Json) -> Iterator[_Place]:
    """The blocks in the order in which they make up a prompt: tools, system, messages.

    The model is part of all; thinking and the choice of tools are part of the messages alone.
    """
    digest, characters = sha256(body["model"].encode()).digest(), 0
    for part, block in _blocks(body):
        said = json.dumps([part, {**block, "cache_control": None}], sort_keys=True, ensure_ascii=False)
        digest = sha256(digest + said.encode("utf-8", "surrogatepass")).digest()
        characters += len(json.dumps(block, ensure_ascii=False)) if block else 0
        mark = block.get("cache_control")
        yield _Place(digest, characters // CHARACTERS_A_TOKEN, mark.get("ttl", "5m") if mark else None)


def _blocks(body: Json) -> Iterator[tuple[str, Json]]:
    yield from (("tools", tool) for tool in body.get("tools") or [])
    system = body.get("system") or []
    yield from (
        ("system", block)
        for block in ([{"type": "text", "text": system}] if isinstance(system, str) else system)
    )
    how = json.dumps([body.get("thinking"), body.get("output_config"), body.get("tool_choice")])
    for message in body["messages"]:
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from ((f"{how} {message['role']}", block) for block in listed)
