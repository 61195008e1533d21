"""A turn as a task of the user's own Celery application, for its chains, groups and chords.

    from hermes_jobs.celery import register

    turn = register(app, home="~/agent")
    chain = fetch.s(url) | turn.s("Summarise: {0}", session="news") | publish.s()

The task submits the turn, with its own id as the key, and is retried until the turn has ended: no worker is
occupied meanwhile, and a message that comes twice finds the same turn. The turn runs on the workers of
hermes-jobs; its steps never use the user's broker. ADR 145 has the reasons.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any, Literal, cast

import msgspec
from celery import Celery, signals
from celery.exceptions import Ignore, Reject

from hermes_jobs.client import Home, Turn, TurnOptions
from hermes_jobs.errors import HermesJobsError, LogUnavailable, Rejected
from hermes_jobs.kernel.turns.submitted import Submitted

NAME = "hermes_jobs.turn"
FIRST_POLL = 0.05  # seconds
GROWTH = 1.3  # of each wait: a turn is noticed after about an eighth of its own duration
LONGEST_POLL = 10.0  # seconds; far below the visibility timeout of Redis, which repeats longer countdowns
SPREAD = 0.8  # of each wait at least: the looks of a message that was doubled drift apart
LOG_AGAIN = 5.0  # seconds until a log that cannot be reached is tried again

Result = Literal["answer", "turn"]
"""What the task returns: the text of the answer (with a schema, its value), or all of the turn's JSON."""


class TurnFailed(HermesJobsError):
    """The turn failed, was cancelled or stopped by a limit, or was refused; `kind` is for programs. `turn` is
    its id, empty where none was recorded."""

    def __init__(self, message: str, kind: str = "", turn: str = "") -> None:
        super().__init__(message, kind, turn)  # all of them, because result backends make it anew of these
        self.message = message
        self.kind = kind
        self.turn = turn

    def __str__(self) -> str:
        return f"{self.message} (turn {self.turn}, {self.kind})" if self.turn else self.message


class TurnRuns(HermesJobsError):
    """The reason of the task's retries: its turn has not ended yet, as this look of the task has found."""

    def __init__(self, message: str, look: int) -> None:
        super().__init__(message, look)
        self.message = message
        self.look = look

    def __str__(self) -> str:
        return self.message


def register(
    app: Celery,
    home: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    longest_poll: float = LONGEST_POLL,
) -> Any:
    """Add the task `hermes_jobs.turn` to the application and return it. `home` and `environ` are those of
    `hermes_jobs.client.Home`; `longest_poll`: the most seconds between two looks at a turn.

    The task takes a text, the options of `Home.send`, and `result` (`answer` or `turn`). Results of the tasks
    before it are the values of `{0}` in the text; other things than texts and numbers are inserted as JSON.
    It raises `TurnFailed`. Run eagerly, it runs the turn to its end in this process.
    """
    task = _TurnTask(_Homes(home, environ), longest_poll)

    def run(bound: Any, *values: Any, result: Result = "answer", **options: Any) -> Any:
        return task.run(bound, values, result, cast("TurnOptions", options))

    def revoked(sender: Any, request: Any, **_rest: object) -> None:
        if sender.name == NAME:
            task.cancel(request.id)

    signals.task_revoked.connect(revoked, weak=False)
    return app.task(
        name=NAME,
        bind=True,
        shared=False,  # with other applications of the process, whose homes may be others
        max_retries=None,
        # The same id is the same turn: a message may be delivered again.
        acks_late=True,
        reject_on_worker_lost=True,
    )(run)


class _Homes:
    """The home, opened once in each process: the workers of the prefork pool are forks."""

    def __init__(self, path: str | Path | None, environ: Mapping[str, str] | None) -> None:
        self._path = path
        self._environ = environ
        self._locks: dict[int, threading.Lock] = {}
        self._homes: dict[int, Home] = {}

    def open(self) -> Home:
        """Another one, for the caller to close."""
        return Home(self._path, environ=self._environ)

    def shared(self) -> Home:
        """That of this process."""
        process = os.getpid()
        with self._locks.setdefault(process, threading.Lock()):
            if process not in self._homes:
                self._homes[process] = self.open()
            return self._homes[process]


