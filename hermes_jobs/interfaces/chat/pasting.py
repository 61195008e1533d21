"""What is pasted into a chat: paths of files that were dropped on the terminal, the clipboard's picture."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.turns.attached_files import holds_text

CLIPBOARDS = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)
"""Programs that print the clipboard's picture: of Wayland, X11 and macOS."""
SECONDS = 3.0
LONGEST = 8_000  # characters of paths; a longer text is none, and splitting it would hold the prompt up
_PNG = b"\x89PNG\r\n\x1a\n"


def with_mentions(pasted: str) -> str:
    """The text; mentions instead, where it is nothing but full paths of pictures and documents.

    Terminals write those of files that are dropped on them, quoted as in a shell, some as `file:` addresses.
    Text files stay paths: the agent reads them with its tools.
    """
    if len(pasted) > LONGEST:
        return pasted
    try:
        paths = [_path_of(word) for word in shlex.split(pasted)]
    except ValueError:  # no quoting of a shell's, or no address
        return pasted
    if not paths or not all(map(_is_beside_text, paths)):
        return pasted
    return " ".join(map(mention_of, paths)) + " "


def mention_of(path: str) -> str:
    """How a message mentions the file."""
    return f'@"{path}"' if any(map(str.isspace, path)) else f"@{path}"


def clipboard_picture(folder: Path) -> str:
    """A mention of the clipboard's picture, which is stored in the folder. Raises `Rejected`."""
    programs = [command for command in CLIPBOARDS if shutil.which(command[0])]
    if not programs:
        raise Rejected(
            "The clipboard cannot be read.", kind="usage", hint="Install wl-clipboard, xclip or pngpaste."
        )
    for command in programs:
        with suppress(OSError, subprocess.SubprocessError):
            content = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout
            if content.startswith(_PNG):
                return mention_of(_stored(folder, content))
    raise Rejected("The clipboard holds no picture.", kind="usage")


def _stored(folder: Path, content: bytes) -> str:
    number = 1
    while (path := folder / f"pasted-{number}.png").exists():
        number += 1
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
    return str(path)


def _path_of(word: str) -> str:
    address = urlsplit(word)
    return unquote(address.path) if address.scheme == "file" and address.netloc in {"", "localhost"} else word


def _is_beside_text(path: str) -> bool:
    """Whether it is a file that goes beside a message's text."""
    file = Path(path)
    if not file.is_absolute() or '"' in path or "\n" in path:
        return False
    try:
        return file.is_file() and not holds_text(file, path)
    except (OSError, click.UsageError):  # too long for a name, or it cannot be read
        return False
