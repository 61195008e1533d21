"""What was heard in a sound and said of a picture is in the log: paid for once, and gone with a redaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes_jobs.features.attachments.api import File
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.kernel import events as e
from tests.features.attachments.files import picture
from tests.model_script import Action, Answer, Seen
from tests.model_server import ModelServer
from tests.providers.person import Person, Visit

CONFIG = """
model: {model: blind}
attachments: {sees: {blind: false}}
auxiliary: {vision: {model: seer}, transcription: {model: whisper-9}}
memory: {nudge_interval: 0}
skills: {creation_nudge_interval: 0}
"""
NOTE = b"OggS\0\2" + bytes(40)
FILES = (File("sign.png", picture()), File("note.ogg", NOTE))
WORDS = "the code is 4711"


def reply(seen: Seen) -> Action:
    return Answer(text="A violet lighthouse." if seen.body["model"] == "seer" else "Noted.")


class Household:
    """A home whose model is blind and deaf, with what it asked of others."""

    def __init__(self, folder: Path, server: ModelServer, config: str = "") -> None:
        server.follow(reply)
        server.transcripts = [WORDS, WORDS]
        self.server = server
        self.person = Person(folder, CONFIG + config)
        self.environ = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-nobody",
            "HERMES_JOBS_MODEL": "blind",
        }

    @contextmanager
    def at_work(self) -> Iterator[Visit]:
        """The home with a worker of its own."""
        with self.person.at(self.environ) as visit:
            yield visit

    def show(self, visit: Visit, session: str) -> str:
        """Send both files; what the model was sent last."""
        visit.send("Look.", session, attachments=visit.application.intake.attach(FILES))
        return str(self.server.requests[-1].body["messages"])

    def asked(self) -> tuple[int, int]:
        """How often it was asked to see and to hear."""
        seen = [each for each in self.server.requests if each.body.get("model") == "seer"]
        return len(seen), len(self.server.sounds)


@pytest.fixture
def household(tmp_path: Path, model_server: ModelServer) -> Household:
    return Household(tmp_path, model_server)


def test_another_worker_uses_the_recorded_words_and_books_nothing(household: Household) -> None:
    """Given files that were described and heard; when another worker gets them; then nobody is asked."""
    with household.at_work() as visit:
        household.show(visit, "s1")
    with household.at_work() as visit:
        sent = household.show(visit, "s2")
        assert "violet lighthouse" in sent
        assert WORDS in sent
        assert visit.events(e.ResponseBooked, "s2") == []
        assert [each.problem for each in visit.events(e.ContextPrefetched, "s2")[0].heard] == ["", ""]
    assert household.asked() == (1, 1)


def test_search_finds_what_was_said_and_described(household: Household) -> None:
    with household.at_work() as visit:
        household.show(visit, "s1")
        past = Conversations(visit.application.views)
        assert [len(past.search(words)) for words in ("code 4711", "violet lighthouse", "4712")] == [1, 1, 0]


def test_words_of_another_model_are_not_used(household: Household) -> None:
    with household.at_work() as visit:
        household.show(visit, "s1")
    household.environ["HERMES_JOBS_AUXILIARY__TRANSCRIPTION__MODEL"] = "whisper-10"
    with household.at_work() as visit:
        household.show(visit, "s2")
    assert household.asked() == (1, 2)


@pytest.mark.parametrize(("word", "left"), [("4711", "sign.png"), ("LIGHTHOUSE", "note.ogg")])
def test_redact_deletes_the_sound_in_which_the_word_was_heard_and_the_picture_described_with_it(
    household: Household, word: str, left: str
) -> None:
    """Given both files; when a word of one is redacted; then its bytes are gone, the other's stay, the rest
    of its words is still said, and the file is perceived again when it comes back."""
    with household.at_work() as visit:
        household.show(visit, "s1")
        files = visit.events(e.TurnSubmitted)[0].attachments
        kept, lost = sorted(files, key=lambda each: each.file_name != left)
    ran = household.person.home.run("redact", word, "--yes", "--json", **household.environ)
    assert ran.code == 0, ran
    assert ran.json["num_blobs"] == len(set(lost.digests))
    before = household.asked()
    with household.at_work() as visit:
        blobs = visit.application.blobs
        assert set(blobs.digests()) == set(kept.digests)
        (turn,) = visit.events(e.TurnSubmitted)
        assert [each.digest for each in turn.attachments if each.file_name != left] == [""]
        visit.send("And now?", "s1")
        sent = str(household.server.requests[-1].body["messages"])
        assert word.lower() not in sent.lower()
        assert "[redacted]" in sent
        assert ("the code is" in sent, "A violet" in sent) == (True, True)
        assert word.lower() in household.show(visit, "s2").lower()
    seen, heard = household.asked()
    assert (seen - before[0], heard - before[1]) == ((0, 1) if left == "sign.png" else (1, 0))
    assert household.person.home.run("log", "events", "verify", **household.environ).code == 0
