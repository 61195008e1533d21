"""One Celery worker process, from start to stop.

Stopping (SIGTERM, Ctrl-C): no more steps are claimed; model calls and reads are released for other workers;
writes have `workers.stop_seconds` to end; then the process ends. A second signal ends it at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Sequence

from celery import Celery, signals
from celery.apps.worker import Worker
from celery.exceptions import SecurityWarning
from kombu.asynchronous import get_event_loop

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.leases import Lease
from hermes_jobs.runtime.connector_preparation import connector_preparation
from hermes_jobs.runtime.housekeeping import Housekeeper
from hermes_jobs.runtime.maintenance import MaintenanceThread
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.runtime.redis_live import channel_of
from hermes_jobs.runtime.worker_cpu import CpuPinning, Linux
from hermes_jobs.runtime.worker_lease import WorkerLease
from hermes_jobs.system.open_files import allow_open_files
from workers import transport
from workers.app import make_app
from workers.description import from_state, root_of
from workers.dispatch import CeleryDispatcher, Sending, no_context
from workers.tasks import TaskRunner, register
from workers.worker_events import HEARTBEAT_EVERY, Flushing

FILES_A_THREAD = 8  # pipes, sockets and event loops of one tool call or model call
_M_ARENA_MAX = -8  # malloc.h
_M_MMAP_THRESHOLD = -3
MAPPED = 512 * 1024
"""Bytes from which what is allocated is a mapping of its own, which goes back to the system when it is freed.
glibc raises that number with what is freed, up to 32 MB, unless it is set."""
MALLOC_ARENAS = 2  # of the allocator: the interpreter runs one thread at a time, so they seldom wait for it
OTHER_FILES = 128  # open files of the log, the views, the broker, and libraries


def limit_arenas(maximum: int) -> None:
    """Limit the arenas of glibc's allocator; without effect elsewhere. Call it before threads are started.

    glibc gives threads arenas of their own, eight for each CPU, and each arena keeps the memory freed in it.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, maximum)
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MAPPED)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
FORCED_EXIT_CODE = 130
QUIET_LOGGERS = ("celery.worker.strategy", "celery.app.trace", "httpx2")
"""Loggers with a line or two per step or request, which Flower and the log
show. Failures are still logged.
"""


def run(
    application: Application,
    broker_url: str,
    *,
    queues: Sequence[str] = ALL_QUEUES,
    concurrency: int | None = None,
) -> int:
    """Consume the queues until a stop signal; returns the exit code. Call it from the main thread."""
    threads = concurrency or application.settings.workers.concurrency
    _allow_files_of(threads)
    limit_arenas(MALLOC_ARENAS)
    transport.use()
    app = make_app(broker_url, prefix=f"{application.log.log_id}.")
    dispatcher = CeleryDispatcher(app, application.ids, sending=_instrumented(application, app))
    live = channel_of(application)
    engine = application.engine("worker", dispatcher, on_delta=live.publish)

    def new_lease() -> Lease:
        return application.workers.lease("worker", queues=tuple(queues), no_broker=lambda: dispatcher.problem)

    lease = WorkerLease(engine, new_lease)
    housekeeper = Housekeeper(application)
    maintenance = _maintenance(application, engine, dispatcher, lease, housekeeper)

    def redact(text: str) -> str:  # the secrets of the settings that hold now: they may be read again
        return application.settings.secrets.redact(text)

    dispatcher.describe = lambda step: redact(from_state(step, engine.sessions.cached(step.stream)))
    dispatcher.root = lambda step: root_of(step, engine.sessions.cached(step.stream))
    runner = TaskRunner(engine, dispatcher, maintenance, lease, threads, redact)
    register(app, runner)
    shutdown = _Shutdown(runner, application.settings.workers.stop_seconds)
    signals.worker_shutting_down.connect(shutdown.begin, weak=False)
    _warm(application)
    connectors = connector_preparation(application)
    signals.worker_ready.connect(lambda **_about: connectors.start(), weak=False)
    # Around the worker, not one of its bootsteps: those have no defined order, and a worker that unregisters
    # before its pool is empty counts as dead with its writes still running.
    maintenance.start()
    housekeeper.start()
    try:
        return _consume(app, runner, queues, threads)
    finally:
        connectors.stop()
        housekeeper.stop()
        maintenance.stop()
        live.close()


