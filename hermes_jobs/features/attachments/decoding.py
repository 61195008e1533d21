"""What is asked of the process that decodes a file, and what it says."""

from __future__ import annotations

import msgspec

SENT, TEXT = "sent", "text"
"""The files that the process writes: the picture as it is sent, and the text of a document's pages."""


class DecodingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Decode `file` in that folder, within these limits.

    `first` and `last`: of a document only these pages, counted from 1, however many it has; `as_images`: as
    the pictures `page-N`.
    """

    folder: str
    pages: int
    pixels: int
    side: int
    seconds: int
    first: int = 0
    last: int = 0
    as_images: bool = False


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """What the file is. `wrong`: why it cannot be sent, after its name, and what to do about that."""

    media_type: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    characters: int = 0
    wrong: str = ""
    hint: str = ""
