"""The checks of `hermes-jobs doctor` for processes: log, broker, workers, scheduler, Flower, a collector."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from urllib.parse import urlsplit

from hermes_jobs.bootstrap import Application
from hermes_jobs.bootstrap.workers import statuses
from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.interfaces.cli.exit_codes import LOG
from hermes_jobs.kernel.log.log import PROBE_WORKER, WorkerRow
from hermes_jobs.kernel.log.opaque import kinds_of, opaque_streams, unfolded_streams
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.runtime.broker_address import carries_live_text, find_broker, find_server, require_broker
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.runtime.up_state import read_state
from hermes_jobs.settings import Settings
from hermes_jobs.text.figures import pluralize

CONNECT_SECONDS = 1.0
WRITE_SECONDS = 5.0
MOST_NAMES = 5  # streams in a message
UP = "`hermes-jobs up` starts everything."


def live_processes(application: Application) -> Sequence[WorkerRow]:
    """The live processes: workers, schedulers, gateways. Raises `LogUnavailable`."""
    registered = application.log.workers()
    ended = application.workers.failure_detector().dead(registered)
    return [worker for worker in registered if worker.id not in ended]


def log(application: Application) -> DoctorFinding:
    """Whether the log can be read and written."""
    settings = application.settings
    where = settings.log_url or str(settings.paths.events_db)
    try:
        position = application.log.last_position()
        was_written = _writes(application)
    except HermesJobsError as error:
        hint = "Start its database, or correct log_url." if settings.log_url else ""
        return fail("log", str(error), hint, code=LOG)
    if not was_written:
        message = f"{where} can be read; another process has kept its write lock for {WRITE_SECONDS:.0f} s"
        return fail("log", message, "Let that process continue, or stop it.", code=LOG)
    return ok("log", f"{where}, {pluralize(position, 'event')}")


def features(application: Application) -> Iterator[DoctorFinding]:
    """Whether the log has streams of features that are not installed."""
    log = application.log
    assert isinstance(log, SqlEventLog), "only logs in a database are checked"
    with log.snapshot() as connection:
        missing = kinds_of(opaque_streams(connection))
        unfolded = unfolded_streams(connection)
    if unfolded:
        text = f"{pluralize(len(unfolded), 'stream')} came in while the feature was not installed"
        hint = "To use them, `hermes-jobs backup` this home, and `hermes-jobs restore` it into an empty one."
        yield warn("features", f"{text}: {', '.join(unfolded[:MOST_NAMES])}", hint)
    if missing:
        streams = ", ".join(f"{pluralize(count, 'stream')} of {kind!r}" for kind, count in missing.items())
        hint = "They are kept, exported and searched by `redact`, and used again by an installation with it."
        yield warn("features", f"{streams}: of a feature that this installation does not have", hint)


def _writes(application: Application) -> bool:
    """Whether the log accepts a write within `WRITE_SECONDS`. Raises `LogUnavailable` if it cannot."""
    with_it: Future[bool] = Future()

    def write() -> None:
        try:
            with_it.set_result(application.log.heartbeat(PROBE_WORKER))
        except HermesJobsError as error:
            with_it.set_exception(error)

    threading.Thread(target=write, name="write", daemon=True).start()
    try:
        with_it.result(WRITE_SECONDS)
    except TimeoutError:
        return False
    return True


def broker(settings: Settings) -> DoctorFinding:
    """Whether messages can be sent."""
    if settings.broker_url is None:
        if find_broker(settings.paths):
            return ok("broker", "the embedded one answers")
        try:
            server = find_server()
        except Rejected as error:
            return fail("broker", error.message, error.hint)
        text = f"none is running; `up` starts the embedded one ({server})"
        return warn("broker", text, f"{UP} `send` works without.")
    try:
        url = require_broker(settings)
    except Rejected as error:
        return fail("broker", error.message, error.hint, code=LOG)
    text = f"{settings.secrets.redact(url)} answers"
    if not carries_live_text(url):
        text += "; answers appear when they are complete: only Redis carries live text"
    return ok("broker", text)


def workers(application: Application) -> DoctorFinding:
    """Whether every queue has a consumer."""
    alive = [worker for worker in live_processes(application) if worker.queues]
    missing = [name for name in ALL_QUEUES if not any(name in worker.queues for worker in alive)]
    if not alive:
        return warn("workers", "none is alive", f"{UP} Meanwhile `send` runs turns itself.")
    text = f"{len(alive)} alive"
    if missing:
        text += f"; no worker consumes {', '.join(missing)}"
        return warn("workers", text, f"`hermes-jobs run worker -Q {','.join(missing)}` does.")
    return ok("workers", text)


def unreached_brokers(application: Application) -> Iterator[DoctorFinding]:
    """Workers that reach the log but not their broker, such as one whose `up` has ended."""
    by_worker = statuses(application.log)
    for worker in live_processes(application):
        status = by_worker.get(worker.id)
        if status is not None and status.no_broker:
            text = f"{worker.id} does not reach its broker ({status.no_broker}): it takes no work"
            yield warn("workers", text, "Start its broker, or stop that process; another worker relays.")


def worker_settings(application: Application) -> Iterator[DoctorFinding]:
    """Processes that use older settings than the files of their home."""
    workers = statuses(application.log)
    for worker in live_processes(application):
        status = workers.get(worker.id)
        if status is None:
            continue
        if status.problem:
            text = f"{worker.id} continues with what it read before: {status.problem}"
            yield warn("settings", text, "Correct the file; it is reread automatically.")
        if status.outdated:
            text = f"{worker.id} began with another {', '.join(status.outdated)}"
            yield warn("settings", text, "`hermes-jobs down`, then `hermes-jobs up`.")


def runs_turns(application: Application) -> bool:
    """Whether a process is alive that works on turns. Raises `LogUnavailable`."""
    alive = live_processes(application)
    return any("turns" in worker.queues or worker.name == "inline" for worker in alive)


def fires_schedules(application: Application) -> bool:
    """Whether a process is alive that runs due schedules. Raises `LogUnavailable`."""
    alive = live_processes(application)
    return any("schedules" in worker.queues or worker.name == "inline" for worker in alive)


def scheduler(application: Application) -> DoctorFinding:
    """Whether due schedules are fired."""
    alive = live_processes(application)
    schedulers = [worker for worker in alive if worker.name == "beat"]
    due_at = application.log.next_due_at(queue="schedules")
    if schedulers:
        return ok("scheduler", f"{len(schedulers)} alive")
    if due_at is None:
        return ok("scheduler", "none is alive, and there is no schedule")
    if any("schedules" in worker.queues for worker in alive):
        return ok("scheduler", "none is alive; the workers start due schedules")
    return warn("scheduler", "none is alive, and no worker either: schedules do not run", UP)


def flower(settings: Settings) -> DoctorFinding:
    """Whether the dashboard that `up` started answers."""
    state = read_state(settings.paths)
    if state is None or state.flower is None:
        return ok("flower", "not started by this home's `up`")
    address = urlsplit(state.flower)
    try:
        socket.create_connection((address.hostname, address.port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        text = f"{state.flower} does not answer: {error.strerror or error}"
        return warn("flower", text, f"See {settings.paths.logs / 'flower.log'}.")
    return ok("flower", state.flower)
