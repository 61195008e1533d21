"""Files that the agent hands over: with the answer, at every target, once, and saved where a user asks."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.turns.delivered_files import save_files
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.views.turn_json import turn_json
from tests.features.attachments.files import picture
from tests.features.deliveries.http_server import Receiver
from tests.gateway.bot_server import TOKEN, quick_bot
from tests.model_script import Answer, AskedCall, Script
from tests.model_server import ModelServer
from tests.providers.person import Person

CHAT = 12
PATHS = ("plot.png", "table.csv", "../other.txt", "plot.png")
DELIVERED = Script(
    default=Answer(text="Here."),
    sequence=(
        Answer(tool_calls=tuple(AskedCall(name="deliver_file", arguments={"path": each}) for each in PATHS)),
    ),
)


def test_files_go_with_the_answer_to_every_target(
    tmp_path: Path, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.follow(DELIVERED)
    person = Person(tmp_path)
    work = person.home.work
    (work / "plot.png").write_bytes(picture())
    (work / "table.csv").write_bytes(b"a,b\n1,2\n")
    (work.parent / "other.txt").write_text("outside")
    with quick_bot(monkeypatch) as bot, Receiver() as receiver:
        environ = {
            "OPENAI_BASE_URL": model_server.base_url,
            "OPENAI_API_KEY": "sk-nobody",
            "WEBHOOK_SECRET": "nobody-may-see-this-secret",
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "HERMES_JOBS_GATEWAY__TELEGRAM__BASE_URL": bot.base_url,
        }
        with person.at(environ) as visit:
            targets = ("file:answers.md", f"webhook:{receiver.url}", f"telegram:{CHAT}")
            visit.send("Plot it.", "s1", deliver=targets)
            (turn,) = (event.turn for event in visit.events(e.TurnCompleted))
            view = visit.application.views.turn(turn)
            refused = [event.call for event in visit.events(e.ToolFinished) if not event.ok]
            assert [call.rpartition("-")[2] for call in refused] == ["2"]
            assert verify(visit.application.log, visit.application.blobs).findings == ()  # type: ignore[arg-type]
            model_server.follow(Script(default=Answer(text="Nothing more.")))
            visit.send("And now?", "s1", deliver=("file:later.md",))
    assert sorted(file.about for file in view.files) == [
        "plot.png (image/png, 40 × 20, 126 bytes)".replace("126", str(len(picture()))),
        "table.csv (text/plain, 8 bytes)",
    ]
    assert {file.file_name for file in turn_json(view).files} == {"plot.png", "table.csv"}
    saved = {path.name.partition("-")[2]: path for path in (work / "answers.md.files").glob("*/*")}
    assert saved["plot.png"].read_bytes() == picture()
    assert str(saved["table.csv"].relative_to(work)) in (work / "answers.md").read_text()
    files = {file["file_name"]: file for file in json.loads(receiver.received[0].body)["data"]["files"]}
    assert base64.b64decode(files["table.csv"]["content"]) == b"a,b\n1,2\n"
    assert sorted(bot.said(CHAT)) == ["Here.", "📎 table.csv", "🖼 plot.png"]
    assert bot.said(CHAT)[0] == "Here."
    assert "File:" not in (work / "later.md").read_text()


def test_saved_files_replace_nothing_and_stay_in_their_folder(tmp_path: Path) -> None:
    stored = {"a": b"new", "b": b"same"}
    files = [
        Attachment(digest=digest, media_type="text/plain", size=3, file_name=name)
        for digest, name in (("a", "note.txt"), ("b", "same.txt"), ("a", "../.envrc"), ("a", "note.txt"))
    ]
    (tmp_path / "note.txt").write_text("mine")
    (tmp_path / "same.txt").write_text("same")
    saved = [path.name for path in save_files(files, tmp_path, stored.get)]
    assert saved == ["note (2).txt", "same.txt", "_.envrc", "note (2).txt"]
    assert (tmp_path / "note.txt").read_text() == "mine"
    gone = Attachment(digest="", media_type="text/plain", size=3, file_name="gone.txt")
    with pytest.raises(Rejected, match=r"gone\.txt is not stored any more"):
        list(save_files([gone], tmp_path, stored.get))
