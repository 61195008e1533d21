"""`hermes-jobs up`: supervises all processes that one machine needs.

It starts the embedded broker where none is configured, a worker, the scheduler (Celery beat) and Flower,
restarts processes that end by themselves, and stops in order: Flower, the scheduler, the worker, then the
broker. It imports neither a model's client nor Celery.

    up ─┬─ guard ── valkey-server
        ├─ guard ── hermes-jobs run worker
        ├─ guard ── hermes-jobs run beat
        ├─ guard ── hermes-jobs run flower
        ├─ guard ── hermes-jobs run gateway telegram, where a bot and its users are configured
        ├─ guard ── hermes-jobs run metrics, where metrics.port is set
        └─ guard ── hermes-jobs serve, where serve.enabled is set

The gateway begins and ends as the home's files change. Each guard ends its process when `up` is gone,
`kill -9` included.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import LogUnavailable, Misconfigured
from hermes_jobs.features.deliveries.api import TELEGRAM_TOKEN as TOKEN
from hermes_jobs.interfaces.cli.exit_codes import CREDENTIALS
from hermes_jobs.interfaces.cli.processes import ended_line
from hermes_jobs.kernel.feature import commands, parts
from hermes_jobs.kernel.log.log import PROBE_WORKER
from hermes_jobs.runtime.broker_address import require_broker
from hermes_jobs.runtime.up_state import UpLock, UpState
from hermes_jobs.settings import Settings
from hermes_jobs.system.isolation import isolated, python_module
from workers.broker import EmbeddedBroker
from workers.flower import DEFAULT_ADDRESS, DEFAULT_PORT
from workers.processes import ShutdownSignals, SupervisedProcess


def has_gateway(settings: Settings) -> bool:
    """Whether a gateway is configured."""
    return any(is_wanted(settings) for is_wanted in parts("gateway"))


def is_free(address: str, port: int) -> bool:
    """Whether a server could listen on the port at that address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


def listens(address: str, port: int) -> bool:
    """Whether a server accepts connections there."""
    try:
        socket.create_connection((address, port), timeout=0.5).close()
    except OSError:
        return False
    return True


PORTS_TRIED = 50
FLOWER_GRACE = 5.0
BEAT_GRACE = 5.0
METRICS_GRACE = 2.0
SERVE_GRACE = 5.0
GATEWAY_GRACE = 5.0
GATEWAY = "gateway"
SERVE = "serve"
BEAT = "beat"
SHOWN = {BEAT: "scheduler", SERVE: "server of the web pages"}  # the names that people read
STOP_MARGIN = 10.0  # seconds for a worker's stop in addition to the time for its writes
ERROR = "Error: "  # how a line begins that says why a command ended
TICK = 2.0  # seconds between checks of the processes; the end of one is detected at once
STARTING_TICK = 0.1
SIGNALLED = 128  # an exit code from here on names the signal that ended a process

