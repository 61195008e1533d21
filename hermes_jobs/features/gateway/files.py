"""Files of chat messages: pictures and documents go beside the turn's text, text files into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import File, Intake
from hermes_jobs.features.gateway.rules.messages import IncomingFile, IncomingMessage
from hermes_jobs.interfaces.cli.turns.attached_files import composed

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
        try:
            text, attachments = composed(self._intake(), message.text or "", files)
        except Rejected as refusal:
            return refused(message, refusal)
        return replace(message, text=text, attachments=attachments)


def refused(message: IncomingMessage, refusal: Rejected) -> IncomingMessage:
    """The message, of which the sender is told why it is not read."""
    return replace(message, text=None, note=f"{refusal.message} {refusal.hint} {AGAIN}")
