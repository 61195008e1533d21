"""One search of files, in a subprocess: `subprocess_call` runs this module.

A regular expression can run without end and cannot be stopped in a thread; here SIGALRM stops it.
"""

# Paths are compared as text and opened by descriptor here, which pathlib hides.

from __future__ import annotations

import os
import re
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from pathspec import GitIgnoreSpec

from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.file_walk import WalkedFile, candidates, open_regular
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.subprocess_call import REQUEST, respond

Mode = Literal["content", "files", "count", "names"]

MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_NAMED_BYTES = 64 * 1024 * 1024  # of a file that the call names
MAX_MEMORY = 2 * 1024**3
SNIFFED = 8_192
MAX_LINE_CHARS = 300
BEFORE_MATCH = 100  # characters of a longer line shown before its match
NAMED_LARGE = 5


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for. `base` is a real path, `workdir` what paths are shown from, `room` characters."""

    paths: PathPolicy
    base: str
    top: str
    workdir: str
    pattern: str
    glob: str | None
    mode: Mode
    context: int
    ignore_case: bool
    offset: int
    limit: int
    limit_chars: int
    seconds: int


class SearchEnding(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of the response. `more`: there are results after the last one shown."""

    shown: int = 0
    more: bool = False
    files: int = 0
    large: tuple[str, ...] = ()
    num_large: int = 0
    stopped_in: str | None = None
    wrong: str | None = None


class SearchOutOfTime(BaseException):
    """The time limit has passed."""


class PageFull(Exception):
    """A result does not fit on the page."""


@dataclass
class Page:
    """The results so far, and the file that is being searched."""

    query: Query
    passed: int = 0
    shown: int = 0
    remaining_chars: int = 0
    files: int = 0
    now_in: str = ""
    large: list[str] = field(default_factory=list)

    def add(self, text: str) -> bool:
        """Print the next result; return False if it belongs to an earlier page. Raises `PageFull`."""
        if self.passed < self.query.offset:
            self.passed += 1
            return False
        if self.shown >= self.query.limit or len(text) + 1 > self.remaining_chars:
            raise PageFull
        self.remaining_chars -= len(text) + 1
        self.shown += 1
        respond(text)
        return True

    def ending(self, **more: object) -> SearchEnding:
        """The current page."""
        return msgspec.structs.replace(
            SearchEnding(
                shown=self.shown,
                files=self.files,
                large=tuple(self.large[:NAMED_LARGE]),
                num_large=len(self.large),
            ),
            **more,
        )


def main() -> None:
    """Read the request from the environment, search, and print the results."""
    query = msgspec.json.decode(os.environ[REQUEST], type=described(Query))
    with suppress(ValueError, OSError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.alarm(query.seconds)
    page = Page(query, remaining_chars=query.limit_chars)
    try:
        ending = _search(query, page)
    except SearchOutOfTime:
        ending = page.ending(stopped_in=page.now_in)
    except (MemoryError, RecursionError):
        ending = page.ending(wrong="the pattern is too complex: it ran out of memory.")
    signal.alarm(0)
    respond(msgspec.to_builtins(ending))


def _on_alarm(_number: int, _frame: object) -> None:
    raise SearchOutOfTime


def _search(query: Query, page: Page) -> SearchEnding:
    try:
        pattern = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    except (re.error, OverflowError) as error:
        return SearchEnding(wrong=f"the pattern is not a valid regular expression: {error}.")
    try:
        matches = _glob_filter(query.glob) if query.glob else lambda _relative: True
    except ValueError as error:
        return SearchEnding(wrong=f"the glob {query.glob} is not valid: {error}.")
    try:
        for candidate in candidates(query.base, query.top, query.paths):
            if matches(candidate.relative):
                _search_file(candidate, pattern, query, page)
    except PageFull:
        return page.ending(more=True)
    return page.ending()


def _glob_filter(glob: str) -> Callable[[str], bool]:
    """A test of paths against a glob with the syntax of .gitignore; `!` inverts it. Raises `ValueError`."""
    spec = GitIgnoreSpec.from_lines(_expand_braces(glob.removeprefix("!")))
    return lambda relative: spec.match_file(relative) != glob.startswith("!")


def _expand_braces(glob: str) -> list[str]:
    """The globs that `{a,b}` expands to."""
    match = re.search(r"\{([^{}]*)\}", glob)
    if match is None:
        return [glob]
    parts = (glob[: match.start()] + alternative + glob[match.end() :] for alternative in match[1].split(","))
    return [line for part in parts for line in _expand_braces(part)]


def _search_file(candidate: WalkedFile, pattern: re.Pattern[str], query: Query, page: Page) -> None:
    page.now_in = shown_path = _shown(candidate.path, query.workdir)
    if query.mode == "names":
        page.files += 1
        if pattern.search(candidate.relative):
            page.add(shown_path)
        return
    text = _text(candidate, query, page)
    if text is None:
        return
    page.files += 1
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if query.mode == "files":
        if any(pattern.search(line) for line in lines):
            page.add(shown_path)
    elif query.mode == "count":
        count = sum(1 for line in lines if pattern.search(line))
        if count:
            page.add(f"{shown_path}: {count:,}")
    else:
        _content(shown_path, lines, pattern, page)


def _shown(path: str, workdir: str) -> str:
    relative = os.path.relpath(path, workdir) if is_inside(path, workdir) else path
    return relative.encode(errors="replace").decode()  # the name may hold any bytes


def _text(candidate: WalkedFile, query: Query, page: Page) -> str | None:
    """The file's text; None if it is binary, too large, or cannot be read."""
    descriptor = open_regular(candidate.path)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > (MAX_NAMED_BYTES if candidate.path == query.base else MAX_FILE_BYTES):
            page.large.append(_shown(candidate.path, query.workdir))
            return None
        start = file.read(SNIFFED)
        if b"\0" in start:
            return None
        return (start + file.read()).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _content(shown_path: str, lines: list[str], pattern: re.Pattern[str], page: Page) -> None:
    """Each matching line is one result, with the lines around it that no other result shows."""
    around = page.query.context
    hits = _hits(lines, pattern)
    hit = next(hits, None)
    last, titled = -1, False
    while hit is not None:
        following = next(hits, None) if around else None
        index, match = hit
        end = min(index + around, len(lines) - 1, following[0] - 1 if following else len(lines))
        start = max(index - around, last + 1)
        block = [_line(i, lines[i], match if i == index else None) for i in range(start, end + 1)]
        if not titled:
            block.insert(0, f"\n{shown_path}" if page.shown else shown_path)
        elif around and start > last + 1:
            block.insert(0, "--")
        titled = page.add("\n".join(block)) or titled
        last = end
        hit = following if around else next(hits, None)


def _hits(lines: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for index, line in enumerate(lines):
        match = pattern.search(line)
        if match is not None:
            yield index, match


def _line(index: int, line: str, match: re.Match[str] | None) -> str:
    """The line under its number, `:` behind that of a match; of a long one the part around the match."""
    start = max(0, match.start() - BEFORE_MATCH) if match and len(line) > MAX_LINE_CHARS else 0
    part = line[start : start + MAX_LINE_CHARS]
    cut = "…" if start + MAX_LINE_CHARS < len(line) else ""
    return f"{index + 1}{':' if match else '-'} {'…' if start else ''}{part}{cut}"


if __name__ == "__main__":
    main()