Say = Callable[[str], None]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command. `flower_port` None: the default port, or the next free one."""

    concurrency: int | None = None
    beat: bool = True
    flower: bool = True
    flower_port: int | None = None


def arguments(options: Options) -> list[str]:
    """The command line of an `up` with these options."""
    options_given = [] if options.flower else ["--no-flower"]
    if not options.beat:
        options_given.append("--no-beat")
    if options.concurrency is not None:
        options_given += ["--concurrency", str(options.concurrency)]
    if options.flower_port is not None:
        options_given += ["--flower-port", str(options.flower_port)]
    return options_given


class ManagedProcess(Protocol):
    """One process supervised by `up`: see `SupervisedProcess`."""

    @property
    def is_running(self) -> bool: ...
    @property
    def starts_in(self) -> float: ...
    def restart_if_exited(self) -> int | None: ...
    def ask_to_stop(self) -> None: ...
    def wait(self, seconds: float | None = None) -> bool: ...


class Supervisor:
    """One `up` of one home. `say` is called with each output line."""

    def __init__(
        self, application: Application, options: Options, environ: Mapping[str, str], say: Say
    ) -> None:
        self._application = application
        self._settings = self._last_settings = application.settings
        self._options = options
        self._environ = environ
        self._on_line = say
        self._parts: dict[str, ManagedProcess] = {}  # in the order of their start; they stop in reverse order
        self._restarting: set[str] = set()  # asked to restart with other settings
        self._refused_token: str | None = None  # the token with which the gateway has ended
        self._no_pages = ""  # why the web pages are not served

    def run(self) -> None:
        """Start all processes, keep them running, and stop them at the first SIGINT, SIGTERM or SIGHUP.

        Raises `Rejected` if the home is up already, `LogUnavailable`, `BrokerUnavailable` and
        `Misconfigured`.
        """
        lock = UpLock(self._settings.paths)
        try:
            with ShutdownSignals() as signals:
                try:
                    self._run(lock, signals)
                finally:
                    self._stop(signals)
        finally:
            lock.release()

    def _run(self, lock: UpLock, signals: ShutdownSignals) -> None:
        state = UpState(pid=os.getpid())
        lock.publish(state)
        self._application.log.heartbeat(PROBE_WORKER)
        self._report_processes()
        registered = self._registered()
        self._start_broker()
        self._start_worker()
        if self._options.beat:
            self._start(BEAT, [], BEAT_GRACE)
        self._start_gateway()
        self._start_metrics()
        self._start_serve()
        port = self._start_flower()
        state = UpState(pid=state.pid, flower=None if port is None else f"http://{DEFAULT_ADDRESS}:{port}")
        lock.publish(state)
        while not signals.num_requests:
            signals.wait(self._pause(TICK if state.ready else STARTING_TICK))
            self._restart_exited()
            if not state.ready and self._has_come_up(registered, port):
                state = msgspec.structs.replace(state, ready=True)
                lock.publish(state)
                self._report(state)

    # --- starting ---------------------------------------------------------------------------------

    def _start_broker(self) -> None:
        if self._settings.broker_url is not None:
            require_broker(self._settings)
            return
        broker = EmbeddedBroker(self._settings.paths)
        self._parts["broker"] = broker
        broker.start()

    def _start_worker(self) -> None:
        concurrency = self._options.concurrency
        arguments = [] if concurrency is None else ["-c", str(concurrency)]
        self._start("worker", arguments, self._settings.workers.stop_seconds + STOP_MARGIN)

    def _start_flower(self) -> int | None:
        """Start Flower; returns its port, None if it was not requested."""
        if not self._options.flower:
            return None
        port = _flower_port(self._options.flower_port)
        self._start("flower", ["--port", str(port)], FLOWER_GRACE)
        if self._options.flower_port is None and port != DEFAULT_PORT:
            self._print(f"Port {DEFAULT_PORT} is taken; Flower gets {port}.")
        return port

    def _start_gateway(self) -> None:
        """Start the Telegram gateway, if its bot has a token and users are configured."""
        if has_gateway(self._settings):
            self._start(GATEWAY, ["telegram"], GATEWAY_GRACE)

    def _start_metrics(self) -> None:
        metrics = self._settings.metrics
        if metrics.port is None:
            return
        if not is_free(metrics.address, metrics.port):
            raise Misconfigured(
                f"Metrics cannot have port {metrics.port}.", hint="Set metrics.port to another, or to null."
            )
        self._start("metrics", ["--port", str(metrics.port)], METRICS_GRACE)

    def _start_serve(self) -> None:
        if self._settings.serve.enabled and SERVE in commands():
            self._start(SERVE, [], SERVE_GRACE)

    def _start(self, name: str, arguments: list[str], grace: float) -> None:
        command = [*python_module("hermes_jobs"), name, *arguments]
        log = self._settings.paths.logs / f"{name}.log"
        part = SupervisedProcess(command, log=log, grace=grace, environ=isolated(self._environ))
        self._parts[name] = part
        part.start()

    def _has_come_up(self, registered: set[str], flower_port: int | None) -> bool:
        """Whether a new worker and a new scheduler have registered in the log, Flower listens, and the web
        pages are served, or cannot be."""
        if flower_port is not None and not listens(DEFAULT_ADDRESS, flower_port):
            return False
        if SERVE in self._parts and not self._no_pages and not self._serves():
            return False
        try:
            come = self._registered() - registered
        except LogUnavailable:
            return False
        beats = {name for name in come if name.startswith(f"{BEAT}-")}
        return bool(come - beats) and (bool(beats) or not self._options.beat)

    def _serves(self) -> bool:
        from hermes_jobs.features.serve.sign_in import read_running

        return read_running(self._settings.paths) is not None

    def _registered(self) -> set[str]:
        """The registered workers that consume queues, and schedulers, that have not ended as far as this host
        knows.

        Raises `LogUnavailable`: without a log nothing is started.
        """
        workers = self._application.log.workers()
        ended = self._application.workers.failure_detector().dead(workers)
        return {worker.id for worker in workers if worker.queues or worker.name == BEAT} - ended

    def _report(self, state: UpState) -> None:
        settings = self._settings
        logs = settings.paths.logs
        broker = settings.secrets.redact(settings.broker_url) if settings.broker_url else "embedded"
        threads = self._options.concurrency or settings.workers.concurrency
        rehearsal = " (no model is configured: `hermes-jobs setup`)" if settings.rehearsal else ""
        lines = [
            ("home", str(settings.paths.home)),
            ("model", f"{settings.model_name}{rehearsal}"),
            ("broker", broker),
            ("worker", f"{threads} threads, log {logs / 'worker.log'}"),
            ("scheduler", f"log {logs / 'beat.log'}" if self._options.beat else "not asked for"),
            ("telegram", self._gateway_status()),
            ("metrics", self._metrics_status()),
            *([("web", self._web_status())] if SERVE in self._parts else []),
            ("flower", f"{state.flower}  log {logs / 'flower.log'}" if state.flower else "not asked for"),
        ]
        self._print("hermes-jobs is up.")
        for name, status in lines:
            self._print(f"  {name:<10}{status}")
        self._print("Ctrl-C stops it after the running steps, a second one at once.")

    def _report_processes(self) -> None:
        """Print the background processes that still run; those without a keeper are ended."""
        running = self._application.processes.running()
        if running:
            ids = ", ".join(process.record.id for process in running)
            self._print(f"Background processes continue: {ids} (hermes-jobs processes).")

    def _gateway_status(self) -> str:
        log = self._settings.paths.logs / f"{GATEWAY}.log"
        return f"log {log}" if GATEWAY in self._parts else "not configured (TELEGRAM_BOT_TOKEN)"

    def _web_status(self) -> str:
        return (
            f"not served: {self._no_pages}" if self._no_pages and not self._serves() else "hermes-jobs open"
        )

    def _metrics_status(self) -> str:
        metrics = self._settings.metrics
        if metrics.port is None:
            return "not asked for (metrics.port)"
        return f"http://{metrics.address}:{metrics.port}/metrics"

    def _print(self, line: str) -> None:
        # The terminal may be closed while the processes run, or have yet to be stopped.
        with contextlib.suppress(OSError):
            self._on_line(line)

    # --- supervision ------------------------------------------------------------------------------

    def _pause(self, max_seconds: float) -> float:
        return min([max_seconds, *(part.starts_in for part in self._parts.values() if not part.is_running)])

    def _restart_exited(self) -> None:
        settings = self._application.live.current()
        if settings is not self._last_settings:
            before, self._last_settings = self._last_settings, settings
            self._follow_gateway(before, settings)
        for name, part in list(self._parts.items()):
            ended = part.restart_if_exited()
            if ended is not None and name in self._restarting:
                self._restarting.discard(name)
            elif ended == CREDENTIALS and name == GATEWAY:
                del self._parts[name]
                self._refused_token = settings.secrets.get(TOKEN)
                self._print(f"Telegram refuses {TOKEN}: the {name} starts again when another one is set.")
            elif ended is not None:
                log = self._settings.paths.logs / f"{name}.log"
                because = ""
                if name == SERVE and ended < SIGNALLED:
                    self._no_pages = _last_error(log)
                    because = f" {self._no_pages}"
                self._print(
                    f"The {SHOWN.get(name, name)} has ended ({_shown_exit(ended)}; {log}). It starts again."
                    f"{because}"
                )

    def _follow_gateway(self, before: Settings, after: Settings) -> None:
        """Begin, restart or end the gateway where its settings have changed."""
        log = after.paths.logs / f"{GATEWAY}.log"
        part = self._parts.get(GATEWAY)
        if part is None:
            if has_gateway(after) and after.secrets.get(TOKEN) != self._refused_token:
                self._print(f"Telegram is configured: the {GATEWAY} starts; log {log}")
                self._start(GATEWAY, ["telegram"], GATEWAY_GRACE)
        elif not has_gateway(after):
            self._print(f"Telegram is configured no more: the {GATEWAY} ends.")
            del self._parts[GATEWAY]
            part.ask_to_stop()
            part.wait(GATEWAY_GRACE)
        elif before.gateway != after.gateway or before.secrets.get(TOKEN) != after.secrets.get(TOKEN):
            self._print(f"The settings of the {GATEWAY} have changed: it starts again with them.")
            self._restarting.add(GATEWAY)
            part.ask_to_stop()

    # --- stopping ---------------------------------------------------------------------------------

    def _stop(self, signals: ShutdownSignals) -> None:
        if any(part.is_running for part in self._parts.values()):
            seconds = self._settings.workers.stop_seconds
            self._print(f"Stopping; what is being written may take {seconds:g} s. Once more stops at once.")
        for part in reversed(self._parts.values()):
            part.ask_to_stop()
            patient = True
            while not part.wait(0.05):
                if patient and signals.num_requests > 1:
                    part.ask_to_stop()
                    patient = False
        if not self._parts:
            return
        ended = self._application.processes.kill_where(lambda _record: True, wait=True)
        if ended:
            self._print(ended_line(ended))
        self._print("Stopped.")


def _flower_port(requested: int | None) -> int:
    """The requested port, else the first free one. Raises `Misconfigured`."""
    ports = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if requested is None else (requested,)
    for port in ports:
        if is_free(DEFAULT_ADDRESS, port):
            return port
    raise Misconfigured(
        f"Flower cannot have port {ports[0]}.", hint="Choose another with --flower-port, or --no-flower."
    )


def _last_error(log: Path) -> str:
    """The last error that a process has written to its log."""
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()
        return next((line.removeprefix(ERROR) for line in reversed(lines) if line.startswith(ERROR)), "")
    return ""


def _shown_exit(code: int) -> str:
    return f"signal {code - SIGNALLED}" if code > SIGNALLED else f"exit code {code}"
