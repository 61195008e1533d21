"""An OpenAI-compatible endpoint that gives sounds as text: `/audio/transcriptions`."""

from __future__ import annotations

import asyncio

import msgspec

from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.llm.embeddings_client import SmallEndpoint

SECONDS = 180.0


class Transcript(msgspec.Struct, frozen=True):
    """The words; `usage` in tokens, `NO_USAGE` where the endpoint counts seconds or nothing."""

    words: str
    model: str
    usage: Usage = NO_USAGE


class TranscriptionEndpoint(SmallEndpoint):
    """One model at one endpoint."""

    def transcribe(self, name: str, content: bytes, media_type: str, cancel: Cancel) -> Transcript:
        """The words of the sound. Raises `ModelError`, kind `cancelled` where `cancel` fires."""
        return self._waited(self._transcript(name, content, media_type), cancel)

    async def _transcript(self, name: str, content: bytes, media_type: str) -> Transcript:
        failing, client = self._open(SECONDS)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await client.audio.transcriptions.create(
                    model=self._model, file=(name, content, media_type), response_format="json"
                )
        except TimeoutError as error:
            raise failing.made("timeout", f"No transcript within {SECONDS:g} s.", NO_USAGE) from error
        except Exception as error:
            raise failing.error(error, has_begun=False, usage=NO_USAGE) from error
        if not isinstance(getattr(answer, "text", None), str):
            raise failing.garbage("holds no text", NO_USAGE)
        counted = getattr(answer, "usage", None)  # seconds at some endpoints, nothing at others
        used = (getattr(counted, name, None) or 0 for name in ("input_tokens", "output_tokens"))
        usage = Usage(*used)
        return Transcript(answer.text.strip(), self._model, usage)
