"""Text files in pages: a range of lines, and how to continue."""

from __future__ import annotations

import codecs
import os
from typing import BinaryIO

from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.tools.tool import ToolFailed

PAGE_CHARS = 50_000
HEADER_CHARS = 300
"""Reserved for the header, so that both together fit into a page."""
DEFAULT_LINES = 2_000
SNIFFED = 8_192
COUNTED_BYTES = 64 * 1024 * 1024
"""In a longer file the lines after the page are not counted."""
CHUNK = 1 << 20

_SIGNATURES = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or office document"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"SQLite format 3", "SQLite database"),
    (b"\xff\xfe", "UTF-16 text; convert it with `iconv -f utf-16 -t utf-8`"),
    (b"\xfe\xff", "UTF-16 text; convert it with `iconv -f utf-16 -t utf-8`"),
)


def page_room(context: ToolContext) -> int:
    """The maximum of characters of a page without its header: fewer if the model's window is small."""
    return min(PAGE_CHARS, context.result_chars) - HEADER_CHARS


def page(file: BinaryIO, path: str, offset: int, limit: int, column: int, *, limit_chars: int) -> str:
    """A header in brackets, then the lines from `offset` on; the first one from character `column` on; at
    most `limit_chars` characters of them.

    Raises `ToolFailed` for a binary file and for an offset behind the end.
    """
    size = os.fstat(file.fileno()).st_size
    refuse_binary(file, path, size)
    if not _more(file):
        return "[the file is empty]"
    skipped = _skip_lines(file, offset - 1)
    if not _more(file):
        raise ToolFailed(f"{path} ends with line {skipped:,}; offset {offset:,} is behind it.")
    lines, goes_on = _take(file, limit, column, limit_chars)
    last = offset + len(lines) - 1
    total = f" of {last + _count_lines(file):,}" if size <= COUNTED_BYTES and not goes_on else ""
    header = f"lines {offset:,}–{last:,}{total}"
    if column > 1:
        header += f", line {offset:,} from character {column:,} on"
    if goes_on:
        header += f"; line {last:,} is longer than a page: continue with offset={last}, column={goes_on}"
    elif _more(file):
        header += f"; continue with offset={last + 1}"
    return f"[{header}]\n{''.join(lines)}"


def refuse_binary(file: BinaryIO, path: str, size: int) -> None:
    """Raise `ToolFailed` if the beginning is not text; leave the file at its beginning."""
    start = file.read(SNIFFED)
    file.seek(0)
    kind = next((kind for signature, kind in _SIGNATURES if start.startswith(signature)), None)
    if kind is None and b"\0" in start:
        kind = "binary data"
    if kind is not None:
        raise ToolFailed(f"{path} is not a text file: {kind}, {size:,} bytes.")


def _take(file: BinaryIO, limit: int, column: int, limit_chars: int) -> tuple[list[str], int]:
    """The lines of the page, with the file positioned after them; and the column where its only line
    continues, or 0."""
    lines: list[str] = []
    while len(lines) < limit and _more(file):
        start = file.tell()
        text, is_complete = _read_line(file, 0 if lines else column - 1, limit_chars)
        if not is_complete and not lines:
            return [text], column + len(text)
        if not is_complete:
            file.seek(start)
            break
        lines.append(text)
        limit_chars -= len(text)
    return lines, 0


def _read_line(file: BinaryIO, skip: int, maximum: int) -> tuple[str, bool]:
    """The rest of the line without its first `skip` characters; false when it is cut after `maximum`."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    while True:
        piece = file.readline(CHUNK)
        ended = not piece or piece.endswith(b"\n")
        decoded = decoder.decode(piece, final=ended)
        text += decoded[skip:]
        skip = max(0, skip - len(decoded))
        if len(text) > maximum:
            return text[:maximum], False
        if ended:
            return text, True


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Move behind `count` lines, or to the end; return how many lines were passed."""
    passed = 0
    while passed < count:
        start = file.tell()
        chunk = file.read(CHUNK)
        if not chunk:
            return passed
        newlines = chunk.count(b"\n")
        if passed + newlines < count:
            passed += newlines
            if not _more(file) and not chunk.endswith(b"\n"):
                return passed + 1
            continue
        position = -1
        for _ in range(count - passed):
            position = chunk.index(b"\n", position + 1)
        file.seek(start + position + 1)
        return count
    return passed


def _count_lines(file: BinaryIO) -> int:
    """The lines from here to the end; the file is left where it was."""
    start, count, last = file.tell(), 0, b"\n"
    while chunk := file.read(CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    file.seek(start)
    return count + (last != b"\n")


def _more(file: BinaryIO) -> bool:
    start = file.tell()
    more = bool(file.read(1))
    file.seek(start)
    return more