class _TurnTask:
    """What the task does, once each time that it is performed."""

    def __init__(self, homes: _Homes, longest_poll: float) -> None:
        self._homes = homes
        self._longest_poll = longest_poll

    def run(self, bound: Any, values: Sequence[Any], result: Result, options: TurnOptions) -> Any:
        """Submit the turn where there is none for this task; its result where it has ended, else a retry."""
        request = bound.request
        *before, text = values or ("",)
        try:
            if request.is_eager or request.called_directly:
                with self._homes.open() as home:
                    submitted = _submitted(home, request.id, text, before, options, runs_here=True)
                    home.turns.wait(submitted)
                    return _result(home.turns.outcome(submitted), result)
            home = self._homes.shared()
            turn = home.turns.outcome(_submitted(home, request.id, text, before, options))
        except LogUnavailable as unavailable:
            raise _retry(bound, unavailable, LOG_AGAIN) from unavailable
        except Rejected as rejected:
            raise TurnFailed(f"{rejected.message} {rejected.hint}".rstrip(), rejected.kind) from rejected
        if _was_performed(bound):
            raise Ignore  # a message that was doubled: the next look, or the result, was handed on
        if turn.status in {"queued", "running", "waiting"}:
            countdown = min(FIRST_POLL * GROWTH ** min(request.retries, 99), self._longest_poll)
            raise _retry(
                bound,
                TurnRuns(f"turn {turn.turn} is {turn.status}", request.retries),
                countdown * random.uniform(SPREAD, 1),
            )
        return _result(turn, result)

    def cancel(self, task: str) -> None:
        """Cancel the turn of a revoked task, if it has an open one."""
        home = self._homes.shared()
        submitted = home.turns.submitted(task)
        if submitted is None:
            return
        try:
            home.turns.cancel(submitted.turn)
        except Rejected:
            return  # it has ended


def _submitted(
    home: Home,
    task: str | None,
    text: str,
    values: Sequence[Any],
    options: TurnOptions,
    *,
    runs_here: bool = False,
) -> Submitted:
    """The task's turn, submitted before or now. Raises `Rejected`, `LogUnavailable`."""
    before = home.turns.submitted(task) if task is not None else None
    if before is not None:
        return before
    own: TurnOptions = {"source": "celery", "begin": True, **options, "key": task}
    return home.turns.submit(_filled(text, values), runs_here=runs_here, **own)


def _retry(bound: Any, reason: Exception, countdown: float) -> BaseException:
    """The exception that ends this attempt once the message of the next one is sent."""
    try:
        return cast("BaseException", bound.retry(exc=reason, countdown=countdown, throw=False))
    except Reject as rejected:  # it could not be sent: Celery would drop this message too
        return cast("BaseException", Reject(rejected.reason, requeue=True))


def _was_performed(bound: Any) -> bool:
    """Whether the application's result backend, where it has one, knows that the task has a result, or that
    this look of it or a later one was taken. A first look that comes again is taken: somebody may have sent
    the task again, because its messages were lost."""
    from celery.backends.base import DisabledBackend
    from celery.backends.rpc import RPCBackend

    if isinstance(bound.backend, DisabledBackend | RPCBackend):  # one knows nothing, the other only its own
        return False
    try:
        stored = bound.backend.get_task_meta(bound.request.id)
    except Exception:  # noqa: BLE001 - backends' errors have no common class; storing the result tries again
        return False
    if isinstance(stored["result"], TurnRuns):
        return bool(0 < bound.request.retries <= stored["result"].look)
    return bool(stored["status"] in {"SUCCESS", "FAILURE"})


def _result(turn: Turn, result: Result) -> Any:
    """What the ended turn returns. Raises `TurnFailed`."""
    if turn.error is not None:
        raise TurnFailed(f"{turn.error.message} {turn.error.hint}".rstrip(), turn.error.kind, turn.turn)
    if turn.is_error or turn.status != "completed":
        why = turn.stopped_by or turn.status
        raise TurnFailed(f"The turn has no answer: {why}.", why, turn.turn)
    if result == "turn":
        return msgspec.json.decode(msgspec.json.encode(turn))
    if isinstance(turn.structured, msgspec.Raw):
        return msgspec.json.decode(turn.structured)
    return turn.result


class _Slots(Formatter):
    """`str.format` with JSON for other values than texts and numbers, and no value left out."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str | int | float) or format_spec:
            return format(value, format_spec)
        return msgspec.json.encode(value).decode()

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = set(range(len(args))) - set(used_args)
        if unused:
            raise LookupError(
                f"it has no {{{min(unused)}}}, the result of the task before; `si` leaves it out"
            )


def _filled(text: str, values: Sequence[Any]) -> str:
    """The text with the values in its slots; without values it stays as it is. Raises `Rejected`."""
    if not values:
        return text
    try:
        return _Slots().vformat(text, values, {})
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise Rejected(
            f"The text {text[:80]!r} cannot be filled in: {error}.",
            kind="usage",
            hint="{0} stands for the result of the task before, {{ and }} for braces.",
        ) from error


__all__ = ["TurnFailed", "TurnRuns", "register"]
