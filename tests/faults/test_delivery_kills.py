"""`kill -9` of a worker at every append of a turn whose answer, a file and a sound go to three targets.

Telegram shows each once, the file has them once; a webhook may hear of a delivery again, with the same id and
the same files.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hermes_jobs.features.attachments.api import File
from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.telegram import pace
from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.e2e.invariants import assert_all_is_done_once
from tests.faults.dying import KILLED, MOMENTS, SAMPLED_MOMENTS, Moment, die_at
from tests.features.deliveries.http_server import Receiver
from tests.gateway.bot_server import QUICK, TOKEN, BotServer
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.providers.person import Person, Visit

CHAT = 12
PATIENCE = 120.0
NOTE = b"OggS\0\2" + bytes(40)
CONFIG = """
memory: {nudge_interval: 0}
skills: {creation_nudge_interval: 0}
auxiliary: {transcription: {model: whisper-9}, speech: {model: tts-9}}
"""
STEP = 1 if os.environ.get("FAULTS") == "full" else 3


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    monkeypatch.setattr(pace, "SECOND", QUICK)
    server = BotServer(QUICK).start()
    yield server
    server.close()


def reply(seen: Seen) -> Action:
    """Hands over the file that the newest user message names, then answers with its name."""
    user = next(message for message in reversed(seen.messages) if message["role"] == "user")
    tag = str(user["content"]).partition("the file ")[2].partition(".")[0]
    if seen.messages[-1]["role"] == "tool":
        return Answer(text=f"Here is {tag}.")
    return Answer(tool_calls=(AskedCall(name="deliver_file", arguments={"path": f"{tag}.csv"}),))


def work(environ: Mapping[str, str], at: int, moment: Moment) -> None:
    """Work until nothing is due, or until death."""
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.settings import load

    pace.SECOND = QUICK
    application = Application(load(environ), environ)
    with InlineWorker(application) as worker:
        die_at(at, moment)
        worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
    application.close()


def died(environ: Mapping[str, str], at: int, moment: Moment) -> bool:
    """Whether a worker that was to die at that append did."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hermes_jobs.llm.completions_client", "tests.faults.preloaded", __name__])
    process = context.Process(target=work, args=(dict(environ), at, moment))
    process.start()
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    process.join()
    assert code in {0, KILLED}
    return code == KILLED


def assert_shown_once(bot: BotServer, tags: list[str]) -> None:
    """Each turn's text and file once, and as many sounds; a death may leave placeholders."""
    said = [text for text in bot.said(CHAT) if text != "…"]
    expected = [shown for tag in tags for shown in (f"Here is {tag}.", f"📎 {tag}.csv", "🎵 answer.mp3")]
    assert sorted(said) == sorted(expected)


def assert_sent_whole(receiver: Receiver, tags: list[str]) -> None:
    """Each delivery arrived with both files, and a repeated one with the same body."""
    bodies: dict[str, set[bytes]] = {}
    for request in receiver.received:
        bodies.setdefault(request.headers["webhook-id"], set()).add(request.body)
    assert all(len(each) == 1 for each in bodies.values())
    data = [json.loads(body)["data"] for (body,) in bodies.values()]
    assert sorted(each["text"] for each in data) == sorted(f"Here is {tag}." for tag in tags)
    for each in data:
        csv, sound = each["files"]
        assert base64.b64decode(csv["content"]).decode() == csv["file_name"]
        assert base64.b64decode(sound["content"]).endswith(each["text"].encode())


def assert_written_once(work: Path, tags: list[str]) -> None:
    """Each answer and each file once; a death within a write may leave a hidden file."""
    text = (work / "answers.md").read_text()
    assert [text.count(f"Here is {tag}.\n") for tag in tags] == [1] * len(tags)
    saved = [path.name.partition("-")[2] for path in (work / "answers.md.files").glob("*/[!.]*")]
    assert sorted(saved) == sorted([*(f"{tag}.csv" for tag in tags), *["answer.mp3"] * len(tags)])


def assert_booked(visit: Visit, tags: list[str]) -> None:
    assert_all_is_done_once(visit.application.log, [])
    assert len(visit.events(e.TurnCompleted)) == len(tags)
    requested = [event for event in visit.events(DeliveryRequested) if event.text.startswith("Here")]
    assert len(requested) == 3 * len(tags)
    assert len([event for event in visit.events(e.ResponseBooked) if event.purpose == "speech"]) == len(tags)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("moment", SAMPLED_MOMENTS)
def test_an_answer_with_a_file_and_a_sound_survives_a_kill_at_every_append(
    tmp_path: Path, bot: BotServer, model_server: ModelServer, moment: Moment
) -> None:
    """Given a turn that answers a voice note; when its workers die; then every target has all of it once."""
    model_server.follow(reply)
    person = Person(tmp_path, CONFIG)
    tags: list[str] = []
    with Receiver() as receiver:
        environ = person.environ(
            {
                "OPENAI_BASE_URL": model_server.base_url,
                "OPENAI_API_KEY": "sk-nobody",
                "WEBHOOK_SECRET": "nobody-may-see-this-secret",
                "TELEGRAM_BOT_TOKEN": TOKEN,
                "HERMES_JOBS_GATEWAY__TELEGRAM__BASE_URL": bot.base_url,
            }
        )
        targets = ("file:answers.md", f"webhook:{receiver.url}", f"telegram:{CHAT}")
        at, is_dying = 1 + MOMENTS.index(moment) - STEP, True
        while is_dying:
            at += STEP
            tags.append(tag := f"{moment}-{at}")
            (person.home.work / f"{tag}.csv").write_text(f"{tag}.csv")
            with person.at(environ) as visit:
                sounds = visit.application.intake.attach([File("note.ogg", NOTE)])
                visit.submit(f"the file {tag}. [note.ogg]", f"s{at}", deliver=targets, attachments=sounds)
            is_dying = died(environ, at, moment)
            with person.at(environ) as visit:
                assert visit.worker.work(lambda: not visit.application.log.steps(), seconds=PATIENCE)
            assert_shown_once(bot, tags)
        with person.at(environ) as visit:
            assert_booked(visit, tags)
        assert_sent_whole(receiver, tags)
    assert at > 15, "such a turn has more appends than that"
    assert_written_once(person.home.work, tags)
    strays = sum(text == "…" for text in bot.chats[CHAT].values())
    assert strays <= 3 * len(tags), "a death leaves one placeholder"