def _allow_files_of(threads: int) -> None:
    """Raise the limit of open files to what that many threads need; warn where that is refused."""
    files = threads * FILES_A_THREAD + OTHER_FILES
    if (allowed := allow_open_files(files)) < files:
        logging.getLogger(__name__).warning(
            "at most %d files may be open (ulimit -n); %d threads may need %d", allowed, threads, files
        )


def _maintenance(
    application: Application,
    engine: Engine,
    dispatcher: CeleryDispatcher,
    lease: WorkerLease,
    housekeeper: Housekeeper,
) -> MaintenanceThread:
    """The thread that renews the lease and sends due steps; it tells the housekeeper what was recorded."""

    def follow(news: Sequence[RecordedEvent]) -> None:
        application.shared.process_endings.add(news)
        housekeeper.follow(news)

    place = CpuPinning(Linux()) if application.settings.workers.one_cpu else None
    detector = application.workers.failure_detector()
    return MaintenanceThread(engine, detector, lease, dispatcher, place, follow)


def _instrumented(application: Application, app: Celery) -> Sending:
    """Instrument tasks for a configured collector; returns the context to enter while a message is made."""
    tracing = application.shared.tracing
    if tracing is None:
        return no_context
    app.set_default()  # the instrumentation looks for tasks in the current application
    tracing.watch_tasks()
    return tracing.sending


def _consume(app: Celery, runner: TaskRunner, queues: Sequence[str], threads: int) -> int:
    app.steps["consumer"].add(Flushing)
    # Celery warns the root user of pickled messages; this application accepts JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    worker = app.subclass_with_self(LeavingWorker, name="Worker")(
        hostname=f"{runner.engine.worker}@{socket.gethostname()}",
        queues=list(queues),
        concurrency=threads,
        pool="threads",
        loglevel="INFO",
        without_gossip=True,
        without_mingle=True,
        heartbeat_interval=HEARTBEAT_EVERY,
        quiet=True,
    )
    worker.start()
    stop_requested = not runner.open  # after Ctrl-C Celery reports a requested stop as a failure
    return 0 if stop_requested else int(worker.exitcode or 0)


class LeavingWorker(Worker):
    """Celery's worker, but for SIGHUP: Celery restarts the process, which then has nobody who keeps it."""

    def install_platform_tweaks(self, worker: Worker) -> None:
        """Install Celery's signal handlers; SIGHUP stops the process like SIGTERM, unless it is ignored."""
        before = signal.getsignal(signal.SIGHUP)
        super().install_platform_tweaks(worker)
        leave = lambda _number, _frame: os.kill(os.getpid(), signal.SIGTERM)  # noqa: E731
        signal.signal(signal.SIGHUP, before if before is signal.SIG_IGN else leave)


class _Shutdown:
    """The worker's actions between the first signal and its end."""

    def __init__(self, runner: TaskRunner, stop_seconds: float) -> None:
        self._runner = runner
        self._stop_seconds = stop_seconds

    def begin(self, **_about: object) -> None:
        """Called by Celery's handler of the first signal, in the main thread.

        The next signal must not reach Celery's own handlers: after Ctrl-C they wait for the tasks anyway.
        """
        self._runner.open = False
        for number in STOPPING:
            signal.signal(number, lambda _number, _frame: os._exit(FORCED_EXIT_CODE))
        threading.Thread(target=self._exit_after_grace, name="leaving", daemon=True).start()

    def _exit_after_grace(self) -> None:
        if (loop := get_event_loop()) is not None:
            loop.call_soon(str)  # wakes it: it sleeps for seconds, and looks then whether it is to stop
        running = self._runner.engine.in_flight
        running.stop("shutdown", lambda act: not act.is_write)
        timer = threading.Timer(self._stop_seconds, running.stop, ("shutdown",))
        timer.daemon = True
        timer.start()


def _warm(application: Application) -> None:
    """Load the model's client before the first turn needs it."""
    warm = getattr(application.model, "warm", None)
    if warm is not None:
        threading.Thread(target=warm, name="warm", daemon=True).start()
