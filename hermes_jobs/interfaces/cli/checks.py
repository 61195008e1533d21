"""What `hermes-jobs doctor` looks at: one function a check, each telling what it found and what to do."""

from __future__ import annotations

import shutil
import socket
import stat
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.bootstrap.worker_status import statuses
from hermes_jobs.errors import HermesJobsError, Misconfigured, Rejected
from hermes_jobs.eventlog.log import PROBE_WORKER
from hermes_jobs.interfaces.cli.exit_codes import FAILED, LOG, USAGE
from hermes_jobs.interfaces.cli.moments import format_day, format_time
from hermes_jobs.runtime.broker_address import carries_live_text, find_broker, find_server, require_broker
from hermes_jobs.runtime.queues import ALL_QUEUES
from hermes_jobs.runtime.up_state import is_held, read_state
from hermes_jobs.settings import Paths, find_home
from hermes_jobs.text.plural import pluralize
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.eventlog.log import WorkerRow
    from hermes_jobs.settings import Settings

MUCH_FOR_TOOLS = 0.35  # of the window; the system prompt comes on top
LITTLE_SPACE, NO_SPACE = 1_000_000_000, 100_000_000  # bytes
COMMAND_SECONDS = 10.0
CONNECT_SECONDS = 1.0
WRITE_SECONDS = 5.0
UP = "`hermes-jobs up` starts everything."


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found, and what to do about it. `code` is the exit code that a failure stands for."""

    check: str
    status: Literal["ok", "warn", "fail"]
    message: str
    hint: str = ""
    code: int = FAILED


def ok(check: str, message: str) -> Finding:
    """A finding that nothing has to be done about."""
    return Finding(check=check, status="ok", message=message)


def warn(check: str, message: str, hint: str = "") -> Finding:
    """A finding of what is missing, or weaker than it could be."""
    return Finding(check=check, status="warn", message=message, hint=hint)


def fail(check: str, message: str, hint: str = "", *, code: int = FAILED) -> Finding:
    """A finding that `doctor` fails for, with that exit code."""
    return Finding(check=check, status="fail", message=message, hint=hint, code=code)


def live_processes(application: Application) -> Sequence[WorkerRow]:
    """The processes that work and have not ended: workers, beat, gateways. Raises `LogUnavailable`."""
    registered = application.log.workers()
    ended = application.observer().dead(registered)
    return [worker for worker in registered if worker.id not in ended]


def is_up(environ: Mapping[str, str]) -> bool:
    """Whether an `up` of the home runs, as far as can be told without its configuration."""
    try:
        paths = Paths(find_home(environ))
        return paths.run.is_dir() and is_held(paths)
    except (OSError, Misconfigured):
        return False


def home(settings: Settings) -> Iterator[Finding]:
    """The home is private, and the configuration could be read (or nobody could ask)."""
    paths = settings.paths
    mode = stat.S_IMODE(paths.home.stat().st_mode)
    if mode & 0o077:
        yield warn("home", f"{paths.home} can be read by others (mode {mode:o}).", f"chmod 700 {paths.home}")
    else:
        yield ok("home", str(paths.home))
    changed = sorted(key for key, origin in settings.origins.items() if origin != "default")
    told = f"set: {', '.join(changed)}" if changed else "every key has its default"
    yield ok("config", f"{paths.config} — {told}")


def toolsets(application: Application) -> Iterator[Finding]:
    """Names of toolsets that no tool has: what they were to switch on is off, or what was to be off is on."""
    configured = application.settings.toolsets
    try:
        known = application.toolbox.toolsets
    except Misconfigured:
        return  # a memory provider or context engine that cannot be used has a check of its own
    for key, names in (("enabled", configured.enabled), ("disabled", configured.disabled)):
        if unknown := [name for name in names if name not in known]:
            message = f"toolsets.{key} names what is no toolset: {', '.join(unknown)}"
            yield warn("toolsets", message, f"Known: {', '.join(known)}.")


def pauses(application: Application) -> Iterator[Finding]:
    """Which models beside the main one have failed and are not asked for a while."""
    from hermes_jobs.domain.model_pauses import STREAM, Pauses

    state, now = application.engine().state(STREAM), application.clock.now()
    assert isinstance(state, Pauses)
    for place in state.paused:
        if pause := state.at(place, now):
            until = format_time(pause.until)
            told = f"{pause.purpose}: {pause.model} rests until {until}; the main model is asked instead"
            yield warn("auxiliary", told, f"It failed: {pause.message}")


def budgets(application: Application) -> Iterator[Finding]:
    """Whether the limits that are set can be held, and how much of the day's is spent."""
    from hermes_jobs.domain.accounts import NANO
    from hermes_jobs.domain.budgets import DAY
    from hermes_jobs.engine.clock_and_ids import day_of

    settings = application.settings
    try:
        application.check_budgets()
    except Misconfigured as error:
        yield fail("budgets", error.message, error.hint, code=USAGE)
        return
    limit = settings.budgets.day_usd
    if limit is None:
        return
    day = day_of(application.clock.now(), settings.zone)
    try:
        account = application.log.account(DAY + day)
    except HermesJobsError:
        return
    spent, reserved = account.spent.nano_usd / NANO, account.reserved.nano_usd / NANO
    told = (
        f"${spent:.4f} of ${limit:g} are spent today ({day}), ${reserved:.4f} set aside for calls under way"
    )
    yield Finding(check="budgets", status="ok" if spent < limit else "warn", message=told)


