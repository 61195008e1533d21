"""Renders the result of a call as a text for the model. The input is untrusted: anything may be missing or
invalid."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from hermes_jobs.tools.output import clean

StoreFile = Callable[[int, str, bytes], str]
"""Stores the n-th file of a result, with its suffix; returns its path."""

EMPTY_RESULT = "(the tool returned nothing)"


def text_of(result: Mapping[str, Any], keep_file: StoreFile) -> tuple[str, bool]:
    """The text, and whether the call succeeded. Images and other files are stored separately, and named."""
    blocks = result.get("content")
    parts = list(_parts(blocks if isinstance(blocks, list) else [], keep_file))
    structured = result.get("structuredContent")
    if structured is not None and not any(_says(part, structured) for part in parts):
        parts.append(msgspec.json.format(msgspec.json.encode(structured), indent=1).decode())
    text = clean("\n\n".join(part for part in parts if part.strip())) or EMPTY_RESULT
    failed = result.get("isError") is True
    return (f"Error: {text}" if failed and not text.startswith("Error") else text), not failed


def _parts(blocks: list[Any], keep_file: StoreFile) -> Iterator[str]:
    stored = 0
    for block in blocks:
        if not isinstance(block, dict):
            continue
        match block.get("type"):
            case "text":
                yield str(block.get("text", ""))
            case "image" | "audio" as kind:
                stored += 1
                yield _file(str(kind), block.get("data"), block.get("mimeType"), stored, keep_file)
            case "resource_link":
                about = f" ({block['description']})" if block.get("description") else ""
                yield f"[resource {block.get('uri', '')}: {block.get('name', '')}{about}]"
            case "resource":
                resource = block.get("resource")
                resource = resource if isinstance(resource, dict) else {}
                name = f"[resource {resource.get('uri', '')}]"
                if isinstance(resource.get("text"), str):
                    yield f"{name}\n{resource['text']}"
                else:
                    stored += 1
                    yield f"{name} " + _file(
                        "file", resource.get("blob"), resource.get("mimeType"), stored, keep_file
                    )
            case other:
                yield f"[content of the unknown kind {str(other)[:40]!r}]"


def _file(kind: str, data: object, mime: object, number: int, keep_file: StoreFile) -> str:
    try:
        content = base64.b64decode(str(data or ""), validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind} that could not be read]"
    mime = str(mime or "application/octet-stream")[:100]
    path = keep_file(number, mimetypes.guess_extension(mime) or ".bin", content)
    return f"[{kind} {mime}, {len(content):,} bytes, kept as {path}]"


def _says(text: str, value: object) -> bool:
    """Whether a text is the JSON of a structured result, or its only value (`{"result": "…"}`)."""
    if isinstance(value, dict) and [str(item) for item in value.values()] == [text]:
        return True
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, RecursionError):
        return False
