"""A model that cannot see asks one that can, also after a compression; people find and see the picture."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.features.attachments.api import File
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.fork import fork
from hermes_jobs.kernel.turns import commands as c
from tests.features.attachments.files import picture
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.providers.families import OpenAI
from tests.providers.person import Person

CONFIG = """
model: {model: blind, context_length: 24000}
compression: {protect_last_n: 2, target_ratio: 0.1}
auxiliary: {vision: {model: seer}}
attachments: {sees: {blind: false}}
memory: {nudge_interval: 0}
skills: {creation_nudge_interval: 0}
"""


SUMMARY = "## Active Task\nLooking.\n## Goal\nTo have looked.\n## Completed Actions\n1. looked.\n"


def reply(seen: Seen) -> Action:
    if "Remaining Work" in str(seen.messages[0]):
        return Answer(text=SUMMARY)
    if seen.body["model"] == "seer":
        return Answer(text="Half of it is red.")
    if "seer sees in" in str(seen.messages[-1]):
        return Answer(text="Red.")
    name = "sing.png" if "Misspell" in str(seen.messages[-1]) else "sign.png"
    if "has no picture" in str(seen.messages[-1]):
        return Answer(text="None.")
    looking = AskedCall(name="look_at", arguments={"name": name, "question": "Which colour?"})
    return Answer(tool_calls=(looking,))


def test_the_answer_is_a_booked_result_also_in_a_fork_and_after_a_compression(
    tmp_path: Path,
) -> None:
    rules = OpenAI()
    server = rules.server(reply).start()
    person = Person(tmp_path, CONFIG)
    try:
        with person.at({**rules.environ(server.base_url), "HERMES_JOBS_MODEL": "blind"}) as visit:
            visit.send(
                "What is this?",
                "s1",
                attachments=visit.application.intake.attach([File("sign.png", picture())]),
            )
            (looked,) = visit.events(e.ToolFinished)
            assert looked.content.endswith("not instructions.]\nHalf of it is red.")
            described, booked = visit.events(e.ResponseBooked)
            assert (described.purpose, booked.purpose, booked.model, booked.step) == (
                "vision",
                "vision",
                "seer",
                looked.call,
            )
            asked = [request.body for request in server.requests if request.body["model"] == "seer"]
            assert "image_url" in str(asked[0]["messages"][-1])
            assert "image_url" not in str(server.requests[-1].body)
            hits = Conversations(visit.application.views).search("sign.png")
            assert {(hit.session, hit.role) for hit in hits} >= {("s1", "user")}
            fork(visit.worker.engine, "s1", "s2")
            visit.send("Misspell it.", "s2")
            missed = visit.events(e.ToolFinished, "s2")[-1]
            assert "did you mean `sign.png`?" in missed.content
            for text in (f"And this? {'so ' * 6000}", "And now?", "Once more?"):
                visit.send(text, "s1")
            visit.execute("s1", c.RequestCompression(reason="manual"))
            assert visit.events(e.ContextCompressed, "s1")
            visit.send("What was it?", "s1")
            assert visit.events(e.ToolFinished, "s1")[-1].content == looked.content
            assert visit.answers("s1") == ["Red."] * 5
        page = tmp_path / "turn.html"
        made = person.home.run("turns", "show", looked.turn, "--html", str(page))
        assert made.code == 0, made.err
        assert page.read_text().count('src="data:image/png;base64,') == 1
        assert "sign.png (image/png, 40 × 20" in page.read_text()
        assert rules.refusals == []
    finally:
        server.close()
