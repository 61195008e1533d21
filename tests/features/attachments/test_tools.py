"""What tools show to the model: files that are read, pictures of own functions and of MCP servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.features.attachments.api import UNCANCELLED, AttachmentLimits, File, Intake
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.log.blobs import BlobFiles
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.tools.files import Files
from hermes_jobs.tools.own_functions import own_tools
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.toolbox import Toolbox
from tests.features.attachments.files import document, picture
from tests.tools.support import Switch, context_in

PAGES = [f"This is page number {number}." for number in range(1, 31)]
PLOT = '''
import hermes_jobs
@hermes_jobs.tool(effect="read")
def plot(kind: str) -> object:
    """Draws."""
    file = hermes_jobs.File("../plot.png", bytes.fromhex("{data}"))
    return file if kind == "alone" else ["Drawn.", file]
'''


class Reading:
    """`read_file` with an intake."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.intake = Intake(BlobFiles(folder / "blobs"), AttachmentLimits(pages=10), folder / "tmp")
        paths = PathPolicy(home=str(folder / "home"), user_home=str(folder), roots=None)
        self.tools = Toolbox(Files(paths, documents=self.intake).tools, enabled=("files",))

    def read(self, path: str, more: str = "") -> ToolOutcome:
        call = ToolCall("c1", "read_file", f'{{"path": "{path}"{more}}}')
        return self.tools.run(call, context_in(self.work), None, Switch())


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path.resolve())


def test_a_picture_that_is_read_is_shown(reading: Reading) -> None:
    (reading.work / "sign.txt").write_bytes(picture())  # its content decides
    outcome = reading.read("sign.txt")
    assert outcome.files == (File("sign.txt", picture()),)
    (attached,), notes = reading.intake.attach_each(outcome.files, UNCANCELLED)
    assert (attached.media_type, attached.width, notes) == ("image/png", 40, ())


def test_a_document_is_read_in_pages_however_many_it_has(reading: Reading) -> None:
    (reading.work / "paper.pdf").write_bytes(document(PAGES))
    first = reading.read("paper.pdf").content
    assert first.startswith("[pages 1–20 of 30; continue with pages=21-]\n[The text of a document")
    assert "[page 20]\nThis is page number 20." in first
    assert "number 21" not in first
    assert reading.read("paper.pdf", ', "pages": "29-"').content.startswith("[pages 29–30 of 30]\n")
    assert reading.read("paper.pdf", ', "pages": 3').content.endswith("[page 3]\nThis is page number 3.")


def test_pages_of_a_document_are_seen_on_demand(reading: Reading) -> None:
    (reading.work / "paper.pdf").write_bytes(document(PAGES))
    outcome = reading.read("paper.pdf", ', "pages": "3-4", "as_images": true')
    assert outcome.content == "[pages 3–4 of 30; continue with pages=5-]"
    assert [file.name for file in outcome.files] == ["paper.pdf, page 3", "paper.pdf, page 4"]
    attached, notes = reading.intake.attach_each(outcome.files, UNCANCELLED)
    assert [(each.media_type, each.height) for each in attached] == [("image/png", 1_568)] * 2
    assert notes == ()


@pytest.mark.parametrize(
    ("pages", "said"),
    [("31", "there is no page 31"), ("4-3", "ends before it begins"), ("last", "3, 3-4 or 3-")],
)
def test_pages_that_are_not_there_are_said(reading: Reading, pages: str, said: str) -> None:
    (reading.work / "paper.pdf").write_bytes(document(PAGES))
    outcome = reading.read("paper.pdf", f', "pages": "{pages}"')
    assert not outcome.ok
    assert said in outcome.content


@pytest.mark.parametrize(
    "text",
    ['SIGNATURE = b"%PDF-"  # in a program', "BMW and others", "é" * 511 + "x%PDF-é"],
)
def test_a_text_that_begins_like_a_picture_or_names_a_signature_is_read_as_text(
    reading: Reading, text: str
) -> None:
    (reading.work / "notes.py").write_text(text)
    outcome = reading.read("notes.py")
    assert outcome.ok
    assert text in outcome.content
    assert outcome.files == ()


def test_what_cannot_be_shown_is_told_beside_what_can(reading: Reading) -> None:
    files = (File("broken.png", picture()[:40]), File("a" * 300, picture()), File("empty.png", b""))
    attached, notes = reading.intake.attach_each(files, UNCANCELLED)
    assert [each.file_name for each in attached] == ["a" * 120]
    assert [note.split(" ")[0] for note in notes] == ["broken.png", "empty.png"]


@pytest.mark.parametrize(("kind", "said"), [("alone", ""), ("both", "Drawn.")])
def test_an_own_function_may_return_a_picture(
    kind: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"plots_{kind}"
    (tmp_path / f"{name}.py").write_text(PLOT.replace("{data}", picture().hex()))
    toolbox = Toolbox(own_tools([name]).tools, enabled=())
    call = ToolCall("c1", "plot", f'{{"kind": "{kind}"}}')
    outcome = toolbox.run(call, context_in("/tmp"), None, Switch())
    assert (outcome.content, outcome.ok) == (said, True)
    assert outcome.files == (File("../plot.png", picture()),)
