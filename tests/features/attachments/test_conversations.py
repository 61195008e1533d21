"""A conversation with pictures and a document at each provider's strict server."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.features.attachments.api import File
from hermes_jobs.interfaces.cli.turns.prompt import find_request
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.fork import fork
from hermes_jobs.kernel.engine.ports import ModelRequest
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolMessage
from hermes_jobs.kernel.views.turn_events import events_of
from hermes_jobs.llm.attachments import digests_to_send
from tests.features.attachments.files import document, photo, picture
from tests.model_script import Action, Answer, AskedCall, Refuse, Seen
from tests.providers.anthropic import Anthropic
from tests.providers.families import Gemini, Local, OpenAI
from tests.providers.person import Person, Visit
from tests.providers.responses import Responses
from tests.providers.rules import ChatRules

SUMMARY = "## Active Task\nLooking.\n## Goal\nTo have looked.\n## Completed Actions\n1. looked.\n"
SMALL = "model: {context_length: 24000}\ncompression: {protect_last_n: 2, target_ratio: 0.1}\n"
CONFIG = SMALL + "memory: {nudge_interval: 0}\nskills: {creation_nudge_interval: 0}\n"
FILES = (
    (File("sign.png", picture()),),
    (File("photo.jpg", photo()), File("clear.png", picture(mode="RGBA"))),
    (File("note.ogg", b"OggS\0\2" + bytes(40)),),
    (File("paper.pdf", document(["The lamp is in room 7.", "Two."])),),
)
AS_IT_IS = {
    OpenAI: ("image_url", '"file"'),
    Responses: ("input_image", "input_file"),
    Anthropic: ('"image"', '"document"'),
    Gemini: ("image_url", "[Page 2]"),
}


HEARS = """
auxiliary: {{transcription: {{model: whisper-9, base_url: "{url}"}}}}
tools: {{modules: [{module}]}}
"""
PLOTTING = """
import hermes_jobs
@hermes_jobs.tool(effect="read")
def plot() -> object:
    \'\'\'Draws.\'\'\'
    return ["Drawn.", hermes_jobs.File("plot.png", bytes.fromhex("{data}"))]
"""


class Replies:
    """Answers like a model that draws once, and looks at a picture on the disk."""

    def __init__(self, *, has_drawn: bool = False) -> None:
        self.has_drawn = has_drawn

    def __call__(self, seen: Seen) -> Action:
        prompt = str(seen.body.get("instructions") or seen.body.get("system") or seen.messages[0])
        if "Remaining Work" in prompt:
            return Answer(text=SUMMARY)
        if self.has_drawn or "Draw it" not in str(seen.body):
            return Answer(text="Seen.")
        self.has_drawn = True
        reading = AskedCall(name="read_file", arguments={"path": "disk.png"})
        return Answer(tool_calls=(AskedCall(name="plot"), reading))


@pytest.mark.parametrize("provider", AS_IT_IS, ids=lambda provider: provider.__name__)
def test_pictures_a_sound_a_document_a_plot_a_blind_model_and_back_a_compression_a_fork_and_a_replay(
    provider: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, local = provider(), Blind()
    server, blind = rules.server(Replies()).start(), local.server(Replies(has_drawn=True)).start()
    monkeypatch.syspath_prepend(tmp_path)
    module = f"plotting_{provider.__name__.lower()}"
    (tmp_path / f"{module}.py").write_text(PLOTTING.replace("{data}", picture().hex()))
    person = Person(tmp_path, CONFIG + HEARS.format(url=blind.base_url, module=module))
    (person.home.work / "disk.png").write_bytes(picture(size=(60, 30)))
    try:
        with person.at(rules.environ(server.base_url)) as visit:
            intake = visit.application.intake
            for files in FILES:
                visit.send("Look.", "s1", attachments=intake.attach(files))
            sent = str(server.requests[-1].body).replace("'", '"')
            assert all(form in sent for form in ("I say 46 bytes.", *AS_IT_IS[provider]))
            for before, after in pairwise(server.requests):
                assert_grown(before.body, after.body)
            visit.send("Draw it.", "s0")
            assert_drawn(visit, server.requests[-2].body, server.requests[-1].body)
        with person.at(local.environ(blind.base_url)) as visit:
            visit.send("And the plot?", "s0")
            assert "[Attached: plot.png (image/png, 40 × 20" in str(blind.requests[-1].body)
            visit.send("And now?", "s1")
            seen = str(blind.requests[-1].body)
            assert "[Attached: photo.jpg (image/jpeg, 100 × 200" in seen
            assert "[Page 1]" in seen
            assert "image_url" not in seen
            notes = [note for event in visit.events(e.ModelReplied, "s1") for note in event.notes]
            visit.send("Once more?", "s1")
        with person.at(rules.environ(server.base_url)) as visit:
            visit.send("Back again.", "s1")
            assert AS_IT_IS[provider][0] in str(server.requests[-1].body).replace("'", '"')
            visit.execute("s1", c.RequestCompression(reason="manual"))
            compressed = visit.events(e.ContextCompressed)
            visit.send("What was the sign?", "s1")
            fork(visit.worker.engine, "s1", "s2")
            visit.send("In the fork.", "s2")
            visit.send("A last one.", "s1")
            assert visit.answers("s1") == ["Seen."] * 9
            for call in visit.events(e.ModelReplied):
                assert call.usage.prompt_tokens > 0
            (heard,) = (each for each in visit.events(e.ResponseBooked) if each.purpose == "transcription")
            assert heard.usage.prompt_tokens == 40
            assert visit.answers("s2") == ["Seen."]
            assert verify(visit.application.log, visit.application.blobs).findings == ()  # type: ignore[arg-type]
        assert (len(compressed), notes) == (1, [])
        pictures = [said for said in local.refusals if "image_url" in said]
        assert len(pictures) == 1  # what is refused once is not sent again
        assert rules.refusals == []
    finally:
        server.close()
        blind.close()


def assert_drawn(visit: Visit, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The tools of the last turn showed two pictures; a replay has them, too."""
    drawn = visit.events(e.ToolFinished)
    assert sorted(each.attachments[0].file_name for each in drawn) == ["disk.png", "plot.png"]
    assert [each.ok for each in drawn] == [True, True]
    assert all(f"{name}.png:" in str(after) for name in ("plot", "disk"))
    assert_grown(before, after)
    replayed = rebuilt(visit, drawn[0].turn)
    results = [message for message in replayed.messages if isinstance(message, ToolMessage)]
    assert [result.attachments for result in results] == [
        each.attachments for each in sorted(drawn, key=lambda each: each.call)
    ]
    assert list(digests_to_send(replayed.messages))


def rebuilt(visit: Visit, turn: str) -> ModelRequest:
    """The request of the turn's last model call, as a replay makes it from the log."""
    view = visit.application.views.turn(turn)
    return find_request(visit.application, view, events_of(visit.application.log, view)).request


def assert_grown(before: dict[str, Any], after: dict[str, Any]) -> None:
    """What the first request said stands at the beginning of the second, without marks for caches."""
    name = "input" if "input" in before else "messages"
    first, second = (
        re.sub(r', "cache_control": {[^}]*}', "", json.dumps(body[name])) for body in (before, after)
    )
    assert second.startswith(first[:-1])


class Blind(Local):
    """A local model that is not multimodal."""

    def refusal(self, seen: Seen) -> Refuse | None:
        if "image_url" in str(seen.body):
            message = "unknown variant `image_url`, expected `text`"
            self.refusals.append(message)
            return Refuse(status=400, body=self.error(message))
        return ChatRules.refusal(self, seen)
