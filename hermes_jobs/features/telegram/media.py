"""What is attached to messages, and albums: several messages that Telegram shows as one.

Each part of an album arrives as an update of its own. Telegram keeps updates until they are confirmed: nobody
has to remember the parts that have arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

import telegram

from hermes_jobs.features.gateway.rules.messages import NOT_READ, IncomingFile
from hermes_jobs.text.clip import one_line

MAX_DOWNLOAD = 20 * 1024 * 1024
"""Bytes of a file that Telegram gives a bot (https://core.telegram.org/bots/api#getfile)."""

ALBUM = 10
"""The most parts of an album (https://core.telegram.org/bots/api#sendmediagroup)."""

MAX_UPDATES = 100
"""Updates that one request gets (https://core.telegram.org/bots/api#getupdates)."""

MAX_NAME = 200  # characters

Found = telegram.PhotoSize | telegram.Document | telegram.Voice | telegram.Audio
Albums = Mapping[tuple[int, str], Sequence[telegram.Update]]

_NOTES = {
    "sticker": "I cannot see stickers. Please write what you mean.",
    "voice": "I cannot listen to voice messages. Please write what it is about.",
    "audio": "I cannot listen to audio files. Please write what it is about.",
    "video": "I cannot watch videos. Please send a picture, or write what it is about.",
    "video_note": "I cannot watch videos. Please send a picture, or write what it is about.",
    "animation": "I cannot watch animations. Please send a picture, or write what it is about.",
}


def albums_of(updates: Sequence[telegram.Update]) -> Albums:
    """The updates that are parts of albums, by chat and album."""
    found: dict[tuple[int, str], list[telegram.Update]] = {}
    for update in updates:
        if (album := album_of(update)) is not None:
            found.setdefault(album, []).append(update)
    return found


def album_of(update: telegram.Update) -> tuple[int, str] | None:
    """The chat and the album that the update belongs to."""
    message = update.message
    return (message.chat.id, message.media_group_id) if message and message.media_group_id else None


def without_cut_album(updates: Sequence[telegram.Update]) -> Sequence[telegram.Update]:
    """The updates without the last album, where more of it may be among those that were not given yet."""
    album = album_of(updates[-1]) if len(updates) >= MAX_UPDATES else None
    begin = next((at for at, update in enumerate(updates) if album and album_of(update) == album), 0)
    return updates[:begin] if begin else updates


def note_of(parts: Sequence[telegram.Update]) -> str:
    """Why the message is not read, or the album."""
    messages = [part.message for part in parts]
    return next((note for kind, note in _NOTES.items() for each in messages if getattr(each, kind)), NOT_READ)


def file_of(message: telegram.Message, key: str, caption: str, *, hears: bool) -> IncomingFile | None:
    """The picture, document or sound of the message; of a picture the largest size that can be downloaded."""
    number = message.message_id
    if message.photo:
        fitting = [size for size in message.photo if (size.file_size or 0) <= MAX_DOWNLOAD]
        best = max(fitting or message.photo, key=lambda size: size.width * size.height)
        return _file(best, f"photo-{number}.jpg", key, caption)
    if message.document is not None and message.animation is None:
        return _file(message.document, message.document.file_name or f"document-{number}", key, caption)
    if hears and message.voice is not None:
        return _file(message.voice, f"voice-{number}.ogg", key, caption)
    if hears and message.audio is not None:
        return _file(message.audio, message.audio.file_name or f"audio-{number}", key, caption)
    return None


def _file(
    found: Found,
    name: str,
    key: str,
    caption: str,
) -> IncomingFile:
    return IncomingFile(
        key=key,
        id=found.file_id,
        name=one_line(PurePath(name).name or "file", MAX_NAME),
        size=found.file_size or 0,
        caption=caption,
    )
