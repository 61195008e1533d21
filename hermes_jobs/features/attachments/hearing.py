"""Sounds that come with a message: their words, by the model of `auxiliary.transcription`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_jobs.kernel.engine.budget_guard import Asking
from hermes_jobs.kernel.engine.ports import Cancel, HeardSound, ModelError, NotYet, PaidCall, StepInterrupted
from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.turns.attachments import Attachment, Heard

if TYPE_CHECKING:
    from hermes_jobs.llm.transcription_client import TranscriptionEndpoint

KEPT = 64
LEAST_RATE = 2_000
"""Bytes of a second of a voice note, at least."""
SECOND_TOKENS, WORDS_A_SECOND = 10, 5
"""Tokens of a second that a transcriber counts, and of its words, at most."""
NOBODY = "no model is set that hears: auxiliary.transcription.model"
LOST = "its sound is not stored any more"
SILENT = "it has no words"


class Hearing:
    """A `Hear`. A sound is heard once: `recorded(digest, model)` are the words in the log. What was paid for
    is kept until its turn begins, so that a retry does not pay twice."""

    def __init__(
        self,
        transcriber: Callable[[], TranscriptionEndpoint | None],
        content_of: Callable[[str], bytes | None],
        recorded: Callable[[str, str], str],
        hears: Callable[[str], bool],
    ) -> None:
        self._transcriber = transcriber
        self._content_of = content_of
        self._recorded = recorded
        self._hears = hears
        self._heard: dict[tuple[str, str], HeardSound] = {}

    def asking(self, turn: str, asked: str, sound: Attachment) -> Asking | None:
        """The call that hears it, at most; None where none is made."""
        model = self._transcriber()
        if model is None or (sound.seconds and self._hears(asked)):
            return None
        if (turn, sound.digest) in self._heard or self._recorded(sound.digest, model.model):
            return None
        seconds = sound.seconds or sound.size / LEAST_RATE
        sent = int(seconds * SECOND_TOKENS)
        return Asking(model.model, model.pricing, sent, int(seconds * WORDS_A_SECOND))

    def __call__(self, turn: str, asked: str, sound: Attachment, cancel: Cancel) -> HeardSound | None:
        """See `Hear`. Raises `NotYet`, `StepInterrupted`."""
        if sound.seconds and self._hears(asked):
            return None
        known = self._heard.get((turn, sound.digest))
        if known is not None:
            return known
        model, content = self._transcriber(), self._content_of(sound.digest)
        if model is None or content is None:
            return HeardSound(Heard(digest=sound.digest, problem=NOBODY if model is None else LOST))
        words = self._recorded(sound.digest, model.model)
        if words:
            return HeardSound(Heard(digest=sound.digest, words=words, model=model.model))
        heard = _transcribed(model, sound, content, cancel)
        if heard.paid is not None:
            if len(self._heard) >= KEPT:
                self._heard.clear()
            self._heard[turn, sound.digest] = heard
        return heard


def _transcribed(
    model: TranscriptionEndpoint, sound: Attachment, content: bytes, cancel: Cancel
) -> HeardSound:
    """The call. Raises `NotYet`, `StepInterrupted`."""
    try:
        transcript = model.transcribe(sound.file_name, content, sound.media_type, cancel)
    except ModelError as error:
        if cancel.reason is not None:
            raise StepInterrupted from error
        if error.retryable:
            raise NotYet(
                f"{sound.file_name} was not heard: {error.message}",
                kind=error.kind,
                hint=error.hint,
                what="the model that hears",
            ) from error
        return HeardSound(Heard(digest=sound.digest, problem=error.message))
    cost = None if transcript.usage == NO_USAGE else model.cost_usd(transcript.usage)
    problem = "" if transcript.words else SILENT
    return HeardSound(
        Heard(digest=sound.digest, words=transcript.words, problem=problem, model=model.model),
        PaidCall(model=transcript.model, usage=transcript.usage, cost_usd=cost),
    )
