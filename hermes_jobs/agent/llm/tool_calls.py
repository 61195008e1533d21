"""Joins tool calls from the pieces in which endpoints send them.

OpenAI numbers the pieces by `index`. Others send no index, index 0 for every call, whole calls, arguments as
an object, or ids late, twice or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from hermes_jobs.agent.llm.payloads import text_of, well_formed
from hermes_jobs.domain.session.messages import ToolCall


@dataclass
class _Draft:
    id: str = ""
    name: str = ""
    arguments: str = ""
    extras: dict[str, object] = field(default_factory=dict)


class ToolCallJoiner:
    """Takes the pieces of one reply's tool calls in order. For one thread."""

    def __init__(self, extra_fields: Sequence[str] = ()) -> None:
        """`extra_fields` are the payload fields of a call."""
        self._extra_fields = extra_fields
        self._drafts: list[_Draft] = []
        self._by_index: dict[int, _Draft] = {}

    def feed(self, pieces: object) -> None:
        """Handle a `tool_calls` list of a streamed delta or of a whole message.

        Entries that are not calls are skipped.
        """
        if isinstance(pieces, Sequence) and not isinstance(pieces, str | bytes):
            for piece in pieces:
                if isinstance(piece, Mapping):
                    self._feed_one(piece)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in the order of their first pieces, each with a unique id."""
        ids = _unique([well_formed(draft.id) for draft in self._drafts])
        return tuple(
            ToolCall(key, well_formed(draft.name), well_formed(draft.arguments))
            for key, draft in zip(ids, self._drafts, strict=True)
        )

    def extras(self) -> dict[str, dict[str, object]]:
        """The extra fields of the calls that have any, by the call's index."""
        return {str(at): draft.extras for at, draft in enumerate(self._drafts) if draft.extras}

    def _feed_one(self, piece: Mapping[object, object]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        key, name = text_of(piece.get("id")), text_of(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        index = piece.get("index")
        draft = self._draft(index if isinstance(index, int) else None, key, name)
        if key and key == draft.id and arguments == draft.arguments and _is_whole(arguments):
            return  # a repetition of the whole call
        draft.id = draft.id or key
        if name != draft.name:
            draft.name += name
        draft.arguments += arguments
        draft.extras.update({name: piece[name] for name in self._extra_fields if piece.get(name)})

    def _draft(self, index: int | None, key: str, name: str) -> _Draft:
        found = self._by_index.get(index) if index is not None else self._without_index(key, name)
        if found is None or _is_another(found, key, name):
            found = _Draft()
            self._drafts.append(found)
        if index is not None:
            self._by_index[index] = found
        return found

    def _without_index(self, key: str, name: str) -> _Draft | None:
        if key:
            return next((draft for draft in self._drafts if draft.id == key), None)
        return self._drafts[-1] if self._drafts and not name else None


def _is_another(draft: _Draft, key: str, name: str) -> bool:
    """Whether a piece with that id and name begins another call, although its index is in use."""
    if key and draft.id:
        return key != draft.id
    return bool(name and draft.arguments and (name != draft.name or _is_whole(draft.arguments)))


def _is_whole(arguments: str) -> bool:
    """Whether the arguments are a complete JSON object."""
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return False


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _unique(ids: list[str]) -> Iterator[str]:
    taken: set[str] = set()
    fresh = (name for number in range(2 * len(ids)) if (name := f"call_{number}") not in ids)
    for given in ids:
        chosen = given if given and given not in taken else next(fresh)
        taken.add(chosen)
        yield chosen
