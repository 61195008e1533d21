"""The pictures and sounds of a turn within its page, which refers to no other file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
from markupsafe import Markup

from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.views.attached import attachments_of

_MEDIA_TYPE = re.compile(r"(?:image|audio)/[a-z0-9.+-]{1,40}")
MAX_BYTES = 20_000_000
"""What a page holds; later ones are named."""


class ShownFile(msgspec.Struct, frozen=True):
    """A picture or sound as a `data:` URL; anything else by its name alone."""

    kind: Literal["picture", "sound", ""]
    about: str
    call: str
    url: Markup = Markup()


def shown_files(
    turn: str, events: Iterable[RecordedEvent], content_of: Callable[[str], bytes | None]
) -> list[ShownFile]:
    """Those of the turn; `content_of` gives the bytes by their digest."""
    remaining = MAX_BYTES
    shown = []
    for call, attachment in attachments_of(turn, events):
        kind = _kind(attachment)
        content = content_of(attachment.sent or attachment.digest) if kind and attachment.digest else None
        if content is None or len(content) > remaining:
            shown.append(ShownFile("", attachment.about, call))
            continue
        remaining -= len(content)
        shown.append(ShownFile(kind, attachment.about, call, _url(attachment, content)))
    return shown


def _kind(attachment: Attachment) -> Literal["picture", "sound", ""]:
    if not _MEDIA_TYPE.fullmatch(attachment.media_type):
        return ""
    return "picture" if attachment.is_picture else "sound"


def _url(attachment: Attachment, content: bytes) -> Markup:
    media_type = attachment.media_type
    if attachment.sent:  # written anew
        media_type = "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"
    return Markup(f"data:{media_type};base64,{b64encode(content).decode()}")
