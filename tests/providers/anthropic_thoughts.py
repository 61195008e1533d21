"""What a model thought: signed where it is said, and verified where it comes back.

Sources: https://platform.claude.com/docs/en/build-with-claude/thinking (preserving thinking blocks),
https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (the messages).
"""

from __future__ import annotations

import hmac
import json
import re
import threading
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from hermes_jobs.llm.anthropic.abilities import abilities
from tests.providers.anthropic_rules import THOUGHTS, blocks

Json = dict[str, Any]

REDACTED = "[redacted]"
"""An answer whose reasoning begins so has that block in its encrypted form."""

_BINDS = re.compile(r"fable-5-[12]|(?:opus|sonnet|haiku)-5-5")


class Thoughts:
    """Signs thoughts, and refuses those that were altered, left out or moved. Safe for many threads.

    `binds`: a thought holds only after the very conversation that it was thought in; null: as the model's
    documentation says.
    """

    def __init__(self, *, binds: bool | None = None) -> None:
        self.binds = binds
        self._lock = threading.Lock()
        self._said: dict[str, tuple[str, bytes]] = {}  # by signature or data: the model, and what came before
        self._with_call: dict[str, list[Json]] = {}  # by a call's id: what was thought before it
        self._refused = False

    def think(self, body: Json, reasoning: str, calls: list[str]) -> list[Json]:
        """The blocks of what was thought before an answer with these calls."""
        if not reasoning or is_off(body):
            return []
        before = _prefix(body, len(body["messages"]))
        with self._lock:
            told = f"{body['model']} {reasoning} {len(self._said)}".encode()
        signed = f"{hmac.new(b'double', told + before, sha256).hexdigest()}+/=="  # as opaque as real ones
        if reasoning.startswith(REDACTED):
            made: list[Json] = [{"type": "redacted_thinking", "data": signed}]
        else:
            made = [{"type": "thinking", "thinking": reasoning if shows(body) else "", "signature": signed}]
        with self._lock:
            self._said[signed] = (body["model"], before)
            self._with_call |= dict.fromkeys(calls, made)
        return made

    def violations(self, body: Json) -> Iterator[str]:
        """What the API would refuse of the thoughts in the request."""
        with self._lock:
            found = [*self._altered(body), *self._left_out(body)]
            self._refused = self._refused or bool(found)
        yield from found

    def _altered(self, body: Json) -> Iterator[str]:
        """Signatures are those that were given; in models that bind them, for this conversation."""
        for at, block, _ in blocks(body):
            if block["type"] not in THOUGHTS:
                continue
            model, before = self._said.get(block.get("signature") or block.get("data") or "", ("", b""))
            if not model:
                yield f"{at}: Invalid `signature` in `{block['type']}` block"
            elif self._is_bound(body["model"]) and model == body["model"]:
                number = int(at.split(".")[1])
                if before != _prefix(body, number):
                    yield (
                        f"{at}: Invalid `signature` in `thinking` block. The block is bound to a different "
                        "conversation. Remove the block, or set "
                        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                    )

    def _left_out(self, body: Json) -> Iterator[str]:
        """In the tool loop at the end, what was thought before a call comes back with it, as it was.

        Without any thought: after a refusal of one, all may be left out; then nothing is thought in a budget.
        """
        if is_off(body):
            return
        for number in range(len(body["messages"]) - 1, -1, -1):
            content = body["messages"][number]["content"]
            listed = content if isinstance(content, list) else []
            kinds = [block["type"] for block in listed]
            if body["messages"][number]["role"] == "user":
                if "tool_result" not in kinds:
                    return
                continue
            thoughts = [block for block in listed if block["type"] in THOUGHTS]
            called = [block["id"] for block in listed if block["type"] == "tool_use"]
            wanted = next((self._with_call[call] for call in called if call in self._with_call), [])
            if self._would_be_refused(wanted, body, number):
                wanted = []
            if has_budget(body) and called and kinds[0] not in THOUGHTS:
                yield (
                    f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
                    f"found `{kinds[0]}`. When `thinking` is enabled, a final `assistant` message must start "
                    "with a thinking block."
                )
            elif (
                thoughts != wanted and self._is_own(wanted, body["model"]) and (thoughts or not self._refused)
            ):
                yield (
                    f"messages.{number}.content.0: `thinking` or `redacted_thinking` blocks in the latest "
                    "assistant message cannot be modified. These blocks must remain as they were."
                )

    def _would_be_refused(self, thoughts: list[Json], body: Json, number: int) -> bool:
        """What is bound to another conversation is to be left out, as the refusal of it says."""
        keys = [block.get("signature") or block.get("data") or "" for block in thoughts]
        before = _prefix(body, number)
        return self._is_bound(body["model"]) and any(self._said[key][1] != before for key in keys)

    def _is_own(self, thoughts: list[Json], model: str) -> bool:
        keys = [block.get("signature") or block.get("data") or "" for block in thoughts]
        return bool(keys) and all(self._said[key][0] == model for key in keys)

    def _is_bound(self, model: str) -> bool:
        return bool(_BINDS.search(model)) if self.binds is None else self.binds


def is_off(body: Json) -> bool:
    """Whether the model does not think: by the request, or where it says nothing, by itself."""
    kind = (body.get("thinking") or {}).get("type")
    if kind is not None:
        return kind in {"disabled", "between_tools"}
    can = abilities(body["model"])
    return can.thinking != "adaptive" or can.off == "omitted"


def has_budget(body: Json) -> bool:
    """Whether the model thinks within a budget."""
    return (body.get("thinking") or {}).get("type") == "enabled"


def shows(body: Json) -> bool:
    """Whether what is thought is returned as text: by itself up to Claude 4.6, else where it is asked for."""
    display = (body.get("thinking") or {}).get("display")
    return display == "summarized" if display else has_budget(body)


def _prefix(body: Json, number: int) -> bytes:
    """What stands before a message: tools, system prompt and earlier messages, without marks."""
    before = [body.get("tools"), body.get("system"), body["messages"][:number]]
    return sha256(json.dumps(_unmarked(before), sort_keys=True).encode()).digest()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value
