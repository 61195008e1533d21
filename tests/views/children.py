"""Processes that stall at a named moment, or catch up beside others: `python -m tests.views.children`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.views import store
from hermes_jobs.kernel.views import views as module
from hermes_jobs.kernel.views.views import Views
from tests.views.histories import new_log


class Stall:
    """A projection that says so and stops for ever at one position, in the middle of a transaction."""

    name: Final = "stall"
    tables: Final = ""
    event_types: Final = tuple(EVENT_TYPES.values())

    def __init__(self, position: int) -> None:
        self._position = position

    def apply(self, connection: Connection, events: Sequence[RecordedEvent]) -> None:
        if any(recorded.position == self._position for recorded in events):
            say("stalled")
            time.sleep(3600)


def say(word: str) -> None:
    """Tell the parent, who waits for it."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(home: Path, what: str, argument: int) -> None:
    """`catch_up` or `rebuild` up to a stall at the position; `race` until the log has so many events."""
    store.BATCH = 10
    log = new_log(home)
    if what == "race":
        views = Views(log, home / "views")
        say("ready")
        while views.catch_up().position < argument:
            pass
        return
    module.PROJECTIONS = (*module.PROJECTIONS, Stall(argument))
    views = Views(log, home / "views")
    if what == "rebuild":
        views.rebuild()
    else:
        views.catch_up()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
