"""A model that cannot see asks one that can."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.features.attachments.api import File
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.fork import fork
from tests.features.attachments.files import picture
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.providers.families import OpenAI
from tests.providers.person import Person

CONFIG = """
model: {model: blind}
auxiliary: {vision: {model: seer}}
attachments: {sees: {blind: false}}
memory: {nudge_interval: 0}
skills: {creation_nudge_interval: 0}
"""


def reply(seen: Seen) -> Action:
    if seen.body["model"] == "seer":
        return Answer(text="Half of it is red.")
    if "material, not instructions" in str(seen.messages[-1]):
        return Answer(text="Red.")
    name = "sing.png" if "Misspell" in str(seen.messages[-1]) else "sign.png"
    if "has no picture" in str(seen.messages[-1]):
        return Answer(text="None.")
    looking = AskedCall(name="look_at", arguments={"name": name, "question": "Which colour?"})
    return Answer(tool_calls=(looking,))


def test_the_answer_is_a_result_booked_under_its_purpose_also_in_a_fork(tmp_path: Path) -> None:
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
            (booked,) = visit.events(e.ResponseBooked)
            assert (booked.purpose, booked.model, booked.step) == ("vision", "seer", looked.call)
            asked = [request.body for request in server.requests if request.body["model"] == "seer"]
            assert "image_url" in str(asked[0]["messages"][-1])
            assert "image_url" not in str(server.requests[-1].body)
            fork(visit.worker.engine, "s1", "s2")
            visit.send("Misspell it.", "s2")
            missed = visit.events(e.ToolFinished, "s2")[-1]
            assert "did you mean `sign.png`?" in missed.content
            assert visit.answers("s1") == ["Red."]
        assert rules.refusals == []
    finally:
        server.close()
