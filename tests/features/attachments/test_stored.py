"""The bytes that events name: exported, imported, verified, forgotten, collected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.blobs import BlobFiles, BlobStore, SharedBlobs, collect_unnamed, named_in
from hermes_jobs.kernel.log.copy_log import copy_log, temp_log
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.forget import find, forget
from hermes_jobs.kernel.log.import_log import import_log
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.transaction import TransactionLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.forgetting import Removal, deleted
from hermes_jobs.kernel.streams.streams import due_steps, fold, initial_state
from hermes_jobs.kernel.streams.texts import scrubbed
from hermes_jobs.kernel.turns.attachments import Attachment, in_words
from hermes_jobs.kernel.views.result_files import ResultFiles
from hermes_jobs.kernel.views.views import Views
from tests.eventlog.changes import META, MOMENT

FILE, PAGES = b"%PDF-1.4 \xff", b"The lamp is in room 7."


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlEventLog]:
    opened = open_log(sqlite_url(tmp_path / "events.db"))
    yield opened
    opened.close()


@pytest.fixture(params=["files", "table"])
def blobs(request: pytest.FixtureRequest, log: SqlEventLog, tmp_path: Path) -> BlobStore:
    """The two stores; SQLite's table holds what PostgreSQL's does."""
    files = BlobFiles(tmp_path / "attachments")
    return files if request.param == "files" else SharedBlobs(log, files)


def attached(blobs: BlobStore, name: str = "paper.pdf") -> Attachment:
    return Attachment(
        digest=blobs.put(FILE),
        media_type="application/pdf",
        size=len(FILE),
        file_name=name,
        text=blobs.put(PAGES),
        pages=1,
        characters=len(PAGES),
    )


def submit(log: SqlEventLog, *attachments: Attachment, stream: str = "session-s1") -> None:
    event = e.TurnSubmitted(
        turn=f"t-{stream}",
        text="Read this.",
        source="test",
        session=stream.removeprefix("session-"),
        opening=e.Opening(),
        attachments=attachments,
    )
    due = due_steps(fold(initial_state(stream), (event,)))
    write = StreamWrite(stream=stream, events=(event,), expected=0, due=tuple(due))
    log.append(Append(meta=META, recorded_at=MOMENT, writes=(write,)))


def test_read_file_finds_the_text_of_a_document_and_no_other_content(
    log: SqlEventLog, blobs: BlobStore, tmp_path: Path
) -> None:
    paper = attached(blobs)
    assert in_words(paper).endswith(f"read_file finds its text as {paper.path}]")
    files = ResultFiles(log, Views(log, tmp_path / "views"), tmp_path / "results", blobs.get)
    file = files.file_of(Path(paper.path).stem)
    assert file is not None
    assert file.read_bytes() == PAGES
    drawn = Attachment(digest=blobs.put(b"\x89PNG"), media_type="image/png", size=4, file_name="sign.png")
    shown = files.file_of(Path(drawn.path).name)
    assert shown is not None
    assert shown.read_bytes() == b"\x89PNG"
    assert in_words(drawn, is_past=True).endswith(f"; read_file shows it as {drawn.path}]")
    assert "read_file" not in in_words(drawn)
    assert files.file_of("../events.db") is None
    assert files.file_of("attachment-ab") is None
    assert files.file_of(f"attachment-{'0' * 64}") is None


def problems(log: SqlEventLog, blobs: BlobStore) -> list[str]:
    findings = verify(log, blobs).findings
    return [finding.message for finding in findings if "content" in finding.message]


def test_a_content_is_stored_once_and_comes_back(blobs: BlobStore) -> None:
    assert blobs.put(FILE) == blobs.put(FILE)
    assert [blobs.get(digest) for digest in blobs.digests()] == [FILE]
    assert blobs.get("0" * 64) is None


def test_a_host_without_the_file_reads_the_table(log: SqlEventLog, tmp_path: Path) -> None:
    digest = SharedBlobs(log, BlobFiles(tmp_path / "one")).put(FILE)
    other = BlobFiles(tmp_path / "other")
    assert SharedBlobs(log, other).get(digest) == FILE
    assert list(other.digests()) == [digest]


def test_verify_names_what_is_missing_or_changed(log: SqlEventLog, tmp_path: Path) -> None:
    blobs = BlobFiles(tmp_path / "attachments")
    paper = attached(blobs)
    submit(log, paper)
    assert (problems(log, blobs), verify(log, blobs).num_blobs) == ([], 2)
    (tmp_path / "attachments" / paper.text[:2] / paper.text[2:]).write_bytes(b"other")
    blobs.delete([paper.digest])
    missing, changed = problems(log, blobs)
    assert paper.digest in missing
    assert "missing" in missing
    assert "is not what was stored" in changed


def test_an_export_brings_the_bytes_along(log: SqlEventLog, blobs: BlobStore, tmp_path: Path) -> None:
    paper = attached(blobs)
    blobs.put(b"named by no event")
    submit(log, paper)
    lines = list(export_log(log, version="test", made_at=MOMENT, blobs=blobs))
    (tmp_path / "there").mkdir()
    there, target = open_log(sqlite_url(tmp_path / "there" / "events.db")), BlobFiles(tmp_path / "there")
    with temp_log(tmp_path, there.codec) as source:
        source.change_tables(
            lambda connection: import_log(
                TransactionLog(connection, source.log_id, source.codec),
                lines,
                lambda moment: moment[:10],
                there,
                blobs=target,
            )
        )
        copy_log(source, there, lambda inner: None)
    assert set(target.digests()) == set(paper.digests)
    assert problems(there, target) == []
    there.close()


def test_an_export_without_attachments_is_of_the_format_that_older_versions_read(
    log: SqlEventLog, blobs: BlobStore
) -> None:
    submit(log)
    first, *_ = export_log(log, version="test", made_at=MOMENT, blobs=blobs)
    assert b'"format":1' in first


@pytest.mark.parametrize("found", ["name", "pages", "session"])
def test_what_is_forgotten_is_named_no_longer(log: SqlEventLog, blobs: BlobStore, found: str) -> None:
    paper = attached(blobs, "secret.pdf")
    submit(log, paper)
    removal = {
        "name": Removal(text=lambda text: text.replace("secret", "[redacted]")),
        "pages": Removal(text=lambda text: text, blobs=frozenset({paper.text})),
        "session": Removal(text=deleted, streams=frozenset({"session-s1"})),
    }[found]
    fact = e.TextsForgotten(forgetting="f1", cause="pattern", by="user")
    forget(log, removal, find(log, removal), fact, meta=META, recorded_at=MOMENT, force=True)
    (submitted,) = (record.event for record in log.read("session-s1"))
    assert isinstance(submitted, e.TurnSubmitted)
    assert submitted.attachments[0].digests == ()
    (record,) = log.read("forgetting-f1")
    assert isinstance(record.event, e.TextsForgotten)
    assert set(record.event.blobs) == set(paper.digests)
    assert problems(log, blobs) == []


def test_other_attachments_stay(blobs: BlobStore) -> None:
    paper = attached(blobs)
    event = e.TurnSubmitted(turn="t", text="x", source="s", session="s", attachments=(paper,))
    assert scrubbed(event, lambda text: text, frozenset({"0" * 64})) is event


def test_only_what_no_event_names_is_collected_and_not_at_once(log: SqlEventLog, tmp_path: Path) -> None:
    blobs = BlobFiles(tmp_path / "attachments")
    paper = attached(blobs)
    submit(log, paper)
    blobs.put(b"left by a process that was killed")
    assert collect_unnamed(log, blobs, blobs, before=0) == 0
    assert collect_unnamed(log, blobs, blobs, before=2**40) == 1
    assert set(blobs.digests()) == set(paper.digests)


def test_names_in_texts_count_for_nothing() -> None:
    assert named_in('{"text":"\\"attachments\\":[{\\"digest\\":\\"' + "a" * 64 + '\\"}]"}') == ()
