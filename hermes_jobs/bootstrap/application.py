"""`Application`: one home and its log, and whatever is made of them.

Adapters are imported when they are first wanted: a command that only reads the log loads no model client.
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
    """The carrier of a process that only records: workers look at the log by themselves."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Nothing to do."""


class Application:
    """One home and its log, with everything made when it is first used. Close it to release connections."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        notify: Callable[[str], None] = logger.warning,
    ) -> None:
        """`environ` is what tools may inherit, less its secrets; `notify` hears for whom this process waits.

        Raises `Misconfigured` for a home that
        cannot be made, and in what the agent runs."""
        refuse_inside_tool(environ)
        ensure_home(settings.paths)
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = RandomIds()
        self._environ = environ
        self._notify = notify

    def close(self) -> None:
        """Release what was opened."""
        for opened in ("tracing", "providers", "endpoints", "views", "log"):
            close = getattr(self.__dict__.get(opened), "close", None)
            if close is not None:
                close()

    # --- what is stored -------------------------------------------------------------------------

    @cached_property
    def log(self) -> EventLog:
        """The event log."""
        from hermes_jobs.eventlog.factory import open_log, sqlite_url

        paths = self.settings.paths
        return open_log(
            self.settings.log_url or sqlite_url(paths.events_db),
            doorbells=paths.run / "doorbells",
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
        """What is remembered between sessions, with its files in the home."""
        from hermes_jobs.agent.memory.memory_files import SyncedMemory

        paths = self.settings.paths
        return SyncedMemory(self.engine(), paths.memories, paths.run / "memory.lock", paths.run / "shown")

    @property
    def memory_limits(self) -> Limits:
        """How much may be remembered."""
        from hermes_jobs.domain.memory.memory import Limits

        return Limits(memory=self.settings.memory.memory_chars, user=self.settings.memory.user_chars)

    @cached_property
    def providers(self) -> Providers:
        """All memories, our own first. Raises `Misconfigured` for a provider that there is not."""
        from hermes_jobs.bootstrap.memories import create_memory

        return create_memory(self)

    @cached_property
    def skills(self) -> SkillCatalog:
        """The skills of the home, with their files in it, and those of the configured folders."""
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
        """Who tells of the skills as a whole, and carries out what is proposed for them."""
        from hermes_jobs.bootstrap.curator import create_curator

        return create_curator(self)

    def _path(self, written: str) -> Path:
        """A path of the configuration: `~` is the user's home, and others are relative to ours."""
        if written == "~" or written.startswith("~/"):
            written = self._environ.get("HOME", "/") + written[1:]
        return self.settings.paths.home / written

    # --- who acts -------------------------------------------------------------------------------

    def engine(
        self, worker: str = "cli", dispatcher: Dispatcher | None = None, *, heard: OnDelta = nobody_listens
    ) -> Engine:
        """The engine of the worker with that id; without a carrier one that decides and never performs."""
        from hermes_jobs.engine.engine import Engine

        _ = self.tracing  # made here, before there are threads that would make one each
        if dispatcher is None:
            return Engine(
                log=self.log,
                worker=worker,
                clock=self.clock,
                ids=self.ids,
                dispatcher=NullDispatcher(),
                performers={},
                witness=self._witness,
            )
        from hermes_jobs.bootstrap.step_handlers import StepHandlers

        crew = StepHandlers(self, heard)
        return Engine(
            log=self.log,
            worker=worker,
            clock=self.clock,
            ids=self.ids,
            dispatcher=dispatcher,
            performers=crew.performers(),
            jobs=crew.jobs(),
            purse=crew.purse,
            preflight=crew.preflight,
            follow=self._follow,
            witness=self._witness,
        )

    def engine_over(self, log: EventLog, worker: str) -> Engine:
        """An engine that only decides, over a log that stands in for this one: a transaction, say."""
        from hermes_jobs.engine.engine import Engine

        return Engine(
            log=log, worker=worker, clock=self.clock, ids=self.ids, dispatcher=NullDispatcher(), performers={}
        )

    def _witness(self, before: StreamState, facts: Sequence[Event], after: StreamState) -> None:
        """Let a collector hear what was appended. See `AppendHook`."""
        if self.tracing is not None:
            self.tracing.witness(before, facts, after)

    @cached_property
    def tracing(self) -> Tracing | None:
        """What tells a collector; null where none is configured."""
        from hermes_jobs.bootstrap.tracing import create_tracing

        return create_tracing(self, self._environ)

    def settle(self) -> None:
        """Take in what people did to the files of the memory and the skills. Raises `LogUnavailable`."""
        self.memory.sync()
        self.skills.sync()

    def _follow(self, streams: Sequence[str]) -> None:
        """Let the home's files follow the log. See `FileSync`."""
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
        """A new entry for this process among the workers, to be started and closed by the caller."""
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
        """What tells which workers have ended."""
        from hermes_jobs.eventlog.leases import FailureDetector

        return FailureDetector(self._lock_folder, lease_seconds=self.settings.workers.lease_seconds)

    @cached_property
    def _lock_folder(self) -> LivenessLocks:
        from hermes_jobs.eventlog.liveness_locks import LivenessLocks

        return LivenessLocks(self.settings.paths.run / "workers")

    # --- what acts are made of ------------------------------------------------------------------

    @cached_property
    def endpoints(self) -> ModelEndpoints:
        """Where models are asked."""
        from hermes_jobs.bootstrap.endpoints import ModelEndpoints
        from hermes_jobs.domain.context_windows import STREAM, LearnedWindows
        from hermes_jobs.engine.cached_stream import RecentState

        watch = None if self.tracing is None else self.tracing.watch_client
        learned = RecentState[LearnedWindows](self.log, self.clock, STREAM)
        return ModelEndpoints(self.settings, self.clock, learned, watch=watch)

    @property
    def model(self) -> Model:
        """The configured language model: the rehearsal where nothing is configured."""
        return self.endpoints.model(self.settings.main_model)

    def auxiliary(self, purpose: str) -> tuple[Model, str]:
        """The model for `compression`, `session_search` or `review`, and its name."""
        choice = self.settings.auxiliary_model(purpose)
        return self.endpoints.model(choice), choice.model

    @property
    def windows(self) -> Windows:
        """What the main endpoint's models take at a time, as known, configured and learned."""
        return self.endpoints.windows(self.settings.main_model.base_url)

    @cached_property
    def contexts(self) -> BuiltIn | PluginContextEngines:
        """What makes long histories smaller. Raises `Misconfigured` for an engine that there is not."""
        from hermes_jobs.bootstrap.contexts import create_context_engines

        return create_context_engines(self)

    @cached_property
    def couriers(self) -> DeliveryChannels:
        """Who brings answers to where they were asked for."""
        from hermes_jobs.bootstrap.delivery_channels import DeliveryChannels

        return DeliveryChannels(self.settings, self._environ, self.clock)

    @cached_property
    def toolbox(self) -> Toolbox:
        """All tools that this build has, as configured."""
        from hermes_jobs.bootstrap.toolbox import create_toolbox

        return create_toolbox(self, self._environ)

    def asking(self, call: ToolCall) -> Asking | None:
        """What a tool call asks of a model; None where it asks none."""
        from hermes_jobs.bootstrap.toolbox import asking

        return asking(self, call)

    @cached_property
    def timezone(self) -> str:
        """The zone, by its IANA name, in which times are read that name none: this machine's if not set."""
        if self.settings.schedules.timezone is not None:
            return self.settings.schedules.timezone
        import warnings

        from tzlocal import get_localzone_name

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is not configured, or in two ways
            return get_localzone_name() or "UTC"

    def check(self, model: str | None = None) -> None:
        """Raise where a turn with that model (null: the configured one) could not run as configured.

        `Misconfigured`: it could not be held to the budgets, or there is no memory provider or context engine
        of the configured name. `Rejected`, kind `auth`: the model's key is missing.
        """
        from hermes_jobs.bootstrap.validation import check_model, validate_budgets, validate_plugins
        from hermes_jobs.bootstrap.worker_status import has_live_workers

        validate_plugins(self)
        check_model(self, model, lambda: has_live_workers(self))
        validate_budgets(self, model)
