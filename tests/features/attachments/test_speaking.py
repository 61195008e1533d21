"""Answers that are spoken: a sound beside the text, where one can be played, and never instead of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.features.attachments.api import File
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.features.attachments.files import picture
from tests.gateway.bot_server import quick_bot
from tests.gateway.serving import ANNA, environ_of, serving
from tests.model_script import Answer, Refuse, Script
from tests.model_server import ModelServer
from tests.providers.person import Person, Visit

NOTE = b"OggS\0\2" + bytes(40)
SPEECH = "HERMES_JOBS_AUXILIARY__SPEECH__"
HEARS = "HERMES_JOBS_AUXILIARY__TRANSCRIPTION__MODEL"
FILE = ("file:answers.md",)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path, "memory: {nudge_interval: 0}\nskills: {creation_nudge_interval: 0}\n")


@pytest.fixture
def environ(model_server: ModelServer) -> dict[str, str]:
    model_server.follow(Script(default=Answer(text="It is Sunday.")))
    return {
        "OPENAI_BASE_URL": model_server.base_url,
        "OPENAI_API_KEY": "sk-nobody",
        HEARS: "whisper-9",
        f"{SPEECH}MODEL": "tts-9",
        f"{SPEECH}VOICE": "nova",
    }


@pytest.fixture
def visit(person: Person, environ: dict[str, str]) -> Iterator[Visit]:
    with person.at(environ) as visit:
        yield visit


def say(
    visit: Visit, deliver: tuple[str, ...] = FILE, content: bytes = NOTE, text: str = "[note.ogg]"
) -> None:
    visit.send(
        text, "s1", deliver=deliver, attachments=visit.application.intake.attach([File("note", content)])
    )


def test_the_answer_to_a_voice_note_is_spoken_delivered_and_booked(
    visit: Visit, person: Person, model_server: ModelServer
) -> None:
    say(visit)
    assert model_server.spoken == [
        {"model": "tts-9", "input": "It is Sunday.", "voice": "nova", "response_format": "mp3"}
    ]
    (delivered,) = visit.events(e.FilesDelivered)
    assert [(file.file_name, file.media_type) for file in delivered.attachments] == [
        ("answer.mp3", "audio/mpeg")
    ]
    (saved,) = (person.home.work / "answers.md.files").glob("*/*")
    assert saved.read_bytes().endswith(b"It is Sunday.")
    text = (person.home.work / "answers.md").read_text()
    assert text.index("It is Sunday.") < text.index("File: ")
    booked = {event.purpose: event for event in visit.events(e.ResponseBooked)}
    assert booked["speech"].estimated.input_tokens > 0
    (recorded,) = visit.events(e.UsageRecorded)
    assert recorded.estimated.input_tokens == booked["speech"].estimated.input_tokens


@pytest.mark.parametrize(
    ("deliver", "content"),
    [(FILE, picture()), ((), NOTE), (("cli",), NOTE)],
    ids=["a picture", "not delivered", "the inbox"],
)
def test_other_answers_are_not_spoken(
    visit: Visit, model_server: ModelServer, deliver: tuple[str, ...], content: bytes
) -> None:
    say(visit, deliver, content)
    assert model_server.spoken == []


@pytest.mark.parametrize("text", ["[SILENT]", "a" * 4_097])
def test_what_is_silent_or_too_long_is_not_spoken(visit: Visit, model_server: ModelServer, text: str) -> None:
    model_server.follow(Script(default=Answer(text=text)))
    say(visit)
    assert model_server.spoken == []
    assert visit.answers("s1") == [text]


def test_every_delivered_answer_is_spoken_where_a_turn_asks_for_it(
    person: Person, environ: dict[str, str], model_server: ModelServer
) -> None:
    """Given a home that speaks to voice notes; when `send` asks for all; then that answer is spoken."""
    ran = person.home.run(
        *("send", "Which day is it?", "--deliver", "file:answers.md"),
        **environ,
        **{f"{SPEECH}ANSWERS": "all"},
    )
    assert ran.code == 0, ran
    assert "answer.mp3" in ran.err
    assert len(model_server.spoken) == 1


@pytest.mark.parametrize(
    "speech", [Refuse(status=400, message="No such voice."), Refuse(status=503, message="Busy."), b"<html>"]
)
def test_a_failure_of_the_speech_leaves_the_text(
    visit: Visit,
    person: Person,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    speech: bytes | Refuse,
) -> None:
    model_server.speeches = [speech]
    say(visit)
    assert visit.answers("s1") == ["It is Sunday."]
    assert "It is Sunday." in (person.home.work / "answers.md").read_text()
    assert visit.events(e.FilesDelivered) == []
    assert "was not spoken" in caplog.text


def test_a_voice_note_in_telegram_is_answered_by_text_and_sound(
    tmp_path: Path, model_server: ModelServer, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with quick_bot(monkeypatch) as bot:
        settings = {**environ_of(tmp_path, bot, model_server.base_url), **environ}
        with serving(settings) as served:
            voice = bot.document(NOTE, "v")["document"]
            bot.write(ANNA, None, media={"voice": {**voice, "duration": 3, "mime_type": "audio/ogg"}})
            bot.wait_until(lambda: "🎵 answer.mp3" in bot.said(ANNA), "the sound")
            said = [text for text in bot.said(ANNA) if text != "…"]
            deliveries = [
                each for each in facts_of(served.application.log) if isinstance(each, e.TurnCompleted)
            ]
    assert said[-2:] == ["It is Sunday.", "🎵 answer.mp3"]
    assert len(deliveries) == 1
