"""What OpenAI's requests say: messages with parts, read into a prompt and what was said before it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import File

Said = tuple[Literal["user", "assistant"], str]
"""Who said it, and what."""
TEXTS = {"text", "input_text", "output_text"}


class Source(msgspec.Struct, frozen=True):
    """Where the bytes of a picture or file are: in a `data:` URL."""

    url: str = ""
    file_data: str | None = None
    filename: str | None = None


class ContentPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message: a text, a picture, or a file, as either of OpenAI's APIs writes it."""

    type: str
    text: str | None = None
    image_url: str | Source | None = None
    file: Source | None = None
    file_data: str | None = None
    filename: str | None = None


class RequestMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a request; without a role, an item of another `type` that is passed over."""

    role: str | None = None
    content: str | tuple[ContentPart, ...] | None = None
    type: str | None = None


class SchemaFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON Schema of the answer."""

    schema: dict[str, Any]


class ResponseFormat(msgspec.Struct, frozen=True, kw_only=True):
    """`json_schema` with a schema, in either API's place; `text` for none."""

    type: str = "text"
    json_schema: SchemaFormat | None = None
    schema: dict[str, Any] | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What both APIs have in common. Sampling parameters are accepted and not used."""

    model: Annotated[str, Meta(max_length=200)] = ""
    stream: bool | None = None
    user: Annotated[str, Meta(max_length=200)] | None = None
    tools: tuple[dict[str, Any], ...] | None = None


class Prompt(NamedTuple):
    """The text and files of the last message, and what stands before it. `system`: texts of the system."""

    text: str
    files: Sequence[File]
    history: Sequence[Said]
    system: str


def prompt_of(messages: Sequence[RequestMessage]) -> Prompt:
    """The prompt of those messages. Raises `Rejected`."""
    said = [message for message in messages if message.role in {"user", "assistant"}]
    system = [text_of(message) for message in messages if message.role in {"system", "developer"}]
    if not said or said[-1].role != "user":
        raise _refused("The last message is not of the role `user`: there is nothing to answer.")
    history: list[Said] = [
        ("user" if message.role == "user" else "assistant", text_of(message)) for message in said[:-1]
    ]
    return Prompt(
        text=text_of(said[-1]),
        files=_files(said[-1]),
        history=[each for each in history if each[1].strip()],
        system="\n\n".join(filter(None, system)),
    )


def text_of(message: RequestMessage) -> str:
    """Its texts, a line between two."""
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text or "" for part in content if part.type in TEXTS)


def schema_of(form: ResponseFormat | None) -> dict[str, Any] | None:
    """The JSON Schema that is asked for. Raises `Rejected`."""
    if form is None or form.type == "text":
        return None
    schema = form.json_schema.schema if form.json_schema is not None else form.schema
    if form.type != "json_schema" or schema is None:
        raise _refused(f"The format {form.type!r} is not known, or has no schema: use `json_schema`.")
    return schema


def refuse_tools(settings: Settings) -> None:
    """Raise `Rejected` where the client brings tools of its own."""
    if settings.tools:
        raise _refused("`tools` cannot be given: the agent uses its own, and runs them here.")


def _files(message: RequestMessage) -> list[File]:
    content = message.content
    parts = content if isinstance(content, tuple) else ()
    return [_file(part, number) for number, part in enumerate(parts, 1) if part.type not in TEXTS]


def _file(part: ContentPart, number: int) -> File:
    name = part.filename or (part.file.filename if part.file is not None else None)
    data = part.file_data or (part.file.file_data if part.file is not None else None)
    if part.image_url is not None:
        data = part.image_url if isinstance(part.image_url, str) else part.image_url.url
    if not data:
        raise _refused(f"A part of the type {part.type!r} cannot be read: send texts, pictures and files.")
    head, comma, encoded = data.partition(",")
    if "://" in head or (comma and not (head.startswith("data:") and head.endswith(";base64"))):
        raise _refused("A picture or file is read from a `data:…;base64,` URL alone: nothing is fetched.")
    try:
        content = base64.b64decode(encoded if comma else data, validate=True)
    except (binascii.Error, ValueError):
        raise _refused(f"The file {name or number} is not base64 as `data:…;base64,` URLs hold it.") from None
    return File((name or f"file-{number}").replace("/", "-")[:120], content)


def _refused(message: str) -> Rejected:
    return Rejected(message, kind="usage")
