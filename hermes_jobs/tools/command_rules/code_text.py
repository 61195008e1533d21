"""The words of code on the command line: its names, the texts in its quotes, the places that these name."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache, cached_property

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.sensitive_paths import kind_of
from hermes_jobs.tools.tables import load, pattern, words

TEXT = re.compile(r"\\.|'(?P<single>(?:[^'\\\n]|\\.)*+)'|\"(?P<double>(?:[^\"\\\n]|\\.)*+)\"", re.DOTALL)
_DOUBLE = re.compile(r"\\.|\"(?P<double>(?:[^\"\\\n]|\\.)*+)\"", re.DOTALL)  # where an apostrophe is no quote
_LIVE = re.compile(r"[$`]|#\{|\\\(|\[")  # a text in which some language evaluates code
_NAME = re.compile(r"(?:\?\.|->|::|\.)?[^\W\d]\w*+(?:(?:[.:/]{1,2}|->|-|\?\.)[^\W\d]\w*+)*+")
_SEGMENT = re.compile(r"\?\.|->|[.:/]")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNQUOTED = re.compile(r"(?<![\w.)$/])(?:~|\.\.)?/[\w.@/-]{2,200}")
_PATH = re.compile(r"(?:file://)?(?P<path>(?:~|\.{1,2})?/?[\w.@%+ /-]{1,250})")
ADDRESS = re.compile(
    r"\bhttps?://(?:[^/@\s'\"]{0,100}@)?(?P<host>\[[\da-fA-F:]{2,45}\]|[\w.-]{1,200})[^\s'\"]{0,500}"
)
LOOPBACK = re.compile(r"localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\]|[\w.-]+\.localhost|example\.\w+")


@dataclass(frozen=True)
class CodeWords:
    """The names and texts of code in a language, which runs in a folder."""

    language: str
    code: str
    folder: str
    context: CommandContext

    @property
    def _quoted(self) -> re.Pattern[str]:
        return _DOUBLE if self.language in words("code", "apostrophes") else TEXT

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What stands in quotes."""
        found = (
            match.groupdict().get("single") or match["double"] for match in self._quoted.finditer(self.code)
        )
        return tuple(dict.fromkeys(text for text in found if text))

    @cached_property
    def stripped(self) -> str:
        """The code without what looks like a deed and is none."""
        code = self.code
        for harmless in _harmless(self.language):
            code = harmless.sub(" ", code)
        if "sqlite" in code or "duckdb" in code:
            code = pattern("code", "harmless_in_files").sub(" ", code)
        code = pattern("code", "writes_own").sub(self._without_own_file, code)
        if self.is_local:
            code = _SENDS_TO.sub(" ", code)
        return code

    def _without_own_file(self, written: re.Match[str]) -> str:
        """Nothing, for the writing of an ordinary file of the folder; the same text for any other."""
        name = written["path"].strip("'\"")
        is_plain = ".." not in name and self.kind(name) is None
        return f" {written['path']} " if is_plain else written.group()

    @cached_property
    def bare(self) -> str:
        """The code without texts that are only texts."""
        return self._quoted.sub(
            lambda text: text.group() if _LIVE.search(text.group()) else '""', self.stripped
        )

    @cached_property
    def segments(self) -> frozenset[tuple[tuple[str, ...], bool]]:
        """Of the names outside of texts each segment: its parts in small letters, and whether it is the last
        one of several, as a method is."""
        split = _SEGMENT if self.language not in words("code", "pointed") else _COLONS
        found: set[tuple[str, bool]] = set()
        for name in dict.fromkeys(_NAME.findall(self.bare)):
            *first, last = split.split(name)
            if not last.isupper():
                found.update((segment, False) for segment in first)
                found.add((last, bool(first)))
        return frozenset(
            (tuple(part.lower() for part in PART.findall(segment)), is_last) for segment, is_last in found
        )

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of all names."""
        return frozenset(part for segment, _ in self.segments for part in segment)

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        """The hosts of addresses in it."""
        return tuple(match["host"].lower() for match in ADDRESS.finditer(self.code))

    @cached_property
    def is_local(self) -> bool:
        """Whether it names addresses, all of them of this machine."""
        hosts = [host for host in self.addresses if not host.startswith("example")]
        return bool(hosts) and all(map(LOOPBACK.fullmatch, hosts))

    @cached_property
    def asks_elsewhere(self) -> bool:
        """Whether it asks another machine."""
        if self.is_local:
            return False
        if pattern("code", "connects").search(self.code):
            return True
        may_be_text = self.language in words("code", "texts_with_addresses")
        return bool(self.addresses) and not (
            may_be_text and self.parts.isdisjoint(words("code", "connecting"))
        )

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The texts that look like paths."""
        texts = [*self.texts]
        if self.language in words("code", "unquoted"):
            texts += dict.fromkeys(_UNQUOTED.findall(self.code))
        return tuple(match["path"] for text in texts if (match := _PATH.fullmatch(text)) and "//" not in text)

    @cached_property
    def outside(self) -> bool:
        """Whether it names a place outside the folders where commands may write, or the person's home."""
        if pattern("code", "home").search(self.code):
            return True
        named = [path for path in self.paths if path[0] in "/~" or path.startswith("..")]
        real = [
            self.context.real(self._absolute(path)) for path in named if path.strip("/") and " " not in path
        ]
        return any(not any(is_inside(path, folder) for folder in self.context.writable) for path in real)

    def kind(self, path: str) -> str | None:
        """The protection of a file by its name: from the folder, and as if it were one of the home."""
        home = self.context.paths.user_home
        below = kind_of(os.path.join(home, path.lstrip("~/")), home) if "." in path else None
        return kind_of(os.path.normpath(self._absolute(path)), home) or below

    def _absolute(self, path: str) -> str:
        home = self.context.paths.user_home
        return os.path.normpath(os.path.join(self.folder, f"{home}{path[1:]}" if path[0] == "~" else path))


_COLONS = re.compile(r"::|\?\.|->|/")
_SENDS_TO = re.compile(
    r"(?i)\b(?:requests|httpx|axios|http|https|client|session|faraday|httparty|restclient)\.(?:post|put|patch)\b"
    r"|method\s*[:=]\s*['\"](?:POST|PUT|PATCH)['\"]"
)


@cache
def _harmless(language: str) -> tuple[re.Pattern[str], ...]:
    return (pattern("code", "harmless"), *of_language("harmless_of", language))


@cache
def of_language(table: str, language: str) -> tuple[re.Pattern[str], ...]:
    """The expressions of a table for a language."""
    return tuple(
        re.compile(text, re.MULTILINE)
        for names, text in load("code")[table].items()
        if language in names.split()
    )
