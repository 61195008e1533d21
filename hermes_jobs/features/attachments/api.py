"""Takes files in: what each one is, what is sent of it, and its bytes in the store.

The type is read from the content, never from the name. Whatever decodes it runs in a process of its own
(`decoding`), once: later requests only read what that process made.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.decoding import SENT, TEXT, Decoded, DecodingRequest
from hermes_jobs.kernel.engine.ports import Cancel, DocumentPages
from hermes_jobs.kernel.engine.ports import File as File  # noqa: PLC0414 - what the callers of `attach` need
from hermes_jobs.kernel.log.blobs import BlobStore
from hermes_jobs.kernel.turns.attachments import (
    PDF_SIGNATURE,
    Attachment,
    can_be_shown,
    sound_seconds,
    sound_type,
)
from hermes_jobs.system.struct_types import described
from hermes_jobs.text.figures import file_size, pluralize
from hermes_jobs.tools.subprocess_call import request, responses

MEGABYTE = 1_000_000
TURN_BYTES = 24 * MEGABYTE  # in base64 they fill the 32 MB of a request: see `llm/attachments`
SIDE = 1_568
"""Pixels of a picture's longest side as it is sent: providers scale larger ones down to this."""
SECONDS = 60
KILL_GRACE_SECONDS = 5
"""Seconds more, after which the process is killed without a response."""

MAX_NAME = 120
MAX_SEARCHED = 2_000_000
"""Bytes of a delivered text up to which it is searched."""
HEARS = "Set one: hermes-jobs config set auxiliary.transcription.model NAME, or write what it says."
CONVERT = "Convert it to PNG, JPEG or PDF."


class AttachmentLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most of each, of one file or of all files of a message; `side` in pixels, as a picture is sent.
    `hears`: sounds are taken, too; `hears_itself`: the model takes those that can be sent to one."""

    file_bytes: int = 20 * MEGABYTE
    turn_bytes: int = TURN_BYTES
    files: int = 20
    pages: int = 100
    pixels: int = 100_000_000
    side: int = SIDE
    hears: bool = False
    hears_itself: bool = False


def turn_bytes(file_mb: float) -> int:
    """The most bytes of all files of a message, where one file may have so many megabytes."""
    return max(TURN_BYTES, int(file_mb * MEGABYTE))


class Uncancelled:
    """A `Cancel` that does not fire."""

    reason = None

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def share_lease(self) -> int | None:
        return None


UNCANCELLED = Uncancelled()


def is_text(content: bytes) -> bool:
    """Whether the content, or its beginning, is text: it goes into the message, and not beside it."""
    if b"\0" in content or content.lstrip().startswith(PDF_SIGNATURE):
        return False
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start > len(content) - 4 and error.reason == "unexpected end of data"
    return True


class Intake:
    """Takes files in. `folder` is for files of a moment."""

    def __init__(self, blobs: BlobStore, limits: AttachmentLimits, folder: Path) -> None:
        self._blobs = blobs
        self._limits = limits
        self._folder = folder

    @property
    def file_bytes(self) -> int:
        """The most bytes of one file."""
        return self._limits.file_bytes

    def attach(self, files: Sequence[File], cancel: Cancel = UNCANCELLED) -> tuple[Attachment, ...]:
        """Decode all of them, then store them durably, for an event that is appended next.

        Raises `Rejected`, kind `usage`, for a file that cannot be sent: nothing is stored then.
        """
        self._check_sizes(files)
        decoded = [self._heard(file) or self._decoded(file, cancel) for file in files]
        return tuple(self._stored(file, *parts) for file, parts in zip(files, decoded, strict=True))

    def attach_each(
        self, files: Sequence[File], cancel: Cancel
    ) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
        """Attach those of a tool's files that can be sent; and why others cannot."""
        attached: list[Attachment] = []
        taken: list[File] = []
        notes: list[str] = []
        for file in map(_named, files):
            try:
                if sound_type(file.content):
                    raise _refused(f"{file.name} is a sound: tools show pictures and documents.", CONVERT)
                self._check_sizes([*taken, file])
                attached += self.attach((file,), cancel)
                taken.append(file)
            except Rejected as refusal:
                notes.append(refusal.message)
        return tuple(attached), tuple(notes)

    def keep(self, file: File, cancel: Cancel = UNCANCELLED) -> Attachment:
        """Store any file durably, as it is: one that nobody has to decode but its reader."""
        file = _named(file)
        if can_be_shown(file.content):
            with suppress(Rejected):
                return self.attach((file,), cancel)[0]
        digest = self._blobs.put(file.content)
        is_read = is_text(file.content)
        plain = "text/plain" if is_read else sound_type(file.content) or "application/octet-stream"
        return Attachment(
            digest=digest,
            media_type=plain,
            size=len(file.content),
            file_name=file.name,
            text=digest if is_read and len(file.content) <= MAX_SEARCHED else "",
        )

    def pages(
        self, file: File, first: int, last: int, *, as_images: bool, cancel: Cancel = UNCANCELLED
    ) -> DocumentPages:
        """See `Documents.pages`."""
        self._check_sizes((file,))
        with self._decoding(file, cancel, first=first, last=last, as_images=as_images) as (decoded, folder):
            numbers = range(first, min(last, decoded.pages) + 1)
            if not as_images:
                texts = (_content(folder / TEXT) or b"").decode("utf-8", "replace").split("\f")
                return DocumentPages(count=decoded.pages, texts=dict(zip(numbers, texts, strict=True)))
            images = {number: (folder / f"page-{number}").read_bytes() for number in numbers}
            return DocumentPages(count=decoded.pages, images=images)

    def _check_sizes(self, files: Sequence[File]) -> None:
        self.check([(file.name, len(file.content)) for file in files])

    def check(self, files: Sequence[tuple[str, int]]) -> None:
        """Check the number of the files, and their sizes in bytes beside their names. Raises `Rejected`."""
        limits = self._limits
        if len(files) > limits.files:
            raise _refused(
                f"{pluralize(len(files), 'file')} are attached; a message may have {limits.files}.",
                "Send them in several messages.",
            )
        for name, size in files:
            if not size:
                raise _refused(f"{name} is empty.", "Attach a file with content.")
            if size > limits.file_bytes:
                raise _refused(
                    f"{name} has {file_size(size)}; a file may have {file_size(limits.file_bytes)}.",
                    "Attach a smaller one, or raise attachments.file_mb as far as the provider takes it.",
                )
        total = sum(size for _, size in files)
        if total > limits.turn_bytes:
            raise _refused(
                f"The files have {file_size(total)} together; a message may have "
                f"{file_size(limits.turn_bytes)}.",
                "Send them in several messages.",
            )

    def _heard(self, file: File) -> tuple[Decoded, None, None] | None:
        """What the sound is, which nobody decodes here; None for another file. Raises `Rejected`."""
        media_type = sound_type(file.content)
        limits = self._limits
        is_heard = limits.hears or (limits.hears_itself and sound_seconds(file.content) > 0)
        if media_type and not is_heard:
            raise _refused(f"{file.name} is a sound, and no model is set that hears it.", HEARS)
        return (Decoded(media_type=media_type), None, None) if media_type else None

    def _decoded(self, file: File, cancel: Cancel) -> tuple[Decoded, bytes | None, bytes | None]:
        """What the file is, its picture as it is sent, and its text."""
        with self._decoding(file, cancel) as (decoded, folder):
            return decoded, _content(folder / SENT), _content(folder / TEXT)

    @contextmanager
    def _decoding(
        self, file: File, cancel: Cancel, *, first: int = 0, last: int = 0, as_images: bool = False
    ) -> Iterator[tuple[Decoded, Path]]:
        """What the file is, and the folder with what was made of it. Raises `Rejected`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(mkdtemp(prefix="attachment-", dir=self._folder))
        try:
            (folder / "file").write_bytes(file.content)
            asked = DecodingRequest(
                folder=str(folder),
                pages=self._limits.pages,
                pixels=self._limits.pixels,
                side=self._limits.side,
                seconds=SECONDS,
                first=first,
                last=last,
                as_images=as_images,
            )
            completed = request(
                "hermes_jobs.features.attachments.decoding_process",
                asked,
                timeout=SECONDS + KILL_GRACE_SECONDS,
                cancel=cancel,
            )
            answers = responses(completed)
            if not answers:
                raise _refused(f"{file.name} could not be decoded: the process that tried ended.", CONVERT)
            decoded = msgspec.convert(answers[-1], described(Decoded))
            if decoded.wrong:
                raise _refused(f"{file.name} {decoded.wrong}", decoded.hint)
            yield decoded, folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _stored(self, file: File, decoded: Decoded, sent: bytes | None, text: bytes | None) -> Attachment:
        return Attachment(
            digest=self._blobs.put(file.content),
            media_type=decoded.media_type,
            size=len(file.content),
            file_name=file.name,
            sent="" if sent is None else self._blobs.put(sent),
            text="" if text is None else self._blobs.put(text),
            width=decoded.width,
            height=decoded.height,
            pages=decoded.pages,
            characters=decoded.characters,
            seconds=sound_seconds(file.content),
        )


def _named(file: File) -> File:
    """The file with its name alone, and not too much of that."""
    return File(Path(file.name).name[:MAX_NAME] or "file", file.content)


def _content(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def _refused(message: str, hint: str) -> Rejected:
    return Rejected(message, kind="usage", hint=hint)
