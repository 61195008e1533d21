"""Sounds for models that hear: sent as they are, estimated, and given up where an endpoint refuses them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.chat import ChatCompletionUserMessageParam
from pydantic import TypeAdapter

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments.api import File
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.log.blobs import digest_of
from hermes_jobs.kernel.turns.attachments import Attachment, attachment_tokens, sound_seconds
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.llm.adaptation import adapt
from hermes_jobs.llm.dialect import ApiOptions, first_dialect
from hermes_jobs.llm.refusals import refused_features
from hermes_jobs.llm.render import request_body
from hermes_jobs.llm.responses import responses_body
from hermes_jobs.llm.usage import canonical_usage
from tests.features.attachments.files import mp3, wav
from tests.model_script import Action, Answer, Refuse, Seen
from tests.providers.families import Gemini, OpenAI
from tests.providers.person import Person, Visit

OPENAI, GEMINI = "https://api.openai.com/v1", "https://generativelanguage.googleapis.com/v1beta/openai"
WAV, MP3, OGG = wav(2.0), mp3(3.0), b"OggS\0\2" + bytes(40)
CHAT_USER: TypeAdapter[Any] = TypeAdapter(ChatCompletionUserMessageParam)
CONFIG = """
auxiliary: {transcription: {model: whisper-9}}
memory: {nudge_interval: 0}
skills: {creation_nudge_interval: 0}
"""


def attached(content: bytes, name: str, kind: str) -> Attachment:
    seconds = sound_seconds(content)
    return Attachment(
        digest=digest_of(content), media_type=kind, size=len(content), file_name=name, seconds=seconds
    )


SOUNDS = (
    attached(WAV, "a.wav", "audio/wav"),
    attached(MP3, "b.mp3", "audio/mpeg"),
    attached(OGG, "c.ogg", "audio/ogg"),
)
ASKED = ModelRequest(
    model="gpt-audio",
    system_prompt="",
    messages=(UserMessage("What is said?", SOUNDS),),
    contents={digest_of(content): content for content in (WAV, MP3, OGG)},
)


@pytest.mark.parametrize(
    ("url", "model"),
    [(OPENAI, "gpt-audio"), (GEMINI, "gemini-2.5-pro"), ("https://openrouter.ai/api/v1", "openai/gpt-audio")],
)
def test_wav_and_mp3_are_input_audio_before_the_text_and_other_sounds_a_note(url: str, model: str) -> None:
    (message,) = request_body(replace(ASKED, model=model), first_dialect(url, model))["messages"]
    CHAT_USER.validate_python(message)
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "input_audio", "text", "input_audio", "text", "text"]
    first, second = (message["content"][at]["input_audio"] for at in (1, 3))
    assert (first["format"], second["format"]) == ("wav", "mp3")
    assert (b64decode(first["data"], validate=True), b64decode(second["data"])) == (WAV, MP3)
    assert message["content"][4]["text"].startswith("[Attached: c.ogg")


@pytest.mark.parametrize(
    ("model", "manner"),
    [
        ("gpt-4.1", ApiOptions()),
        ("gpt-audio", ApiOptions(api="responses")),
        ("gpt-audio", ApiOptions(hears={"gpt-audio": False})),
    ],
)
def test_other_models_and_the_responses_api_get_notes(model: str, manner: ApiOptions) -> None:
    dialect = first_dialect(OPENAI, model, manner)
    make = responses_body if manner.api == "responses" else request_body
    body = str(make(replace(ASKED, model=model), dialect))
    assert "input_audio" not in body
    assert "[Attached: a.wav" in body


def test_a_model_of_ones_own_hears_where_the_settings_say_so() -> None:
    dialect = first_dialect("http://127.0.0.1:8080/v1", "voxtral", ApiOptions(hears={"voxtral": True}))
    assert "input_audio" in str(request_body(replace(ASKED, model="voxtral"), dialect))


@pytest.mark.parametrize(
    "said",
    [
        "unknown variant `input_audio`, expected one of `text`, `image_url`",
        "This model does not support audio inputs.",
        "No endpoints found that support input audio input",
    ],
)
def test_a_refused_sound_is_learned(said: str) -> None:
    dialect = first_dialect(OPENAI, "gpt-audio")
    changed = adapt(dialect, 400, said)
    assert changed is not None
    assert (changed.takes.sounds, changed.takes.pictures) == (False, True)
    assert refused_features(dialect, changed) == ["sounds"]


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        (WAV, 2.0),
        (MP3, 3.0),
        (OGG, 0.0),
        (b"\xff\xf3\x40\0" + bytes(4_000), 1.0),
        (b"ID3", 0.0),
        (b"\xff\xfb\xf0\0", 0.0),
        (b"RIFF0000WAVEfmt " + bytes(40), 0.0),
        (b"RIFF0000WAVE", 0.0),
    ],
)
def test_the_length_follows_from_the_header(content: bytes, seconds: float) -> None:
    assert sound_seconds(content) == pytest.approx(seconds, abs=0.1)


def test_a_second_counts_what_gemini_counts_and_one_whose_words_are_known_nothing() -> None:
    assert attachment_tokens(SOUNDS) == int((SOUNDS[0].seconds + SOUNDS[1].seconds) * 32)
    assert attachment_tokens((replace(SOUNDS[0], seconds=0.0),)) == 0


def test_tokens_of_sound_are_told_apart() -> None:
    told = {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"audio_tokens": 60}}
    assert canonical_usage(told).audio_tokens == 60
    assert (canonical_usage(told) + canonical_usage(told)).audio_tokens == 120
    assert not canonical_usage({"prompt_tokens": 90, "completion_tokens": 5}).audio_tokens


def reply(seen: Seen) -> Action:
    if seen.body["model"] == "gpt-audio-deaf" and "input_audio" in str(seen.body):
        return Refuse(status=400, message="This model does not support audio inputs.")
    return Answer(text="Heard.")


@pytest.fixture(params=[(OpenAI, "gpt-audio"), (Gemini, "gemini-2.5-flash")], ids=["openai", "gemini"])
def hearing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Visit, Any]]:
    """A home whose model hears, and its strict server."""
    rules, model = request.param[0](), request.param[1]
    server = rules.server(reply).start()
    try:
        environ = {**rules.environ(server.base_url), "HERMES_JOBS_MODEL": model}
        with Person(tmp_path, CONFIG).at(environ) as visit:
            yield visit, server
        assert rules.refusals == []
    finally:
        server.close()


def test_a_model_that_hears_gets_the_sound_and_nobody_transcribes_it(hearing: tuple[Visit, Any]) -> None:
    visit, server = hearing
    take = visit.application.intake.attach
    visit.send("What is said?", "s1", attachments=take([File("a.wav", WAV), File("b.mp3", MP3)]))
    visit.send("[c.ogg]", "s1", attachments=take([File("c.ogg", OGG)]))
    sent = server.requests[-1].body
    assert str(sent).count("input_audio'") == 4  # a type and a field each
    assert "[Said in c.ogg:]" in str(sent)
    assert [name for name, _, _ in server.sounds] == ["c.ogg"]
    assert visit.answers("s1") == ["Heard."] * 2
    first = str(server.requests[0].body["messages"][-1])
    assert first in str(sent["messages"])


def test_a_refusal_is_answered_with_a_note_and_later_sounds_are_transcribed(tmp_path: Path) -> None:
    rules = OpenAI()
    server = rules.server(reply).start()
    try:
        environ = {**rules.environ(server.base_url), "HERMES_JOBS_MODEL": "gpt-audio-deaf"}
        with Person(tmp_path, CONFIG).at(environ) as visit:
            take = visit.application.intake.attach
            visit.send("What is said?", "s1", attachments=take([File("a.wav", WAV)]))
            assert "[Attached: a.wav" in str(server.requests[-1].body)
            visit.send("And here?", "s1", attachments=take([File("b.mp3", MP3)]))
            assert "[Heard in b.mp3" in str(server.requests[-1].body)
            assert visit.answers("s1") == ["Heard."] * 2
            assert [each.heard == () for each in visit.events(e.ContextPrefetched)] == [True, False]
    finally:
        server.close()


def test_without_a_transcriber_only_sounds_that_the_model_takes_are_accepted(tmp_path: Path) -> None:
    environ = {"HERMES_JOBS_MODEL": "gpt-audio", "OPENAI_API_KEY": "sk-nobody"}
    with Person(tmp_path).at(environ) as visit:
        intake = visit.application.intake
        (taken,) = intake.attach([File("a.wav", WAV)])
        assert taken.seconds == pytest.approx(2.0, abs=0.1)
        with pytest.raises(Rejected, match="no model is set that hears"):
            intake.attach([File("c.ogg", OGG)])
