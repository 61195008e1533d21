"""A text as messages: packed up to Telegram's limits, code never cut, long code as a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from hermes_jobs.features.telegram.markdown import Block
from hermes_jobs.features.telegram.rich_text import (
    MAX_ENTITIES,
    Entity,
    Run,
    Runs,
    entities,
    parts,
    plain,
    sliced,
    stripped,
)
from hermes_jobs.features.telegram.splitting import units

LIMIT = 4_096
"""UTF-16 units that a message may have (https://core.telegram.org/bots/api#sendmessage)."""

MAX_CODE = 3_500
"""UTF-16 units of code beyond which it is a file: on a phone it is read there, and a fence is never cut."""

MIN_FILL = 0.5
"""A message that is filled less than this gets the beginning of a block that does not fit."""

_FILE_TYPES = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "shell": "sh", "": "txt"}


class TextPart(msgspec.Struct, frozen=True):
    """A message: its text and its entities."""

    text: str
    entities: Sequence[Entity] = ()


class FilePart(msgspec.Struct, frozen=True):
    """A file with code, and its name."""

    name: str
    content: str


Part = TextPart | FilePart


def text_part(runs: Runs) -> TextPart:
    """The message with these runs."""
    runs = stripped(runs)
    return TextPart(plain(runs), entities(runs))


def packed(blocks: Iterable[Block], limit: int = LIMIT, max_code: int = MAX_CODE) -> list[Part]:
    """The blocks in messages of at most `limit` UTF-16 units, in order. Blank blocks are left out."""
    return list(_Packer(limit, min(max_code, limit)).parts(blocks))


class _Packer:
    """Fills one message after the other."""

    def __init__(self, limit: int, max_code: int) -> None:
        self._limit = limit
        self._max_code = max_code
        self._runs: Runs = ()

    def parts(self, blocks: Iterable[Block]) -> Iterator[Part]:
        """The messages and files, in order."""
        files = 0
        for block in blocks:
            if not block.text.strip():
                continue
            if block.is_code and units(block.text) > self._max_code:
                yield from self._flush()
                files += 1
                yield FilePart(_file_name(block.language, files), f"{block.text}\n")
            else:
                yield from self._add(block)
        yield from self._flush()

    def _add(self, block: Block) -> Iterator[Part]:
        joined = (*self._runs, Run(block.gap), *block.runs) if self._runs else block.runs
        if self._fits(joined):
            self._runs = joined
            return
        if block.is_code or units(plain(self._runs)) >= self._limit * MIN_FILL:
            yield from self._flush()
            yield from self._add_to_empty(block)
            return
        room = self._limit - units(plain(self._runs)) - len(block.gap)
        first = next(parts(block.runs, room)) if self._runs and room > self._limit * MIN_FILL else ()
        if first and self._fits((*self._runs, Run(block.gap), *first)):
            self._runs = (*self._runs, Run(block.gap), *first)
            block = Block(sliced(stripped(block.runs), len(plain(first)), len(block.text)))
        yield from self._flush()
        yield from self._add_to_empty(block)

    def _add_to_empty(self, block: Block) -> Iterator[Part]:
        *full, last = [block.runs] if self._fits(block.runs) else list(parts(block.runs, self._limit))
        yield from map(text_part, full)
        self._runs = last

    def _fits(self, runs: Runs) -> bool:
        """Whether they are one message. Of a block by itself, entities above the limit are left out."""
        fits = units(plain(runs)) <= self._limit
        return fits and (not self._runs or len(entities(runs)) < MAX_ENTITIES)

    def _flush(self) -> Iterator[Part]:
        if plain(self._runs).strip():
            yield text_part(self._runs)
        self._runs = ()


def _file_name(language: str, number: int) -> str:
    name = language.lower()
    ending = _FILE_TYPES.get(name, name if re.fullmatch(r"[a-z0-9]{1,10}", name) else "txt")
    return f"code-{number}.{ending}" if number > 1 else f"code.{ending}"