WINDOW_SOURCES = {
    "setting": "model.context_length",
    "refusal": "named by the provider{day}; `hermes-jobs models forget-limits` forgets it",
    "list": "by the list of known models",
    "default": "assumed: the model is not known; model.context_length sets it",
}


def context(application: Application) -> Finding:
    """Which context engine makes long conversations smaller, when, and where the window is known from."""
    settings = application.settings
    try:
        engine = application.contexts.apart()
    except Misconfigured as error:
        return fail("context", error.message, error.hint, code=USAGE)
    known = application.windows.window(settings.main_model.model)
    window, threshold = known.tokens, engine.threshold(known.tokens)
    day = f" ({format_day(known.at)})" if known.at else ""
    source = WINDOW_SOURCES[known.source].format(day=day)
    when = f"compresses at {threshold:,} of {window:,} tokens ({source})"
    if not settings.compression.enabled:
        when = "compresses only when asked to (compression.enabled is false)"
    told = f"the engine {settings.context.engine} {when}"
    tools = sum(spec.num_characters for spec in application.toolbox.specs(None)) // CHARACTERS_A_TOKEN
    if tools < window * MUCH_FOR_TOOLS:
        return ok("context", told)
    hint = (
        f"The tools alone take about {tools:,} tokens of that window: turn off toolsets that you do not need "
        "(toolsets.disabled), or take a model with a larger window."
    )
    return warn("context", told, hint)


def log(application: Application) -> Finding:
    """Whether the log can be read and written."""
    settings = application.settings
    where = settings.log_url or str(settings.paths.events_db)
    try:
        position = application.log.last_position()
        was_written = _writes(application)
    except HermesJobsError as error:
        hint = "Start its database, or mend log_url." if settings.log_url else ""
        return fail("log", str(error), hint, code=LOG)
    if not was_written:
        message = f"{where} can be read; another process has kept its write lock for {WRITE_SECONDS:.0f} s"
        return fail("log", message, "It is named above: let it go on, or end it.", code=LOG)
    return ok("log", f"{where}, {pluralize(position, 'event')}")


def _writes(application: Application) -> bool:
    """Whether the log takes a write within `WRITE_SECONDS`. Raises `LogUnavailable` where it never will."""
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


def broker(settings: Settings) -> Finding:
    """Whether messages can be sent."""
    if settings.broker_url is None:
        if find_broker(settings.paths):
            return ok("broker", "the embedded one answers")
        try:
            server = find_server()
        except Rejected as error:
            return fail("broker", error.message, error.hint)
        told = f"none runs; `up` starts the embedded one ({server})"
        return warn("broker", told, f"{UP} `send` works without.")
    try:
        url = require_broker(settings)
    except Rejected as error:
        return fail("broker", error.message, error.hint, code=LOG)
    told = f"{settings.secrets.redact(url)} answers"
    if not carries_live_text(url):
        told += "; answers are shown when they are complete: only Redis carries them as they are written"
    return ok("broker", told)


def workers(application: Application) -> Finding:
    """Whether somebody consumes every queue."""
    alive = [worker for worker in live_processes(application) if worker.lanes]
    missing = [name for name in ALL_QUEUES if not any(name in worker.lanes for worker in alive)]
    if not alive:
        return warn("workers", "none is alive", f"{UP} `send` works by itself meanwhile.")
    told = f"{len(alive)} alive"
    if missing:
        told += f"; nobody consumes {', '.join(missing)}"
        return warn("workers", told, f"`hermes-jobs worker -Q {','.join(missing)}` does.")
    return ok("workers", told)


