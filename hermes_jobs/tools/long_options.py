"""Long options that are shortened (`rm --rec`) and written out, so that rules need to know only whole ones.

Most programs take any beginning of a long option that fits only one. What a beginning may stand for are the
options that the tables name for the program; `data/long_options.toml` has those that only code names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from hermes_jobs.tools.tables import load

_FILES = (
    "long_options", "privileges", "deletions", "interpreters", "outside_code", "software", "secrets",
    "writes", "network", "services", "system", "unconfined", "known", "code", "reading", "wrappers",
)  # fmt: skip
_VERSION = "0123456789."
_NAMED = re.compile(r"--\??(?:\((?:\?:)?(?P<several>[\w|-]+)\)|(?P<one>\w[\w-]*))")


def with_whole_options(name: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a program, each shortened option as the options that it may stand for."""
    if not any(word.startswith("--") and word != "--" for word in arguments):
        return arguments
    named = [_options().get(program, _NONE) for program in dict.fromkeys(_programs(name, arguments))]
    before = len(list(takewhile("--".__ne__, arguments)))
    return (*(each for word in arguments[:before] for each in _written_out(word, named)), *arguments[before:])


@dataclass(frozen=True)
class _Options:
    """The options that tables name for a program: as they are, and as the beginnings of others."""

    whole: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)


_NONE = _Options()


def _written_out(word: str, named: Sequence[_Options]) -> Iterator[str]:
    option, equals, value = word.partition("=")
    if option[:2] != "--" or option == "--" or any(option in one.whole for one in named):
        yield word
        return
    found = {
        other
        for one in named
        for other in one.whole | one.stems
        if other.startswith(option) and other != option
    }
    longest = [one for one in found if not any(other.startswith(one) and other != one for other in found)]
    yield from (f"{one}{equals}{value}" for one in sorted(longest) or [option])


def _programs(name: str, arguments: tuple[str, ...]) -> Iterator[str]:
    """The names by which tables know it, with what may be its verb or module."""
    yield name
    yield name.rstrip(_VERSION)
    if name == "git":
        yield from (f"git-{word}" for word in arguments if f"git-{word}" in _options())
    elif "-m" in arguments[:-1]:
        module = arguments[arguments.index("-m") + 1]
        yield from (module, f"python-m-{module}")


@cache
def _options() -> Mapping[str, _Options]:
    """By program, the long options that the tables name."""
    found: dict[str, _Options] = {}
    for file in _FILES:
        for programs, text in _texts(load(file), ""):
            listed = all(word.startswith("-") for word in text.split())
            names = {
                f"--{one}"
                for match in _NAMED.finditer(text)
                for one in (match["several"] or match["one"]).split("|")
                if one.strip("-")
            }
            for program in programs.split() if names else ():
                options = found.setdefault(program, _Options())
                (options.whole if listed else options.stems).update(names)
    return found


def _texts(node: Any, programs: str) -> Iterator[tuple[str, str]]:
    """The texts of a table with the programs that they are for: by the key, or the field `programs`."""
    if isinstance(node, str):
        yield programs, node
    elif isinstance(node, list):
        for each in node:
            yield from _texts(each, programs)
    elif isinstance(node, dict):
        own = node.get("programs", "") if isinstance(node.get("programs"), str) else ""
        for key, value in node.items():
            is_excuse = key.startswith("unless") and isinstance(value, str)
            if not is_excuse and key != "programs":
                yield from _texts(value, own or (programs if key == "long_valued" else key))
