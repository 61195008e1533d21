"""A prompt of an editor: its text, and the pictures and documents that go with it."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.engine.ports import File
from hermes_jobs.text.fences import in_fence


def read_prompt(blocks: Sequence[Any]) -> tuple[str, tuple[File, ...]]:
    """The text of the blocks, in their order, and their files. Raises `Rejected`."""
    texts: list[str] = []
    files: list[File] = []
    for block in blocks:
        match block.type:
            case "text":
                texts.append(block.text)
            case "resource_link":
                texts.append(f"@{place(block.uri)}")
            case "resource" if hasattr(block.resource, "text"):
                texts.append(f"\n{place(block.resource.uri)}:\n{in_fence(block.resource.text)}\n")
            case "resource":
                name = PurePosixPath(place(block.resource.uri)).name
                files.append(File(name, _bytes(block.resource.blob)))
            case "image":
                kind = block.mime_type.rpartition("/")[2]
                files.append(File(f"picture {len(files) + 1}.{kind}", _bytes(block.data)))
            case kind:
                raise Rejected(f"A prompt cannot have a part of the kind {kind!r}.", kind="usage")
    return "".join(texts).strip(), tuple(files)


def place(uri: str) -> str:
    """The path of a `file:` address; another address as it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except NotBase64 as error:
        raise Rejected("A part of the prompt is not base64.", kind="usage") from error