def worker_settings(application: Application) -> Iterator[Finding]:
    """Which processes that work go on with older settings than the files of their home have."""
    known = statuses(application.log)
    for worker in live_processes(application):
        status = known.get(worker.id)
        if status is None:
            continue
        if status.problem:
            told = f"{worker.id} goes on with what it read before: {status.problem}"
            yield warn("settings", told, "Mend the file; it is read again by itself.")
        if status.outdated:
            told = f"{worker.id} began with another {', '.join(status.outdated)}"
            yield warn("settings", told, "`hermes-jobs down`, then `hermes-jobs up`.")


def beat(application: Application) -> Finding:
    """Whether due schedules are fired."""
    alive = live_processes(application)
    beats = [worker for worker in alive if worker.name == "beat"]
    due_at = application.log.next_due_at(lane="schedules")
    if beats:
        return ok("beat", f"{len(beats)} alive")
    if due_at is None:
        return ok("beat", "none is alive, and no schedule waits for one")
    if any("schedules" in worker.lanes for worker in alive):
        return ok("beat", "none is alive; the workers wake due schedules by themselves")
    return warn("beat", "none is alive, nor any worker that fires schedules: nothing runs when it is due", UP)


def flower(settings: Settings) -> Finding:
    """Whether the dashboard that `up` started answers."""
    state = read_state(settings.paths)
    if state is None or state.flower is None:
        return ok("flower", "not started by this home's `up`")
    address = urlsplit(state.flower)
    try:
        socket.create_connection((address.hostname, address.port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        told = f"{state.flower} does not answer: {error.strerror or error}"
        return warn("flower", told, f"See {settings.paths.logs / 'flower.log'}.")
    return ok("flower", state.flower)


def commands(environ: Mapping[str, str]) -> Finding:
    """Whether the agent's commands can be run, and ended with all that they start."""
    from hermes_jobs.agent.tools.environment import filtered_environment
    from hermes_jobs.agent.tools.processes import run
    from hermes_jobs.engine.in_flight import CancelToken

    try:
        done = run(
            "sleep 600 & echo ready",
            cwd=str(Path.cwd()),
            env=filtered_environment(environ),
            timeout=COMMAND_SECONDS,
            cancel=CancelToken(),
        )
    except OSError as error:
        return fail("commands", f"cannot be started: {error}")
    if done.output.strip() != "ready" or done.lost or done.left:
        told = (
            f"a test command ended with {done.exit_code}, {done.left} processes left: {done.output[:200]!r}"
        )
        return fail("commands", told, "The agent's terminal tool would not be safe to use here.")
    if sys.platform != "linux":
        told = "run; what leaves a command's process group is not found again on this system"
        return warn("commands", told)
    return ok("commands", "run, and leave no process behind")


def sandbox(settings: Settings) -> Finding:
    """Which sandbox hides the user's keys and this home from the agent's commands."""
    from hermes_jobs.agent.tools.sandbox import layer
    from hermes_jobs.agent.tools.sandbox_layer import LANDLOCK, NONE

    if settings.terminal.backend == "docker":
        return ok("sandbox", "commands run in containers")
    if settings.terminal.sandbox == "off":
        told = "off (terminal.sandbox): commands can read your keys and this home's secrets"
        return warn("sandbox", told, "hermes-jobs config set terminal.sandbox auto")
    found = layer()
    if found.name == NONE:
        told = (
            f"none on this machine ({found.why}): only the rules for commands protect your keys and this home"
        )
        hint = "Allow user namespaces or Landlock, or use terminal.backend docker."
        status: Literal["warn", "fail"] = "fail" if settings.terminal.sandbox == "on" else "warn"
        return Finding(check="sandbox", status=status, message=told, hint=hint)
    told = f"{found.name}: commands see neither your keys nor this home"
    if found.name == LANDLOCK:
        told += f"; they cannot make new files right in your home folder (no namespaces: {found.why})"
    return ok("sandbox", told)


def disk(settings: Settings) -> Finding:
    """Whether there is room for what happens."""
    free = shutil.disk_usage(settings.paths.home).free
    told = f"{free / 1e9:.1f} GB free in {settings.paths.home}"
    if free >= LITTLE_SPACE:
        return ok("disk", told)
    status: Literal["warn", "fail"] = "warn" if free >= NO_SPACE else "fail"
    return Finding(check="disk", status=status, message=told, hint="Nothing can be recorded on a full disk.")
