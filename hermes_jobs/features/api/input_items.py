"""`/v1/responses/ID/input_items`: what a response was asked, in OpenAI's form."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hermes_jobs.kernel.events import TurnSubmitted


class ListedItems(msgspec.Struct, frozen=True, kw_only=True):
    """Which items are listed: a response has one, so there is none `after` it."""

    after: Annotated[str, Meta(max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"


class InputPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The text; or a picture or file, named by the SHA-256 of its bytes."""

    type: str
    text: str | None = None
    file_id: str | None = None
    filename: str | None = None
    detail: str | None = None


class InputItem(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a person."""

    id: str
    content: tuple[InputPart, ...]
    type: str = "message"
    role: str = "user"
    status: str = "completed"

    @classmethod
    def of(cls, turn: str, submitted: TurnSubmitted) -> InputItem:
        """The text of the turn, with what was sent with it."""
        files = (
            InputPart(type="input_image", file_id=each.digest, detail="auto")
            if each.media_type.startswith("image/")
            else InputPart(type="input_file", file_id=each.digest, filename=each.file_name or None)
            for each in submitted.attachments
        )
        text = InputPart(type="input_text", text=submitted.text)
        return cls(id=f"msg_{turn}", content=(text, *files))


class InputItems(msgspec.Struct, frozen=True, kw_only=True):
    """The items of a response."""

    data: tuple[InputItem, ...]
    first_id: str | None
    last_id: str | None
    has_more: bool = False
    object: str = "list"
