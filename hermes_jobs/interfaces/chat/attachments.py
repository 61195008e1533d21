"""Attachments of a message: files mentioned with `@`, and outputs of the user's own commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from hermes_jobs.features.attachments.api import File, Intake
from hermes_jobs.features.mcp.cli.mentions import (
    ResourceReader,
    origin_of,
    resource_named,
    resource_part,
)
from hermes_jobs.interfaces.chat.foreground import ShellOutput
from hermes_jobs.interfaces.chat.pasting import mention_of
from hermes_jobs.interfaces.chat.slash import CompletionItems
from hermes_jobs.interfaces.cli.turns.attached_files import attached_lines, holds_text, read_file
from hermes_jobs.interfaces.cli.turns.mentioned_files import attached, mentioned_files, missing, path_in
from hermes_jobs.interfaces.cli.turns.text import Inputs, fenced
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.text.figures import pluralize

PARTIAL_MENTION = re.compile(r'(?<!\S)@(?P<begun>"[^"\n]*|[^\s"]*)$')
"""A mention that is being typed, up to the cursor."""
OFFERED = 50  # completed paths
MAX_WALKED = 3000  # entries that are searched for a name without its folder
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})


class Composed(msgspec.Struct, frozen=True):
    """A complete message with what goes beside it, and notes on both; `outside`: the servers whose resources
    are in it."""

    text: str
    notes: tuple[str, ...]
    attachments: tuple[Attachment, ...] = ()
    outside: str = ""


class ChatAttachments:
    """Outputs that wait for the next message. `redact` removes known secrets from them; `reader` reads
    resources mentioned as `@server:URI`; `intake` takes in pictures and documents."""

    def __init__(
        self,
        redact: Callable[[str], str],
        reader: Callable[[], ResourceReader],
        intake: Callable[[], Intake],
    ) -> None:
        self._redact = redact
        self._reader = reader
        self._intake = intake
        self._waiting: list[str] = []

    def add(self, output: ShellOutput) -> str:
        """Attach a command's output to the next message; returns a note about it."""
        left_out = f"\n[… {output.left_out:,} bytes are left out here …]\n" if output.left_out else ""
        printed = self._redact(f"{output.head}{left_out}{output.tail}")
        label = f"I ran `{self._redact(output.command)}` (exit code {output.code})"
        self._waiting.append(fenced(label, printed) if printed.strip() else f"{label}; it printed nothing.")
        lines = (
            pluralize(printed.count("\n") + (not printed.endswith("\n")), "line") if printed else "no output"
        )
        parts = f" ({output.left_out:,} bytes in the middle are left out)" if output.left_out else ""
        return f"· exit code {output.code}; {lines} will go with your next message{parts}, ! alone drops that"

    def drop(self) -> int:
        """Drop the waiting outputs; returns their number."""
        dropped, self._waiting = len(self._waiting), []
        return dropped

    def compose(self, text: str, mentions: str, folder: str) -> Composed:
        """The text with each file and resource in `mentions`, and the waiting outputs; pictures and documents
        go beside it.

        Raises a usage error for content that is not text, too large or unreadable; `Rejected` for a resource
        that its server refuses.
        """
        inputs, parts, notes, beside = Inputs(), [text], [], list[File]()
        servers: list[str] = []
        reader = self._reader()
        for name, file in mentioned_files(mentions, folder, reader.names):
            server, uri = resource_named(name, reader.names)
            if file is None and uri:
                part, message = resource_part(inputs, reader, server, uri, folder)
                servers.append(server)
                parts.append(part)
                notes.append(message)
                continue
            if file is None:
                notes.append(missing(name))
                continue
            if not holds_text(file, name):
                beside.append(read_file(file, name, self._intake().file_bytes))
                continue
            part, message = attached(inputs, name, file)
            parts.append(part)
            notes.append(message)
        attachments = self._intake().attach(beside) if beside else ()
        notes += attached_lines(attachments)
        notes += [f"· with what {pluralize(len(self._waiting), 'command')} printed"] * bool(self._waiting)
        text = "\n\n".join([*parts, *self._waiting])
        return Composed(text, tuple(notes), attachments, origin_of(servers))


# --- completion after an @ --------------------------------------------------------------


def paths_that_begin(prefix: str, folder: str) -> CompletionItems:
    """Files and folders that begin with the typed text; for a bare word also files below whose name contains
    it."""
    prefix = prefix.removeprefix('"')
    above, slash, name = prefix.rpartition("/")
    place = path_in(above + slash or ".", folder)
    paths = list(_entries(place, above + slash, name))
    if not slash and len(name) > 1:
        paths += [path for path in _below(folder, name) if path not in paths]
    return [(mention_of(path), "") for path in paths[:OFFERED]]


def _entries(place: Path, before: str, prefix: str) -> Iterator[str]:
    for entry in _scanned(place):
        hidden = entry.name.startswith(".") and not prefix.startswith(".")
        if not hidden and entry.name.casefold().startswith(prefix.casefold()):
            yield f"{before}{entry.name}{'/' if entry.is_dir() else ''}"


def _below(folder: str, part: str) -> Iterator[str]:
    """Files whose name holds the part, the nearest first."""
    remaining, places = MAX_WALKED, [""]
    while places and remaining > 0:
        place = places.pop(0)
        for entry in _scanned(Path(folder, place)):
            remaining -= 1
            if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                places.append(f"{place}{entry.name}/")
            elif place and part.casefold() in entry.name.casefold():
                yield f"{place}{entry.name}"


def _scanned(place: Path) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return sorted(entries, key=lambda item: item.name.casefold())
    except OSError:
        return ()
