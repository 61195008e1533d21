"""`Application`: one home and its log, and the adapters that work on them.

Adapters are imported on first use: a command that only reads the log loads no model client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.engine.clock_and_ids import RandomIds, SystemClock
from hermes_jobs.engine.live import OnDelta, nobody_listens
from hermes_jobs.engine.ports import Clock, Dispatcher, Ids
from hermes_jobs.errors import LogUnavailable
from hermes_jobs.eventlog.log import EventLog
from hermes_jobs.settings import Settings, ensure_home
from hermes_jobs.system.isolation import refuse_inside_tool

if TYPE_CHECKING:
    from hermes_jobs.agent.context.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.agent.llm.windows import Windows
    from hermes_jobs.agent.memory.memory_files import SyncedMemory
    from hermes_jobs.agent.memory.providers import Providers
    from hermes_jobs.agent.skills.catalog import SkillCatalog
    from hermes_jobs.agent.skills.curator import Curator
    from hermes_jobs.agent.tools.toolbox import Toolbox
    from hermes_jobs.bootstrap.delivery_channels import DeliveryChannels
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.bootstrap.step_handlers import StepHandlers
    from hermes_jobs.domain.events import Event
    from hermes_jobs.domain.memory.memory import Limits
    from hermes_jobs.domain.session.messages import ToolCall
    from hermes_jobs.domain.session.steps import Step
    from hermes_jobs.domain.streams import StreamState
    from hermes_jobs.engine.budget_guard import Asking
    from hermes_jobs.engine.engine import Engine
    from hermes_jobs.engine.ports import Model
    from hermes_jobs.eventlog.leases import FailureDetector, Lease
    from hermes_jobs.eventlog.liveness_locks import LivenessLocks
    from hermes_jobs.telemetry.tracing import Tracing
    from hermes_jobs.views import Views
    from hermes_jobs.views.result_files import ResultFiles

logger = logging.getLogger(__name__)


class NullDispatcher:
    """The dispatcher of a process that only records: workers find due steps in the log."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Do nothing."""


