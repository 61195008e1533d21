r"""Well-formed text: JSON can hold halves of surrogate pairs (`"\ud83d"`), which no encoder accepts."""

from __future__ import annotations

import codecs


class WholeCharacters:
    """Joins surrogate pairs that arrive in two pieces; a lone half becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def feed(self, text: str) -> str:
        """The next piece, without a half at its end, which is held back."""
        return self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))

    def finish(self) -> str:
        """The held-back half, as U+FFFD."""
        return self._decoder.decode(b"", final=True)


def well_formed(text: str) -> str:
    """The text with pairs joined and lone halves replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
