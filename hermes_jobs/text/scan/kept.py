"""What the scan derives from its tables, kept between processes.

Reading the tables and compiling their patterns takes a second of CPU time. The rules, the lexicon and the
code that `re` makes of each pattern are given to a store, from which later processes read them. What is
kept counts for the same version of Python and the same files of this package only. Without a store, and
where Python is not CPython, tables are read and patterns are compiled as they are needed.
"""

from __future__ import annotations

import marshal
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any, Protocol

Key = tuple[str, int]
"""A pattern and its flags."""


class Store(Protocol):
    """One file, written by this program alone."""

    def read(self) -> bytes | None:
        """Its content, empty if nothing is kept; None if nothing can be."""

    def write(self, content: bytes) -> None:
        """Replace it; a failure is no error."""


Derive = Callable[[], tuple[dict[str, object], set[Key]]]
"""Makes what is kept: see `derived`."""


def keep_in(store: Store, derive: Derive) -> None:
    """Use this store from the next look-up on; the first one of a process counts."""
    if not _stores:
        _stores.append((store, derive))
        _kept.cache_clear()


_stores: list[tuple[Store, Derive]] = []


def table(name: str) -> object:
    """What `content` made under this name; None without a store."""
    return _kept()[0].get(name)


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns, without its work where the pattern's code is kept."""
    if code := _kept()[1].get((pattern, flags)):
        with suppress(ValueError, TypeError, RuntimeError, EOFError):  # code of another engine
            return _compiler._sre.compile(*marshal.loads(code))  # type: ignore[no-any-return]  # noqa: SLF001
    return re.compile(pattern, flags)


def codes(patterns: Iterable[Key]) -> dict[Key, bytes]:
    """For each pattern what `re.compile` passes to the engine, as `marshal` writes it."""
    return {(pattern, flags): marshal.dumps(_code(pattern, flags)) for pattern, flags in patterns}


def _code(pattern: str, flags: int) -> tuple[Any, ...]:
    """As `re._compiler.compile` has it."""
    parsed = _parser.parse(pattern, flags)
    names: dict[str, int] = parsed.state.groupdict
    places: list[str | None] = [None] * parsed.state.groups
    for name, at in names.items():
        places[at] = name
    code = list(map(int, _compiler._code(parsed, flags)))  # noqa: SLF001
    return pattern, int(flags | parsed.state.flags), code, parsed.state.groups - 1, names, tuple(places)


@cache
def _kept() -> tuple[Mapping[str, object], Mapping[Key, bytes]]:
    if not _stores or sys.implementation.name != "cpython":
        return {}, {}
    store, derive = _stores[0]
    content = store.read()
    if content is None:
        return {}, {}
    key = _key()
    with suppress(ValueError, TypeError, EOFError):
        of, tables, code = marshal.loads(content)
        if of == key:
            return tables, code
    tables, patterns = derive()
    code = codes(patterns)
    store.write(marshal.dumps((key, tables, code)))
    return tables, code


def _key() -> bytes:
    """A digest of this package's files and of Python's version."""
    from importlib import resources

    digest = blake2b(f"{sys.version} {_compiler._sre.MAGIC}".encode(), digest_size=20)  # noqa: SLF001
    package = resources.files(__package__ or "")
    for folder in (package, package.joinpath("data")):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".toml")):
                digest.update(file.read_bytes())
    return digest.digest()
