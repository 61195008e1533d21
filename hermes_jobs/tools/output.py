"""A command's output: bounded in memory, and as readable text."""

from __future__ import annotations

import codecs
import re

HEAD_DIVISOR = 8
"""Of output over the limit, this fraction of the limit is stored from its head, and as much from its tail."""


class BoundedOutput:
    """Output up to `limit` bytes; beyond that only its head and tail are stored."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keep = max(1, limit // HEAD_DIVISOR)
        self._head = bytearray()
        self._tail: bytearray | None = None
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Append bytes."""
        self._total += len(chunk)
        if self._tail is None:
            self._head += chunk
            if len(self._head) <= self._limit:
                return
            self._tail = self._head[self._keep :]
            del self._head[self._keep :]
        else:
            self._tail += chunk
        if len(self._tail) > 2 * self._keep:
            del self._tail[: -self._keep]

    @property
    def head(self) -> bytes:
        """The whole output, or the part stored of its beginning."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """Empty, or the part stored of its end."""
        return b"" if self._tail is None else bytes(self._tail[-self._keep :])

    @property
    def cut(self) -> int:
        """The number of bytes left out between the two."""
        return self._total - len(self.head) - len(self.tail)


def plain_text(collected: BoundedOutput) -> str:
    """The output as text: UTF-8 with `�` for invalid bytes, without escape sequences, with a note where it
    was cut."""
    if not collected.cut:
        return clean(collected.head.decode(errors="replace"))
    # The cut may fall within a character: its parts are left out rather than shown as broken.
    head = codecs.getincrementaldecoder("utf-8")("replace").decode(collected.head)
    tail = re.sub(rb"\A[\x80-\xbf]{1,3}", b"", collected.tail).decode(errors="replace")
    return f"{clean(head)}\n\n[… {collected.cut:,} bytes of output were left out here …]\n\n{clean(tail)}"


_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]{0,10000}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links
    r"|\x1b[ -/]*[0-~]"  # two characters and the like
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"  # control characters other than tab, newline, return
)


def clean(text: str) -> str:
    """The text without escape sequences and control characters, with plain newlines."""
    return _ESCAPES.sub("", text).replace("\r\n", "\n")
