"""Commands that were written before the rules that judge them, to measure these.

`dangerous.txt` has a `## family` before each family of commands that ask, `everyday.txt` those that simply
run. A here-document stands over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_DOCUMENT = re.compile(r"(?<!<)<<-?\s*'?(?P<end>\w+)'?")


def dangerous() -> dict[str, list[str]]:
    """The commands by family."""
    found: dict[str, list[str]] = {}
    for command in _commands("dangerous.txt"):
        if command.startswith("## "):
            found[command[3:]] = family = []
        else:
            family.append(command)
    return found


def everyday() -> list[str]:
    """The commands."""
    return list(_commands("everyday.txt"))


def _commands(name: str) -> Iterator[str]:
    lines = iter(Path(__file__).with_name(name).read_text("utf-8").splitlines())
    for line in lines:
        whole = [line]
        document = _DOCUMENT.search(line)
        while document and whole[-1] != document["end"]:
            whole.append(next(lines))
        yield "\n".join(whole)
