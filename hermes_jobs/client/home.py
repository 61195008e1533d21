"""`Home`: one home of hermes-jobs, for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Unpack

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.approvals import Approvals
from hermes_jobs.client.following import TextPart, TurnEvent
from hermes_jobs.client.memory import Memory
from hermes_jobs.client.schedules import Schedules
from hermes_jobs.client.sessions import Sessions
from hermes_jobs.client.turns import TurnOptions, Turns
from hermes_jobs.features.usage.tables.usage import Spending, select_spending
from hermes_jobs.features.usage.tables.usage import SpendingKey as SpendingKey  # noqa: PLC0414 - for callers
from hermes_jobs.kernel.views.turn_json import TurnJson
from hermes_jobs.settings import load
from hermes_jobs.settings.home import HOME_VARIABLE
from hermes_jobs.text.moments import iso


class Home:
    """A home with its log: `path`, else `$HERMES_JOBS_HOME`, else `~/.hermes-jobs`; it is created where it is
    missing. Safe for threads. Close it, or use it in a `with`.

    `turns`, `sessions`, `schedules`, `memory` and `approvals` are its parts. `environ` is read instead of
    this process's environment: settings (`HERMES_JOBS_…`), keys, and the variables that the agent's commands
    inherit.

    Raises `Misconfigured`.
    """

    def __init__(self, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> None:
        variables = dict(os.environ if environ is None else environ)
        if path is not None:
            variables[HOME_VARIABLE] = str(Path(path).expanduser().absolute())
        self._application = Application(load(variables), variables)
        # Made here, before there are threads that would make one each.
        _ = self._application.log, self._application.views, self._application.workers
        self.turns = Turns(self._application)
        self.sessions = Sessions(self._application)
        self.schedules = Schedules(self._application)
        self.memory = Memory(self._application)
        self.approvals = Approvals(self._application)

    def __enter__(self) -> Home:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release connections. Where no worker is alive, jobs that this home's turns left, such as reviews,
        are performed first."""
        self.turns.finish_jobs()
        self._application.close()

    def send(
        self, text: str, *, wait: bool = True, timeout: float | None = None, **options: Unpack[TurnOptions]
    ) -> TurnJson:
        """Submit a text as a turn, and wait for its end, a question to a person, or `timeout` seconds.

        `session`: an id, a title, a unique beginning of either, or `last`; None: a new session, whose tools
        work in `workdir` (None: no folder). `begin`: where no session has that title one begins, and only it
        takes `workdir` and `system`. `key`: a second call with the same key returns the same turn.
        `approve`: patterns of calls that are allowed in this turn. `unattended`: calls that need approval are
        refused instead of waiting for one. `schema`: a JSON Schema of the answer, which is then in
        `structured`. `deliver`: further targets of the answer, such as `file:/tmp/answer.md`. Where no worker
        is alive, the turn runs in this process.

        The turn may be `queued`, `running` or `waiting`: read its `status`. A failed turn is a result, with
        its `error`. Raises `Rejected`, `Misconfigured`, `LogUnavailable`: nothing was recorded then.
        """
        submitted = self.turns.submit(text, runs_here=wait, **options)
        return self.turns.wait(submitted, timeout=timeout) if wait else self.turns.current(submitted)

    def stream(
        self, text: str, *, timeout: float | None = None, **options: Unpack[TurnOptions]
    ) -> Iterator[TextPart | TurnEvent | TurnJson]:
        """Submit a text, as `send` with the same options, and yield parts of the answer and events while the
        turn goes on; last comes the turn.

        The text of the answer is that of the turn's `result`: parts of an attempt that failed are followed by
        an event, and another attempt. The turn goes on where the iteration ends early.
        """
        return self.turns.follow(self.turns.submit(text, runs_here=True, **options), timeout=timeout)

    def usage(self, *, by: SpendingKey = "day", since: datetime | None = None) -> tuple[Spending, ...]:
        """Tokens and money of all model responses, in rows by day, session, model, purpose, schedule or
        root. `since`: an aware datetime."""
        return spending(self._application, by=by, since=since)


def spending(application: Application, *, by: SpendingKey, since: datetime | None) -> tuple[Spending, ...]:
    """See `Home.usage`."""
    moment = None if since is None else iso(since.timestamp())
    return application.views.read(select_spending, by=by, since=moment, zone=application.settings.zone)
