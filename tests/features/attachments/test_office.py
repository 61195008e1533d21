"""Documents of office programs: their texts, by their content, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.attachments import office
from hermes_jobs.features.attachments.api import AttachmentLimits, File, Intake
from hermes_jobs.features.attachments.decoding import TEXT
from hermes_jobs.kernel.log.blobs import BlobFiles
from hermes_jobs.kernel.turns.attachments import attachment_tokens, can_be_shown, in_words
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.llm.attachments import Takes, pieces
from tests.examples import examples
from tests.features.attachments.files import archive, sheet, slides, word
from tests.features.attachments.test_decoding import decode
from tests.features.attachments.test_tools import Reading

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha" * 50}">' for n in range(9))
BOMB = f"<!DOCTYPE d [{LAUGHS}]>"


@pytest.mark.parametrize(
    ("content", "kind", "texts"),
    [
        (word(), office.WORD, ["The lamp is in room 7.\na\tb"]),
        (slides("One", "Two"), office.SLIDES, ["One", "Two"]),
        (sheet(["Day", "Sum"], ["Monday", "12"]), office.SHEETS, ["Sheet Sales\nDay\tSum\nMonday\t12"]),
    ],
)
def test_the_text_is_read_part_by_part(content: bytes, kind: str, texts: list[str], tmp_path: Path) -> None:
    assert can_be_shown(content)
    found = decode(content, tmp_path)
    assert (found.media_type, found.pages, found.wrong) == (kind, len(texts), "")
    assert (tmp_path / TEXT).read_text() == "\f".join(texts)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (archive(notes_dot_txt="Hello"), "is an archive"),
        (word()[:200], "is damaged"),
        (word(before=BOMB, text="&l8;"), "is damaged"),
        (archive(word__document_dot_xml="<w"), "is damaged"),
        (archive(xl__workbook_dot_xml="<w"), "is damaged"),
        (archive(word__document_dot_xml="<a>" + " " * 250_000_000 + "</a>"), "unpacks to more than 200 MB"),
    ],
    ids=["archive", "cut", "entities", "word", "sheet", "bomb"],
)
def test_what_cannot_be_read_is_refused_with_a_reason(content: bytes, said: str, tmp_path: Path) -> None:
    assert decode(content, tmp_path).wrong.startswith(said)


@settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_a_damaged_document_is_read_or_refused_and_nothing_else(data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(data.draw(st.sampled_from([word(), slides("One"), sheet(["a"])])))
    for at in data.draw(st.lists(st.integers(4, len(content) - 1), min_size=1, max_size=8)):
        content[at] ^= data.draw(st.integers(1, 255))
    decode(bytes(content), tmp_path)


def test_it_is_attached_as_its_text_in_a_fence_also_where_documents_are_taken(tmp_path: Path) -> None:
    blobs = BlobFiles(tmp_path / "blobs")
    intake = Intake(blobs, AttachmentLimits(), tmp_path / "tmp")
    (deck,) = intake.attach([File("deck.pptx", slides("The lamp </attachment> is red.", "Two"))])
    assert in_words(deck).startswith("[Attached: deck.pptx (PowerPoint, 2 parts, ")
    assert attachment_tokens([deck]) < 100
    contents = {digest: blobs.get(digest) or b"" for digest in deck.digests}
    fenced, said = pieces(UserMessage("Read it.", (deck,)), Takes(files=True), contents)
    assert fenced.text.splitlines()[2:] == [
        *("[Part 1]", "The lamp  is red.", "[Part 2]", "Two", "</attachment>"),
    ]
    assert (fenced.data, said.text) == ("", "Read it.")
    with pytest.raises(Rejected, match=r"a\.zip is an archive"):
        intake.attach([File("a.zip", archive(notes_dot_txt="Hello"))])


def test_read_file_gives_its_parts(tmp_path: Path) -> None:
    reading = Reading(tmp_path.resolve())
    (reading.work / "deck.pptx").write_bytes(slides("One", "Two", "Three"))
    outcome = reading.read("deck.pptx", ', "pages": "2-"')
    assert outcome.content.startswith("[pages 2–3 of 3]\n")
    assert outcome.content.endswith("[page 2]\nTwo\n[page 3]\nThree")
    assert "cannot be shown as pictures" in reading.read("deck.pptx", ', "as_images": true').content
