"""Exchanges: which texts stand together, and which of them have no vector yet."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.recall.rules import PREFIX, digest_of
from hermes_jobs.features.recall.tables.embeddings import (
    select_embedding_counts,
    select_exchanges_without,
    select_missing,
)
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import append, new_log

LATER, EARLIER = "2027-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"


def said(turn: str, text: str, answer: str = "", *, session: str = "s1") -> list[tuple[str, e.SessionEvent]]:
    stream = f"session-{session}"
    opening = e.Opening() if turn.endswith("1") else None
    asked = e.TurnSubmitted(turn=turn, text=text, source="cli", session=session, opening=opening)
    replied = e.ModelReplied(turn=turn, step=f"{turn}-1", content=answer, model="m", finish_reason="stop")
    begun = e.ContextPrefetched(turn=turn, model="m", max_iterations=3)
    return [(stream, asked), (stream, begun), *([(stream, replied)] if answer else [])]


def waiting(views: Views, before: str = LATER) -> list[tuple[str, ...]]:
    found = views.read(select_exchanges_without, "v", before=before, limit=100)
    return [each.texts(views.texts_at) for each in found]


def test_an_exchange_is_a_text_with_its_answer(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    views = Views(log, tmp_path / "views")
    append(log, [*said("t1", "Where is it?", "In Ghent."), *said("t2", "And when?", "In May.")])
    assert waiting(views) == [("Where is it?", "In Ghent."), ("And when?", "In May.")]
    append(log, said("t3", "Thanks"))
    append(log, said("t4", "Bye", "See you."))
    assert waiting(views)[2:] == [("Thanks", "Bye", "See you.")]
    [first, *_] = views.read(select_exchanges_without, "v", before=LATER, limit=1)
    assert (first.stream, first.digest) == ("session-s1", digest_of(("Where is it?", "In Ghent.")))
    views.close()
    log.close()


def test_the_last_exchange_waits_until_nothing_more_was_said(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    views = Views(log, tmp_path / "views")
    append(log, [*said("t1", "Where is it?", "In Ghent."), *said("t2", "And when?", "In May.")])
    assert waiting(views, EARLIER) == [("Where is it?", "In Ghent.")]
    views.close()
    log.close()


def test_a_text_waits_until_it_has_a_vector_or_again_where_that_failed(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    views = Views(log, tmp_path / "views")
    append(log, said("t1", "Where is it?", "In Ghent."))
    digest = digest_of(("Where is it?", "In Ghent."))
    plan = recall_events.EmbeddingPlanned(
        embedding="e1", model="v", texts=(recall_events.EmbeddedText("session-s1", digest),)
    )
    write(log, "e1", plan)
    assert waiting(views) == []
    assert views.read(select_embedding_counts, "v") == (0, 1)
    assert views.read(select_missing, "other", [digest]) == {digest}
    failed = e.HelperCallFailed(step="e1-1", attempt=1, kind="auth", message="No.", model="v")
    write(log, "e1", failed)
    assert waiting(views) == [("Where is it?", "In Ghent.")]
    views.close()
    log.close()


def write(log: SqlEventLog, embedding: str, event: recall_events.EmbeddingEvent) -> None:
    written = StreamWrite(stream=f"{PREFIX}{embedding}", events=(event,), expected=None)
    log.append(Append(meta=EventMeta(worker="w"), recorded_at=EARLIER, writes=(written,)))
