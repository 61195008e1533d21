"""Deliveries as rows: by turn, by source, and what stands in the inbox."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.events import (
    DeliveryEvent,
    DeliveryFailed,
    DeliveryPlaced,
    DeliveryRequested,
    DeliverySent,
    stream_of,
)
from hermes_jobs.features.deliveries.tables import count_unread, select_deliveries, select_delivery
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import new_log


def write(log: SqlEventLog, delivery: str, *facts: DeliveryEvent) -> None:
    change = StreamWrite(stream=stream_of(delivery), events=facts, expected=None)
    log.append(
        Append(meta=EventMeta(worker="w"), recorded_at="2026-11-21T12:00:00.000000Z", writes=(change,))
    )


def requested(delivery: str, target: str, turn: str, source: str) -> DeliveryRequested:
    return DeliveryRequested(
        delivery=delivery, target=target, text=f"text of {delivery}", turn=turn, session="s1", source=source
    )


@pytest.mark.parametrize("at_once", [True, False])
def test_rows_follow_from_the_facts_in_batches_of_any_size(tmp_path: Path, at_once: bool) -> None:
    with closing(new_log(tmp_path)) as log, closing(Views(log, tmp_path / "views")) as views:
        facts: tuple[tuple[str, tuple[DeliveryEvent, ...]], ...] = (
            ("d1", (requested("d1", "cli", "t1", "schedule:h1"),)),
            ("d2", (requested("d2", "telegram:12", "t1", "schedule:h1"),)),
            ("d2", (DeliveryFailed(delivery="d2", attempt=1, message="Away.", retry_at=5.0),)),
            ("d2", (DeliveryPlaced(delivery="d2", part=0, receipt="7"),)),
            ("d3", (requested("d3", "webhook:https://example.com/", "t2", "telegram"),)),
            ("d3", (DeliveryFailed(delivery="d3", attempt=2, message="It answered 404."),)),
            ("d2", (DeliverySent(delivery="d2", attempt=1, receipt="7"),)),
        )
        for delivery, written in facts:
            write(log, delivery, *written)
            if not at_once:
                views.read(count_unread)
        assert [each.delivery for each in views.read(select_deliveries)] == ["d3", "d2", "d1"]
        assert [each.delivery for each in views.read(select_deliveries, turn="t1")] == ["d2", "d1"]
        assert [each.delivery for each in views.read(select_deliveries, limit=2)] == ["d3", "d2"]
        assert [each.delivery for each in views.read(select_deliveries, inbox=True)] == ["d3", "d1"]
        assert views.read(count_unread) == 2
        sent = views.read(select_delivery, "d2")
        assert (sent.status, sent.receipt, sent.attempts, sent.message) == ("sent", "7", 0, "")
        assert views.read(select_delivery, "d3").status == "failed"
        with pytest.raises(Rejected) as several:
            views.read(select_delivery, "d")
        assert several.value.kind == "ambiguous"
