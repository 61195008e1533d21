"""Files of chat messages: pictures and documents go beside the turn's text, text files into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import File, Intake, is_text
from hermes_jobs.features.gateway.rules.commands import IncomingFile, IncomingMessage
from hermes_jobs.interfaces.cli.turns.attached_files import text_of
from hermes_jobs.interfaces.cli.turns.text import MAX_BYTES, fenced
from hermes_jobs.text.figures import file_size

AGAIN = "Nothing of the message was read."


class FileReceiver:
    """Takes in files of messages."""

    def __init__(self, intake: Callable[[], Intake]) -> None:
        self._intake = intake

    def check(self, files: Sequence[IncomingFile]) -> None:
        """Check number and sizes before anything is downloaded. Raises `Rejected`."""
        self._intake().check([(file.name, file.size or 1) for file in files])

    def take_in(self, message: IncomingMessage, contents: Mapping[str, bytes]) -> IncomingMessage:
        """The message with its attachments; one without text, with a note, where a file cannot be sent."""
        files = [File(file.name, contents[file.id]) for file in message.files]
        texts = [file for file in files if file.content and is_text(file.content)]
        beside = [file for file in files if file not in texts]
        try:
            _check_texts(texts)
            attachments = self._intake().attach(beside) if beside else ()
        except Rejected as refusal:
            return refused(message, refusal)
        parts = [message.text or "", *(fenced(file.name, file.content.decode()) for file in texts)]
        text = text_of("\n\n".join(filter(None, parts)), attachments)
        return replace(message, text=text, attachments=attachments)


def refused(message: IncomingMessage, refusal: Rejected) -> IncomingMessage:
    """The message, of which the sender is told why it is not read."""
    return replace(message, text=None, note=f"{refusal.message} {refusal.hint} {AGAIN}")


def _check_texts(texts: Sequence[File]) -> None:
    size = sum(len(file.content) for file in texts)
    if size > MAX_BYTES:
        raise Rejected(
            f"{', '.join(file.name for file in texts)}: {file_size(size)} of text; a message may have "
            f"{file_size(MAX_BYTES)}.",
            kind="usage",
            hint="Send a part of it.",
        )
