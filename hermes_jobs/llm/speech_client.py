"""An OpenAI-compatible endpoint that speaks texts: `/audio/speech`."""

from __future__ import annotations

import asyncio

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.turns.attachments import sound_type
from hermes_jobs.llm.embeddings_client import SmallEndpoint

SECONDS = 90.0


class SpeechEndpoint(SmallEndpoint):
    """One model at one endpoint."""

    longest = 4_096
    """Characters of a text (https://platform.openai.com/docs/api-reference/audio/createSpeech)."""

    def speak(self, text: str, voice: str, cancel: Cancel) -> bytes:
        """The text as MP3, which is every endpoint's default and what Telegram plays.

        Raises `ModelError`, kind `cancelled` where `cancel` fires.
        """
        return self._waited(self._spoken(text, voice), cancel)

    async def _spoken(self, text: str, voice: str) -> bytes:
        failing, client = self._open(SECONDS)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await client.audio.speech.create(
                    model=self._model, input=text, voice=voice, response_format="mp3"
                )
        except TimeoutError as error:
            raise failing.made("timeout", f"No speech within {SECONDS:g} s.", NO_USAGE) from error
        except Exception as error:
            raise failing.error(error, has_begun=False, usage=NO_USAGE) from error
        if sound_type(answer.content) != "audio/mpeg":
            raise failing.garbage("is no MP3 sound", NO_USAGE)
        return answer.content
