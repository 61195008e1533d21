"""A file that goes with an answer, as Telegram takes it: as a photo, a sound or a document, or named only."""

from __future__ import annotations

import msgspec

from hermes_jobs.features.deliveries.api import ContentOf
from hermes_jobs.features.telegram.messages import Part, TextPart
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.titles import printable

MAX_DOCUMENT = 50_000_000
"""Bytes of a document (https://core.telegram.org/bots/api#senddocument)."""

MAX_PHOTO, MAX_SIDES, MAX_RATIO = 10_000_000, 10_000, 20
"""Bytes, width and height together in pixels, and their ratio (https://core.telegram.org/bots/api#sendphoto).
Telegram scales photos down to 2,560 pixels."""

SOUNDS = {"audio/mpeg", "audio/mp4"}
"""What its player takes (https://core.telegram.org/bots/api#inputmediaaudio)."""


class MediaPart(msgspec.Struct, frozen=True):
    """A file with its name. `is_photo`: the chat shows it as a picture; `is_sound`: it plays it."""

    name: str
    content: bytes
    is_photo: bool = False
    is_sound: bool = False


DeliveredPart = Part | Attachment
SentPart = Part | MediaPart


def with_content(file: Attachment, content_of: ContentOf) -> SentPart:
    """The file with its bytes; a text where they are lost, or too many."""
    name = printable(file.file_name)
    photo = content_of(file.sent) if _is_photo(file) else None
    if photo is not None and len(photo) <= MAX_PHOTO:
        return MediaPart(name, photo, is_photo=True)
    if file.size > MAX_DOCUMENT:
        return TextPart(f"{printable(file.about)} is larger than Telegram takes. It is kept at hermes-jobs.")
    content = content_of(file.digest) if file.digest else None
    if content is None:
        return TextPart(f"{printable(file.about)} is not stored any more.")
    return MediaPart(name, content, is_sound=file.media_type in SOUNDS)


def _is_photo(file: Attachment) -> bool:
    short, long = sorted((file.width, file.height))
    return bool(file.sent) and file.is_picture and long <= MAX_RATIO * short and short + long <= MAX_SIDES
