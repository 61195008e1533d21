"""Server-sent events, decoded from bytes that arrive in any pieces: the data of each event.

Lines end with LF, CRLF or CR and with nothing else; what ends without a blank line counts all the same, as
endpoints leave it out. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\n|\r")
DONE = "[DONE]"
"""The data that ends a Chat Completions stream."""


class EventDecoder:
    """Takes bytes in order. For one stream."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of the events that this piece completes. Raises UnicodeDecodeError."""
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        if self._rest == b"" and piece.endswith(b"\r") and lines:
            self._rest = lines.pop() + b"\r"  # an LF that belongs to it may follow
        yield from self._read(lines)

    def finish(self) -> Iterator[str]:
        """The data of the event that the end of the stream completes, if any."""
        yield from self._read([self._rest.rstrip(b"\r"), b""])

    def _read(self, lines: list[bytes]) -> Iterator[str]:
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" ").decode())
            elif not line and self._data:
                data, self._data = "\n".join(self._data), []
                if data.strip():
                    yield data
