"""Files that a text mentions as `@PATH`, which `send` and `chat` attach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes_jobs.features.mcp.cli.mentions import ENDS, MENTION, resource_named
from hermes_jobs.interfaces.cli.turns.text import Inputs, fenced
from hermes_jobs.text.figures import pluralize


def mentioned_files(text: str, folder: str, servers: Sequence[str]) -> Iterator[tuple[str, Path | None]]:
    """The files mentioned in a text, each once; None for a resource of one of the servers, and for a
    missing path.

    A folder is left to the agent's tools, a word such as `@property` to the reader.
    """
    seen_names: set[str] = set()
    for match in MENTION.finditer(text):
        name = match["quoted"] or match["plain"]
        if not match["quoted"] and not path_in(name, folder).exists():
            name = name.rstrip(ENDS)
        if not name or name in seen_names:
            continue
        seen_names.add(name)
        path = path_in(name, folder)
        if path.is_file():
            yield name, path
        elif not path.exists() and ("/" in name or "." in name or resource_named(name, servers)[1]):
            yield name, None


def attached(inputs: Inputs, name: str, file: Path) -> tuple[str, str]:
    """The file as a part of a turn's text, and a note about it. Raises as `Inputs.read_file`."""
    content = inputs.read_file(str(file), label=name)
    return fenced(name, content), f"· with {name} ({pluralize(len(content.splitlines()), 'line')})"


def missing(name: str) -> str:
    """The note about a name that is not a file."""
    return f"· there is no file {name}; it goes as you typed it"


def path_in(name: str, folder: str) -> Path:
    """The path of that name, relative to the folder; `~` is the user's."""
    try:
        return Path(folder, Path(name).expanduser())
    except RuntimeError:  # `~nobody`
        return Path(folder, name)
