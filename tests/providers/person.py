"""Somebody who talks with the agent at several providers in turn, in one home, within the test's process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.home import PATIENCE, Home

T = TypeVar("T", bound=e.Event)


class Visit:
    """The home at work with one provider."""

    def __init__(self, application: Application, worker: InlineWorker, work: Path) -> None:
        self.application = application
        self.worker = worker
        self._work = work

    def send(self, text: str, session: str | None = None, **more: Any) -> str:
        """A turn from its text to its end, and all that it leaves to be done; its session's id."""
        session = session or self.application.ids.name("s")
        turn = self.submit(text, session, **more)
        assert self.worker.work(lambda: turn in self.session(session).ended, seconds=PATIENCE), text
        self.worker.drain()
        return session

    def submit(self, text: str, session: str, **more: Any) -> str:
        """A turn's text into the log; its id."""
        turn = self.application.ids.name("t")
        opening = e.Opening(workdir=str(self._work))
        self.worker.engine.submit(
            e.TurnSubmitted(turn=turn, session=session, text=text, source="test", opening=opening, **more)
        )
        return turn

    def execute(self, session: str, command: c.SessionCommand) -> None:
        """A command of the session's, and all that is due after it."""
        self.worker.engine.execute(stream_of(session), command)
        self.worker.drain()

    def session(self, session: str) -> Session:
        """The session's state."""
        state = self.worker.engine.state(stream_of(session))
        assert isinstance(state, Session)
        return state

    def events(self, kind: type[T], session: str | None = None) -> list[T]:
        """The events of that type so far, of one session or of all."""
        stream = None if session is None else stream_of(session)
        found: Iterable[Any] = self.application.log.tail(0, 1_000_000, stream=stream)
        return [each.event for each in found if isinstance(each.event, kind)]

    def answers(self, session: str) -> list[str]:
        """How the session's turns were answered; none may have failed."""
        failed = self.events(e.TurnFailed, session)
        assert not failed, failed
        return [each.answer for each in self.events(e.TurnCompleted, session)]


class Person:
    """One home."""

    def __init__(self, folder: Path, config: str = "") -> None:
        self._home = Home(folder, {})
        self._home.path.mkdir(mode=0o700)
        (self._home.path / "config.yaml").write_text(config, encoding="utf-8")

    @property
    def home(self) -> Home:
        """The home, for processes of its own."""
        return self._home

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What a process of the home's knows of the world, with that provider."""
        return {**self._home.environ, **environ}

    @contextmanager
    def at(self, environ: Mapping[str, str], on_delta: Callable[..., None] | None = None) -> Iterator[Visit]:
        """The home with that provider."""
        known = self.environ(environ)
        application = Application(load(known), known)
        try:
            deltas = {"on_delta": on_delta} if on_delta is not None else {}
            with InlineWorker(application, **deltas) as worker:
                yield Visit(application, worker, self._home.work)
        finally:
            application.close()
