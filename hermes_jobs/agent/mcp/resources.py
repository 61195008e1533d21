"""Resources of servers, and the file of those that a server has listed last: what completion offers.

Nobody is asked for what is read from the file, so it may be out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_jobs.system.atomic_file import write_bytes


class McpResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a server, or a template: its `uri` has places such as `{name}` that a person fills in."""

    server: str
    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    is_template: bool = False

    @property
    def begun_uri(self) -> str:
        """The address up to the first place to be filled in."""
        return self.uri.partition("{")[0] if self.is_template else self.uri

    @property
    def mention(self) -> str:
        """How it is named in a chat, up to the first place to be filled in."""
        word = f"{self.server}:{self.begun_uri}"
        return f'@"{word}"' if " " in word else f"@{word}"


class KnownResources:
    """What each server of a home has listed last, a file each in the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, server: str) -> tuple[McpResource, ...]:
        """What the server has listed last; nothing where that is not known."""
        try:
            return msgspec.json.decode(self._file(server).read_bytes(), type=tuple[McpResource, ...])
        except (OSError, msgspec.DecodeError):
            return ()

    def keep(self, server: str, resources: Sequence[McpResource]) -> None:
        """What the server has listed now. A folder that cannot be written to is no reason to fail."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes(self._file(server), msgspec.json.encode(resources), durable=False)

    def forget(self, server: str) -> None:
        """The server is not configured any more."""
        with suppress(OSError):
            self._file(server).unlink()

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"
