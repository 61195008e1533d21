"""How sounds and pictures reach models that cannot hear or see them, and how answers are spoken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_jobs.features.attachments.api import MEGABYTE, AttachmentLimits, Intake, turn_bytes
from hermes_jobs.features.attachments.describing import Describing
from hermes_jobs.features.attachments.hearing import Hearing
from hermes_jobs.features.attachments.speaking import Speaking
from hermes_jobs.features.attachments.tables import select_words

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.kernel.engine.budget_guard import Asking
    from hermes_jobs.kernel.log.blobs import BlobStore
    from hermes_jobs.kernel.turns.attachments import Attachment
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings
    from hermes_jobs.settings.sections.models import SpeechTask


@dataclass(frozen=True, kw_only=True)
class Perception:
    """A `Hear`, a `Describe` and a `Speak`."""

    hear: Hearing
    describe: Describing
    speak: Speaking

    def asking(self, model: str, turn: str, attachment: Attachment) -> Asking | None:
        """The call that hears or describes it for that model of the turn; None where none is made."""
        if attachment.is_sound:
            return self.hear.asking(turn, model, attachment)
        return self.describe.asking(model, attachment) if attachment.is_picture else None


def create_intake(settings: Settings, blobs: BlobStore, endpoints: ModelEndpoints) -> Intake:
    """Takes in the files that go with a message, as the settings allow and the main model can use them."""
    own = settings.attachments
    limits = AttachmentLimits(
        file_bytes=int(own.file_mb * MEGABYTE),
        turn_bytes=turn_bytes(own.file_mb),
        hears=settings.auxiliary.transcription.model is not None,
        hears_itself=endpoints.hears(settings.main_model.model),
    )
    return Intake(blobs, limits, settings.paths.home / "tmp")


def perception_of(
    endpoints: ModelEndpoints,
    views: Views,
    intake: Intake,
    content: Callable[[str], bytes | None],
    speech: SpeechTask,
) -> Perception:
    """With the models of these endpoints, which are looked up at each call. `content(digest)` are a sound's
    bytes."""

    def recorded(digest: str, model: str) -> str:
        return views.read(select_words, digest, model)

    return Perception(
        hear=Hearing(lambda: endpoints.transcriber, content, recorded, endpoints.hears),
        describe=Describing(lambda: endpoints.seer, endpoints.is_blind, recorded),
        speak=Speaking(lambda: endpoints.speaker, intake.keep, speech.voice, speech.answers),
    )