class Application:
    """One home and its log; each part is made on first use. Close it to release connections."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        notify: Callable[[str], None] = logger.warning,
    ) -> None:
        """Tools inherit `environ` without its secrets; `notify` is called with messages about locks that this
        process waits for.

        Raises `Misconfigured` for a home that cannot be created, and inside a tool of the agent.
        """
        refuse_inside_tool(environ)
        ensure_home(settings.paths)
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = RandomIds()
        self._environ = environ
        self._notify = notify

    def close(self) -> None:
        """Release connections and threads of the parts that were made."""
        for opened in ("tracing", "providers", "endpoints", "views", "log"):
            close = getattr(self.__dict__.get(opened), "close", None)
            if close is not None:
                close()

    # --- storage --------------------------------------------------------------------------------

    @cached_property
    def log(self) -> EventLog:
        """The event log."""
        from hermes_jobs.eventlog.factory import open_log, sqlite_url

        paths = self.settings.paths
        return open_log(
            self.settings.log_url or sqlite_url(paths.events_db),
            notifier_folder=paths.run / "doorbells",
            notify=self._notify,
        )

    @cached_property
    def views(self) -> Views:
        """The read models, current at every read."""
        from hermes_jobs.views import Views

        return Views(self.log, self.settings.paths.views, self._notify)

    @cached_property
    def results(self) -> ResultFiles:
        """Large tool results as files."""
        from hermes_jobs.views.result_files import ResultFiles

        return ResultFiles(self.log, self.views, self.settings.paths.results)

    @cached_property
    def memory(self) -> SyncedMemory:
        """The memory between sessions, with its files in the home."""
        from hermes_jobs.agent.memory.memory_files import SyncedMemory

        paths = self.settings.paths
        return SyncedMemory(self.engine(), paths.memories, paths.run / "memory.lock", paths.run / "shown")

    @property
    def memory_limits(self) -> Limits:
        """The most characters that each part of the memory may have."""
        from hermes_jobs.domain.memory.memory import Limits

        return Limits(memory=self.settings.memory.memory_chars, user=self.settings.memory.user_chars)

    @cached_property
    def providers(self) -> Providers:
        """All memories, the built-in one first. Raises `Misconfigured` for an unknown provider."""
        from hermes_jobs.bootstrap.memories import create_memory

        return create_memory(
            self.settings,
            self.memory,
            self.memory_limits,
            log=self.log,
            views=self.views,
            clock=self.clock,
        )

    @cached_property
    def skills(self) -> SkillCatalog:
        """The skills of the home, with their files, and those of the configured folders."""
        from hermes_jobs.agent.skills.catalog import SkillCatalog
        from hermes_jobs.agent.skills.skill_folder import SkillFolder

        paths = self.settings.paths
        home = SkillFolder(
            self.engine("skills"), paths.skills, paths.run / "skills.lock", paths.run / "shown"
        )
        folders = [self._path(each) for each in self.settings.skills.external_dirs]
        return SkillCatalog(home, folders, guard=self.settings.skills.guard)

    @cached_property
    def curator(self) -> Curator:
        """The curator of the skills: their inventory and use, and the proposals to merge or archive them."""
        from hermes_jobs.bootstrap.curator import create_curator

        return create_curator(self.skills, self.log, self.views, self.clock, self.settings.zone)

    def _path(self, written: str) -> Path:
        """A path of the configuration: `~` is the user's home; relative paths begin in ours."""
        if written == "~" or written.startswith("~/"):
            written = self._environ.get("HOME", "/") + written[1:]
        return self.settings.paths.home / written

    # --- engine --------------------------------------------------------------------------------

    def engine(
        self, worker: str = "cli", dispatcher: Dispatcher | None = None, *, heard: OnDelta = nobody_listens
    ) -> Engine:
        """The engine of the worker with that id; without a dispatcher one that decides and never runs
        steps."""
        from hermes_jobs.engine.engine import Engine

        _ = self.tracing  # made here, before there are threads that would make one each
        if dispatcher is None:
            return Engine(
                log=self.log,
                worker=worker,
                clock=self.clock,
                ids=self.ids,
                dispatcher=NullDispatcher(),
                handlers={},
                append_hook=self._append_hook,
            )
        handlers = self._handlers(heard)
        return Engine(
            log=self.log,
            worker=worker,
            clock=self.clock,
            ids=self.ids,
            dispatcher=dispatcher,
            handlers=handlers.all(),
            budget_guard=handlers.budget_guard,
            preflight=handlers.preflight,
            file_sync=self._follow,
            append_hook=self._append_hook,
        )

    def _handlers(self, on_delta: OnDelta) -> StepHandlers:
        from hermes_jobs.bootstrap.step_handlers import Parts, StepHandlers

        parts = Parts(
            engine=self.engine(),
            toolbox=self.toolbox,
            endpoints=self.endpoints,
            contexts=self.contexts,
            providers=self.providers,
            skills=self.skills,
            curator=self.curator,
            couriers=self.couriers,
            tracing=self.tracing,
            asking=self._asking,
            on_result=self.results.save,
            on_delta=on_delta,
        )
        return StepHandlers(self.settings, parts)

    def engine_over(self, log: EventLog, worker: str) -> Engine:
        """An engine that only decides, over another log, such as one transaction of this one."""
        from hermes_jobs.engine.engine import Engine

        return Engine(
            log=log, worker=worker, clock=self.clock, ids=self.ids, dispatcher=NullDispatcher(), handlers={}
        )

    def _append_hook(self, before: StreamState, facts: Sequence[Event], after: StreamState) -> None:
        """Pass appended events to the traces. See `AppendHook`."""
        if self.tracing is not None:
            self.tracing.on_append(before, facts, after)

    @cached_property
    def tracing(self) -> Tracing | None:
        """The exporter of traces; None where none is configured."""
        from hermes_jobs.bootstrap.tracing import create_tracing

        return create_tracing(self.settings, self.log, self._environ)

    def settle(self) -> None:
        """Import edits of the memory's and the skills' files. Raises `LogUnavailable`."""
        self.memory.sync()
        self.skills.sync()

    def _follow(self, streams: Sequence[str]) -> None:
        """Write the home's files after the log. See `FileSync`."""
        from hermes_jobs.domain.memory import memory
        from hermes_jobs.domain.skill import skill

        try:
            if memory.STREAM in streams:
                self.memory.sync()
            if any(stream.startswith(skill.PREFIX) for stream in streams):
                self.skills.sync()
        except LogUnavailable as error:
            logger.warning("the home's files follow later: %s", error)

    def lease(self, name: str, *, lanes: Sequence[str] = ()) -> Lease:
        """A new lease of a worker for this process; the caller starts and closes it."""
        from hermes_jobs.eventlog.leases import Lease

        return Lease(
            self.log,
            self._lock_folder,
            worker=f"{name}-{self.ids.name('')}",
            name=name,
            lanes=lanes,
            lease_seconds=self.settings.workers.lease_seconds,
        )

    def observer(self) -> FailureDetector:
        """A new failure detector: says which workers have ended."""
        from hermes_jobs.eventlog.leases import FailureDetector

        return FailureDetector(self._lock_folder, lease_seconds=self.settings.workers.lease_seconds)

    @cached_property
    def _lock_folder(self) -> LivenessLocks:
        from hermes_jobs.eventlog.liveness_locks import LivenessLocks

        return LivenessLocks(self.settings.paths.run / "workers")

    # --- parts of the agent ---------------------------------------------------------------------

    @cached_property
    def endpoints(self) -> ModelEndpoints:
        """The clients, windows and prices of all model endpoints."""
        from hermes_jobs.bootstrap.endpoints import ModelEndpoints
        from hermes_jobs.domain.context_windows import STREAM, LearnedWindows
        from hermes_jobs.engine.cached_stream import RecentState

        watch = None if self.tracing is None else self.tracing.watch_client
        learned = RecentState[LearnedWindows](self.log, self.clock, STREAM)
        return ModelEndpoints(self.settings, self.clock, learned, watch=watch)

    @property
    def model(self) -> Model:
        """The configured main model; the rehearsal where none is configured."""
        return self.endpoints.model(self.settings.main_model)

    def auxiliary(self, purpose: str) -> tuple[Model, str]:
        """The model for `compression`, `session_search` or `review`, and its name."""
        choice = self.settings.auxiliary_model(purpose)
        return self.endpoints.model(choice), choice.model

    @property
    def windows(self) -> Windows:
        """The context windows of the main endpoint's models, as known, configured and learned."""
        return self.endpoints.windows(self.settings.main_model.base_url)

    @cached_property
    def contexts(self) -> BuiltIn | PluginContextEngines:
        """The context engines, which compress histories. Raises `Misconfigured` for an unknown engine."""
        from hermes_jobs.bootstrap.contexts import create_context_engines

        return create_context_engines(self.settings, self.endpoints, self.log, self.clock)

    @cached_property
    def couriers(self) -> DeliveryChannels:
        """The delivery channels by kind of target."""
        from hermes_jobs.bootstrap.delivery_channels import DeliveryChannels

        return DeliveryChannels(self.settings, self._environ, self.clock)

    @cached_property
    def toolbox(self) -> Toolbox:
        """All tools, as configured."""
        from hermes_jobs.bootstrap.toolbox import create_toolbox

        return create_toolbox(
            self.settings,
            self._environ,
            log=self.log,
            views=self.views,
            clock=self.clock,
            ids=self.ids,
            timezone=self.timezone,
            result_file=self.results.file_of,
            memory=self.memory,
            limits=self.memory_limits,
            skills=self.skills,
            curator=self.curator,
            endpoints=self.endpoints,
            providers=self.providers,
            contexts=self.contexts,
        )

    def _asking(self, call: ToolCall) -> Asking | None:
        from hermes_jobs.bootstrap.toolbox import asking

        return asking(self.settings, self.endpoints, call)

    @cached_property
    def timezone(self) -> str:
        """The IANA name of the zone of times that name none; this machine's unless configured."""
        if self.settings.schedules.timezone is not None:
            return self.settings.schedules.timezone
        import warnings

        from tzlocal import get_localzone_name

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a zone that is not configured, or in two ways
            return get_localzone_name() or "UTC"

    def check(self, model: str | None = None) -> None:
        """Raise where a turn with that model (None: the configured one) could not run as configured.

        Raises `Misconfigured` where the budgets cannot limit it, or where no memory provider or context
        engine has the configured name; `Rejected`, kind `auth`, where the model's key is missing.
        """
        from hermes_jobs.bootstrap.validation import check_model, validate_plugins

        validate_plugins(self.settings, lambda: self.contexts)
        check_model(self.settings, model, self.has_live_workers)
        self.check_budgets(model)

    def check_budgets(self, model: str | None = None) -> None:
        """Raise `Misconfigured` where the budgets cannot limit a turn with that model (None: the
        configured)."""
        from hermes_jobs.bootstrap.validation import validate_budgets

        def is_priced(name: str) -> bool:  # most configurations limit no money, and need no endpoints here
            return self.endpoints.by_name.is_priced(name)

        validate_budgets(self.settings, model, is_priced)

    def has_live_workers(self) -> bool:
        """Whether live workers consume the queues that a turn needs. Raises `LogUnavailable`."""
        from hermes_jobs.bootstrap.worker_status import has_live_workers

        return has_live_workers(self.log, self.observer())
