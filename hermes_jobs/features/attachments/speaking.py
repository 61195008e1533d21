"""Answers that are spoken, by the model of `auxiliary.speech`, and delivered beside their text."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from hermes_jobs.features.attachments.api import File
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import Cancel, ModelError, StepInterrupted
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.messages import SILENT
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.tokens import tokens

if TYPE_CHECKING:
    from hermes_jobs.llm.speech_client import SpeechEndpoint

logger = logging.getLogger(__name__)

PURPOSE = "speech"
NAME = "answer.mp3"
TAKE_FILES = ("telegram", "file", "webhook")
"""The kinds of targets that take a sound."""
Which = Literal["voice", "all"]


class Speaking:
    """A `Speak`. `which`: answers to voice notes, or all that are delivered to where a sound can go."""

    def __init__(
        self,
        speaker: Callable[[], SpeechEndpoint | None],
        keep: Callable[[File, Cancel], Attachment],
        voice: str,
        which: Which,
    ) -> None:
        self._speaker = speaker
        self._keep = keep
        self._voice = voice
        self._which = which

    def __call__(
        self, turn: Turn, answer: str, step: str, cancel: Cancel
    ) -> Sequence[e.FilesDelivered | e.ResponseBooked]:
        """See `Speak`. Raises `StepInterrupted`."""
        speaker = self._speaker() if self._is_wanted(turn, answer) else None
        if speaker is None or len(answer) > speaker.longest:
            return ()
        try:
            spoken = speaker.speak(answer, self._voice, cancel)
        except ModelError as error:
            if cancel.reason is not None:
                raise StepInterrupted from error
            logger.warning("the answer of turn %s was not spoken: %s", turn.id, error.message)
            return ()
        sound = self._keep(File(NAME, spoken), cancel)
        sent = Usage(tokens(answer))
        booked = e.ResponseBooked(
            turn=turn.id,
            step=step,
            purpose=PURPOSE,
            model=speaker.model,
            estimated=sent,
            estimated_cost_usd=speaker.cost_usd(sent),
        )
        return (booked, e.FilesDelivered(turn=turn.id, call="", attachments=(sound,)))

    def _is_wanted(self, turn: Turn, answer: str) -> bool:
        can_go = any(target.partition(":")[0] in TAKE_FILES for target in turn.deliver)
        is_said = self._which == "all" or any(each.is_sound for each in turn.attachments)
        is_speech = bool(answer.strip()) and answer.strip() != SILENT and not turn.answer_schema
        return can_go and is_said and is_speech
