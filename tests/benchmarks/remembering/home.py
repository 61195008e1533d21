"""A home of its own for one scripted person: the configured model, a temporary folder, a shifted clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import Rejected
from hermes_jobs.features.consolidation.plans import plans_of
from hermes_jobs.features.consolidation.tables import select_unread
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel.events import ContextPrefetched, Opening, TurnCompleted, TurnFailed, TurnSubmitted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolMessage
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import Settings
from hermes_jobs.settings.home import Paths
from hermes_jobs.settings.load import file_stamps

SOURCE = "bench"
DAY = 86_400.0


class ShiftedClock:
    """The host's clocks, `days_ago` days ago."""

    def __init__(self) -> None:
        self.days_ago = 0.0

    def now(self) -> float:
        """See `Clock`."""
        return time.time() - self.days_ago * DAY

    def monotonic(self) -> float:
        """See `Clock`."""
        return time.monotonic()


class SpentTokens(NamedTuple):
    """Calls of models, and their tokens."""

    requests: int
    tokens: int


class RecordedReply(NamedTuple):
    """The end of a turn: its answer, the model's input other than the text and this session, and the prompt,
    each as the sent characters."""

    answer: str
    prompt: str
    recalled: str
    results: tuple[str, ...]

    @property
    def full_input(self) -> str:
        """All input for the answer."""
        return "\n\n".join((self.prompt, self.recalled, *self.results))


def settings_for(settings: Settings, folder: Path, *, recall: bool = False) -> Settings:
    """The user's settings with their models and keys, for a home below that folder; no servers and no
    providers of memory, so that what is measured is the built-in one. Verifications are off: they only
    propose, and would be paid for."""
    paths = Paths(folder / "home")
    return replace(
        settings,
        paths=paths,
        stamps=file_stamps(paths),
        log_url=None,
        mcp_servers={},
        memory=replace(settings.memory, recall=recall, provider=None),
        learning=replace(settings.learning, verify="off"),
    )


class BenchHome:
    """One home while it is open."""

    def __init__(
        self, worker: InlineWorker, application: Application, clock: ShiftedClock, work: Path
    ) -> None:
        self.application = application
        self.clock = clock
        self._worker = worker
        self._work = work

    def say(self, session: str, text: str, opening: Opening) -> RecordedReply:
        """Run one turn. Raises `Rejected` if it fails."""
        worker, stream = self._worker, stream_of(session)
        turn = worker.engine.ids.name("t")
        before = self.application.log.last_position()
        worker.engine.submit(
            TurnSubmitted(
                turn=turn,
                session=session,
                text=text,
                source=SOURCE,
                opening=replace(opening, workdir=str(self._work)),
                mode="full",
            )
        )
        worker.work(partial(self._has_ended, stream, turn), stream=stream)
        after = worker.engine.sessions.load(stream)
        events = [event.event for event in self.application.log.tail(before, stream=stream)]
        answer = next((event.answer for event in events if isinstance(event, TurnCompleted)), None)
        if answer is None:
            reason = next(
                (event.message for event in events if isinstance(event, TurnFailed)), "it was cancelled"
            )
            raise Rejected(f"A turn of the benchmark did not complete: {reason}", kind="bench")
        recalled = [event.recalled for event in events if isinstance(event, ContextPrefetched)]
        results = tuple(message.content for message in after.messages if isinstance(message, ToolMessage))
        prompt = after.started.system_prompt if after.started is not None else ""
        return RecordedReply(answer, prompt, "".join(recalled), results)

    def rest(self) -> None:
        """Run due steps other than turns: reviews and their writes."""
        self._worker.drain()

    def consolidate(self, session: str) -> None:
        """Request observations of the sessions; `rest` records them."""
        unread = self.application.views.read(select_unread, session)
        if unread is not None:
            plans_of(self.application).ask(self._worker.engine, unread)

    def compress(self, session: str) -> Session:
        """One compression by hand, if there is something to compress; the session after that."""
        worker, stream = self._worker, stream_of(session)
        worker.engine.execute(stream, c.RequestCompression(reason="manual"))
        worker.work(lambda: worker.engine.sessions.load(stream).compression is None, stream=stream)
        return worker.engine.sessions.load(stream)

    def spent(self) -> SpentTokens:
        """The usage of this home's whole log."""
        rows = self.application.views.read(select_spending, by="model")
        return SpentTokens(sum(row.requests for row in rows), sum(row.usage.total_tokens for row in rows))

    def _has_ended(self, stream: str, turn: str) -> bool:
        return turn in self._worker.engine.sessions.load(stream).ended


@contextmanager
def opened(settings: Settings, environ: Mapping[str, str], folder: Path) -> Iterator[BenchHome]:
    """The home below that folder, closed at the end."""
    clock, work = ShiftedClock(), folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    with (
        closing(Application(settings, environ, clock=clock)) as application,
        InlineWorker(application) as worker,
    ):
        yield BenchHome(worker, application, clock, work)
