"""Resources of servers, and the file with a server's last known ones, for completion.

The file is read without a request to the server, so it may be out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_jobs.system.atomic_file import write_bytes
from hermes_jobs.system.struct_types import described


class McpResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of a server, or a template: its `uri` has placeholders such as `{name}`."""

    server: str
    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    is_template: bool = False

    @property
    def begun_uri(self) -> str:
        """The address up to the first placeholder."""
        return self.uri.partition("{")[0] if self.is_template else self.uri

    @property
    def mention(self) -> str:
        """Its mention in a chat, up to the first placeholder."""
        word = f"{self.server}:{self.begun_uri}"
        return f'@"{word}"' if " " in word else f"@{word}"


class KnownResources:
    """The last known resources of each server of a home, one file per server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, server: str) -> tuple[McpResource, ...]:
        """The server's last known resources; empty if unknown."""
        try:
            return msgspec.json.decode(
                self._file(server).read_bytes(), type=described(tuple[McpResource, ...])
            )
        except (OSError, msgspec.DecodeError):
            return ()

    def save_listing(self, server: str, resources: Sequence[McpResource]) -> None:
        """Store the server's current resources. Errors of writing are ignored."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes(self._file(server), msgspec.json.encode(resources), durable=False)

    def remove(self, server: str) -> None:
        """Remove the file of a server that was removed."""
        with suppress(OSError):
            self._file(server).unlink()

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"
