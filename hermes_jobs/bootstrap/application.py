"""`Application`: one home and its log, and the adapters that work on them.

Adapters are imported on first use: a command that only reads the log loads no model client.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from hermes_jobs.bootstrap.made_of import changed_fields, fields_of, parts_of
from hermes_jobs.errors import Corrupt, HermesJobsError, LogUnavailable
from hermes_jobs.kernel.engine.ports import Dispatcher
from hermes_jobs.kernel.feature import parts
from hermes_jobs.kernel.live import OnDelta, ignore_delta
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import LiveSettings, Settings, ensure_home
from hermes_jobs.system.bytecode_file import BytecodeFile
from hermes_jobs.system.clock import Clock, SystemClock
from hermes_jobs.system.ids import Ids, RandomIds
from hermes_jobs.system.isolation import refuse_inside_tool
from hermes_jobs.text.scan import kept

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.bootstrap.step_handlers import StepHandlers
    from hermes_jobs.bootstrap.turn_parts import SettingsOfTurns
    from hermes_jobs.bootstrap.workers import HomeWorkers
    from hermes_jobs.features.attachments.api import Intake
    from hermes_jobs.features.compression.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.features.conditions.api import ConditionCommand
    from hermes_jobs.features.delegation.roles import AgentRole
    from hermes_jobs.features.mcp.reader import McpReader
    from hermes_jobs.features.mcp.servers import Servers
    from hermes_jobs.features.mcp.sessions import McpSessions
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.memory.places import MemoryPlaces
    from hermes_jobs.features.memory.providers import Providers
    from hermes_jobs.features.memory.rules.memory import Limits
    from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
    from hermes_jobs.features.skills.catalog import SkillCatalog
    from hermes_jobs.features.skills.curator import Curator
    from hermes_jobs.features.snapshots.store import SnapshotStore
    from hermes_jobs.features.tracing.tracing import Tracing
    from hermes_jobs.kernel.engine.budget_guard import Asking
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import Model, ModelRequest, StepHandler
    from hermes_jobs.kernel.engine.step_parts import StepParts
    from hermes_jobs.kernel.events import Event
    from hermes_jobs.kernel.log.blobs import BlobFiles, BlobStore
    from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
    from hermes_jobs.kernel.streams.decision import Decision
    from hermes_jobs.kernel.streams.stream_kind import StreamState
    from hermes_jobs.kernel.turns.messages import ToolCall
    from hermes_jobs.kernel.turns.session import Session
    from hermes_jobs.kernel.turns.steps import Step, StepKind
    from hermes_jobs.kernel.turns.turn import Turn
    from hermes_jobs.kernel.views.result_files import ResultFiles
    from hermes_jobs.kernel.views.store import OnProgress
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.llm.windows import Windows
    from hermes_jobs.settings.person_locale import PersonLocale
    from hermes_jobs.settings.turn_settings import TurnSettings
    from hermes_jobs.tools.background import BackgroundProcesses
    from hermes_jobs.tools.check_command import CheckCommand
    from hermes_jobs.tools.own_functions import OwnTools
    from hermes_jobs.tools.path_policy import PathPolicy
    from hermes_jobs.tools.process_endings import ProcessEndings
    from hermes_jobs.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

OF_THE_PROCESS = frozenset(
    {
        *("log", "_blobs", "views", "results", "memory", "processes", "process_endings"),
        *("tracing", "workers", "mcp_connections", "_deciding"),
    }
)
"""The parts that a process has once, under all settings; see `made_of` for the others."""


def _derived() -> tuple[dict[str, object], set[kept.Key]]:
    """What the scan of texts derives from its tables; imported only after an update."""
    from hermes_jobs.text.scan.derived import derived

    return derived()


class NullDispatcher:
    """The dispatcher of a process that only records: workers find due steps in the log."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Has no effect."""


class Application:
    """One home and its log; each part is made on first use. Close it to release connections."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        notify: Callable[[str], None] = logger.warning,
        progress: OnProgress = lambda position, last: None,
        read_only: HermesJobsError | None = None,
    ) -> None:
        """Tools inherit `environ` without its secrets; `notify` is called with messages about locks that this
        process waits for, `progress` while read models are built (see `Store`). `read_only`: every write to
        the log raises it.

        Raises `Misconfigured` for a home that cannot be created, and inside a tool of the agent.
        """
        refuse_inside_tool(environ)
        ensure_home(settings.paths)
        kept.keep_in(BytecodeFile(Path(kept.__file__).parent, "scan"), _derived)
        self.settings = settings
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = RandomIds()
        self.live = LiveSettings(settings, environ)
        self.environ = environ
        self._notify = notify
        self._progress = progress
        self._read_only = read_only
        self._latest = self
        self._lock = threading.Lock()
        self._all_endpoints: WeakSet[ModelEndpoints] = WeakSet()
        self.days = settings.zone

    def close(self) -> None:
        """Release connections and threads of the parts that were made."""
        opened = [
            self.__dict__.get(name) for name in ("tracing", "providers", "mcp_connections", "views", "log")
        ]
        for endpoint in (*self._all_endpoints, *opened):
            close = getattr(endpoint, "close", None)
            if close is not None:
                close()

    # --- settings -------------------------------------------------------------------------------

    def current(self) -> Application:
        """The same home under the current settings of its files; close this one only."""
        settings = self.live.current()
        with self._lock:
            if settings is not self._latest.settings:
                self._latest = self._latest.under(settings)
                self._latest.days = settings.zone
            return self._latest

    def under(self, settings: Settings) -> Application:
        """The same home under other settings; shares the parts that those do not change."""
        _ = self.log, self.views, self.results, self.memory, self.processes, self.tracing, self._deciding
        _ = self.mcp_connections
        other = copy(self)
        other.settings = settings
        changed = changed_fields(self.settings, settings)
        for part in parts_of(type(self)) & other.__dict__.keys() - OF_THE_PROCESS:
            if changed & fields_of(type(self), part) and not self._is_foreign(part):
                del other.__dict__[part]
        return other

    def _is_foreign(self, part: str) -> bool:
        """Whether the part is third-party code, with one instance in a process."""
        if part == "providers":
            return self.settings.memory.provider is not None
        from hermes_jobs.features.compression.setup import BUILT_IN

        return part == "contexts" and self.settings.context.engine != BUILT_IN

    def carried(self, model: str | None) -> TurnSettings:
        """The settings sent with a turn of this process for that model (None: the configured one)."""
        from hermes_jobs.settings.turn_settings import carried

        return carried(self.settings, model, self.log.log_id)

    def travelling(self, model: str | None, variables: Mapping[str, str] | None = None) -> TurnSettings:
        """The settings of `carried`, with the user's locale if a running process has another, and `variables`
        for the commands that run in the turn.

        Raises `LogUnavailable`.
        """
        from hermes_jobs.bootstrap.workers import statuses
        from hermes_jobs.settings.person_locale import with_locale
        from hermes_jobs.settings.turn_settings import with_variables

        carried = self.carried(model)
        locales = [status.locale for status in statuses(self.log).values() if status.locale.zone]
        if locales:
            carried = with_locale(carried, self.settings, self._locale, locales)
        return with_variables(carried, self.settings, variables) if variables else carried

    @property
    def _locale(self) -> PersonLocale:
        from hermes_jobs.settings.person_locale import PersonLocale, locale_variables

        return PersonLocale(locale_variables(self.environ), self.timezone)

    # --- storage --------------------------------------------------------------------------------

    @cached_property
    def log(self) -> EventLog:
        """The event log."""
        from hermes_jobs.kernel.log.factory import open_log, sqlite_url

        paths = self.settings.paths
        return open_log(
            self.settings.log_url or sqlite_url(paths.events_db),
            notifier_folder=paths.run / "doorbells",
            notify=self._notify,
            read_only=self._read_only,
        )

    @property
    def blobs(self) -> BlobStore:
        """The bytes of attachments."""
        return self._blobs[0]

    @property
    def blob_files(self) -> BlobFiles:
        """Those of them that are files on this host."""
        return self._blobs[1]

    @cached_property
    def _blobs(self) -> tuple[BlobStore, BlobFiles]:
        from hermes_jobs.kernel.log.blobs import open_blobs
        from hermes_jobs.kernel.log.factory import folder_of
        from hermes_jobs.kernel.log.sql import SqlEventLog

        assert isinstance(self.log, SqlEventLog), "only a log in a database has blobs"
        paths, url = self.settings.paths, self.settings.log_url
        folder = (folder_of(url) if url else None) or paths.home
        return open_blobs(self.log, folder / paths.attachments.name)

    @property
    def intake(self) -> Intake:
        """Takes in the files that go with a message."""
        from hermes_jobs.features.attachments.api import MEGABYTE, AttachmentLimits, Intake

        own = self.settings.attachments
        limits = AttachmentLimits(
            file_bytes=int(own.file_mb * MEGABYTE),
            turn_bytes=int(own.turn_mb * MEGABYTE),
            files=own.files,
            pages=own.pages,
            pixels=int(own.megapixels * 1_000_000),
            side=own.side,
            hears=self.settings.auxiliary.transcription.model is not None,
            hears_itself=self.endpoints.hears(self.settings.main_model.model),
        )
        return Intake(self.blobs, limits, self.settings.paths.home / "tmp")

    @cached_property
    def views(self) -> Views:
        """The read models, current at every read."""
        from hermes_jobs.kernel.views.views import Views

        return Views(self.log, self.settings.paths.views, self._notify, self._document, self._progress)

    @cached_property
    def results(self) -> ResultFiles:
        """Large tool results as files."""
        from hermes_jobs.kernel.views.result_files import ResultFiles

        return ResultFiles(
            self.log,
            self.views,
            self.settings.paths.results,
            lambda name: self.blobs.get(name),  # noqa: PLW0108 - opened when needed
        )

    @cached_property
    def snapshots(self) -> SnapshotStore:
        """The contents of files that file tools have replaced."""
        from hermes_jobs.features.snapshots.store import SnapshotLimits, SnapshotStore

        limits = SnapshotLimits(seconds=self.settings.files.keep_days * 86_400.0)
        return SnapshotStore(self.settings.paths.snapshots, limits)

    @cached_property
    def processes(self) -> BackgroundProcesses:
        """The background processes of this home on this host."""
        from hermes_jobs.tools.background import BackgroundProcesses

        return BackgroundProcesses(self.settings.paths.processes, self.clock.now)

    @cached_property
    def process_endings(self) -> ProcessEndings:
        """Ends background processes whose session or turn has ended."""
        from hermes_jobs.tools.process_endings import ProcessEndings

        return ProcessEndings(self.settings.paths.processes, lambda: self.processes, self.clock)

    @cached_property
    def memory(self) -> SyncedMemory:
        """The memory between sessions, with its files in the home."""
        from hermes_jobs.features.memory.memory_files import SyncedMemory

        paths = self.settings.paths
        return SyncedMemory(self.engine(), paths.memories, paths.run / "memory.lock", paths.run / "shown")

    @property
    def memory_limits(self) -> Limits:
        """The most characters that each part of the memory may have."""
        from hermes_jobs.features.memory.rules.memory import Limits

        return Limits(memory=self.settings.memory.memory_chars, user=self.settings.memory.user_chars)

    @cached_property
    def providers(self) -> Providers:
        """All memories, the built-in one first. Raises `Misconfigured` for an unknown provider."""
        from hermes_jobs.features.memory.parts import create_memory

        return create_memory(
            self.settings,
            self.memory_places,
            log=self.log,
            views=self.views,
            clock=self.clock,
            embedder=self.endpoints.embedder if self.settings.embeddings.model else None,
        )

    @property
    def memory_places(self) -> MemoryPlaces:
        """Where the memory's entries are: in prompts, recalled, or left out."""
        from hermes_jobs.features.memory.places import MemoryPlaces

        return MemoryPlaces(self.settings.memory, self.memory, self.memory_limits, self.views, self.clock)

    @cached_property
    def skills(self) -> SkillCatalog:
        """The skills of the home, with their files, and those of the configured folders."""
        from hermes_jobs.features.skills.parts import create_skills

        return create_skills(self.settings, self.environ, self.engine("skills"))

    @cached_property
    def curator(self) -> Curator:
        """The curator of the skills: their inventory and use, and the proposals to merge or archive them."""
        from hermes_jobs.features.skills.parts import create_curator

        return create_curator(self.skills, self.log, self.views, self.clock, self.settings.zone)

    # --- engine --------------------------------------------------------------------------------

    def engine(
        self, worker: str = "cli", dispatcher: Dispatcher | None = None, *, on_delta: OnDelta = ignore_delta
    ) -> Engine:
        """The engine of the worker with that id; without a dispatcher one that decides and never runs
        steps."""
        from hermes_jobs.kernel.engine.engine import NO_PARTS, Engine

        _ = self.tracing  # made here, before there are threads that would make one each
        return Engine(
            log=self.log,
            worker=worker,
            clock=self.clock,
            ids=self.ids,
            dispatcher=dispatcher or NullDispatcher(),
            parts=NO_PARTS if dispatcher is None else self._parts_of_turns(on_delta),
            file_sync=None if dispatcher is None else self._follow,
            append_hook=self._append_hook,
        )

    def _parts_of_turns(self, on_delta: OnDelta) -> SettingsOfTurns:
        from hermes_jobs.bootstrap.turn_parts import SettingsOfTurns

        return SettingsOfTurns(
            self.live, self.log, self.clock, lambda settings: self._step_parts(settings, on_delta)
        )

    @cached_property
    def _deciding(self) -> Engine:
        """The engine of parts that decide."""
        return self.engine()

    def _step_parts(self, settings: Settings, on_delta: OnDelta) -> StepParts:
        """What steps are run with under those settings."""
        from hermes_jobs.kernel.engine.step_parts import StepParts

        latest = self.current()
        under = latest if settings is latest.settings else latest.under(settings)
        handlers = under._handlers(on_delta)  # noqa: SLF001 - it is one of these
        return StepParts(
            handlers=handlers.all(), budget_guard=handlers.budget_guard, preflight=handlers.preflight
        )

    def _handlers(self, on_delta: OnDelta) -> StepHandlers:
        from hermes_jobs.bootstrap.step_handlers import Parts, StepHandlers
        from hermes_jobs.features.attachments.parts import perception_of

        parts = Parts(
            engine=self._deciding,
            toolbox=self.toolbox,
            endpoints=self.endpoints,
            contexts=self.contexts,
            providers=self.providers,
            skills=self.skills,
            mcp=self.mcp,
            of_features=self._handlers_of_features,
            tracing=self.tracing,
            asking=self._asking,
            on_result=self.results.save,
            attach=self.intake.attach_each,
            perception=perception_of(
                self.endpoints,
                self.views,
                self.intake,
                self.attached_content,
                self.settings.auxiliary.speech,
            ),
            on_delta=on_delta,
            days=self.days,
        )
        return StepHandlers(self.settings, parts)

    def _handlers_of_features(self, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
        made: dict[StepKind, StepHandler] = {}
        for make in parts("steps"):
            made |= make(self)
        for make in parts("model_steps"):
            made |= make(self, calls)
        return made

    def build_request(self, session: Session, turn: Turn, step: str = "") -> ModelRequest:
        """The request of the turn's next model call, or of its reference with that id, with the tools as they
        are now."""
        from hermes_jobs.settings.turn_settings import applied

        under = self.under(applied(self.settings, turn.settings)) if turn.settings else self
        handlers = under._handlers(ignore_delta)  # noqa: SLF001 - it is one of these
        return handlers.build_request(session, turn, step)

    @cached_property
    def replayed_requests(self) -> ReplayedRequests:
        """The requests of recorded model calls, with the tools as they are now."""
        from hermes_jobs.features.replay.replayed_requests import ReplayedRequests

        handlers = self._handlers(ignore_delta)
        return ReplayedRequests(self._deciding.sessions, handlers.build_request)

    def engine_over(self, log: EventLog, worker: str) -> Engine:
        """An engine that only decides, over another log, such as one transaction of this one."""
        from hermes_jobs.kernel.engine.engine import Engine

        return Engine(log=log, worker=worker, clock=self.clock, ids=self.ids, dispatcher=NullDispatcher())

    def _append_hook(self, before: StreamState, events: Sequence[Event], after: StreamState) -> None:
        """Pass appended events to the traces, and end processes of ended sessions. See `AppendHook`."""
        self.process_endings.follow(events, getattr(after, "lineage", ""))
        if self.tracing is not None:
            self.tracing.on_append(before, events, after)

    @cached_property
    def tracing(self) -> Tracing | None:
        """The exporter of traces; None where none is configured."""
        made = (create(self.settings, self.log, self.environ) for create in parts("tracing"))
        return next(made, None)

    def sync_files(self) -> None:
        """Import edits of the memory's and the skills' files. Raises `LogUnavailable`."""
        self.memory.sync()
        self.skills.sync()

    def _follow(self, streams: Sequence[str]) -> None:
        """Write the home's files after the log. See `FileSync`."""
        from hermes_jobs.features.memory.rules import memory
        from hermes_jobs.features.skills.rules import skill

        try:
            if memory.STREAM in streams:
                self.memory.sync()
            if any(stream.startswith(skill.PREFIX) for stream in streams):
                self.skills.sync()
        except LogUnavailable as error:
            logger.warning("the home's files follow later: %s", error)

    @cached_property
    def workers(self) -> HomeWorkers:
        """The processes that work on this log, and the leases of this one."""
        from hermes_jobs.bootstrap.workers import HomeWorkers

        return HomeWorkers(
            self.settings,
            log=self.log,
            live=self.live,
            ids=self.ids,
            locale=lambda: self._latest._locale,  # noqa: SLF001 - it is one of these
        )

    # --- parts of the agent ---------------------------------------------------------------------

    @cached_property
    def endpoints(self) -> ModelEndpoints:
        """The clients, windows and prices of all model endpoints."""
        from hermes_jobs.bootstrap.endpoints import ModelEndpoints
        from hermes_jobs.kernel.engine.repository import RecentState
        from hermes_jobs.kernel.streams.context_windows import STREAM, LearnedWindows

        watch = None if self.tracing is None else self.tracing.watch_client
        learned = RecentState[LearnedWindows](self.log, self.clock, STREAM)
        endpoints = ModelEndpoints(
            self.settings,
            self.clock,
            learned,
            record=self._record_learned,
            watch=watch,
            content=self.attached_content,
        )
        self._all_endpoints.add(endpoints)
        return endpoints

    def _document(self, digest: str) -> str | None:
        """The text of an attached document; None where it is lost."""
        content = self.attached_content(digest)
        return None if content is None else content.decode("utf-8", "replace")

    def attached_content(self, digest: str) -> bytes | None:
        """The bytes of an attachment; None where they are lost, or not what was stored."""
        try:
            return self.blobs.get(digest)
        except Corrupt as error:
            logger.warning("an attachment is left out: %s", error)
            return None

    def _record_learned(self, decision: Decision) -> None:
        """Record what was learned of a model; where the log cannot be written, this process knows it."""
        try:
            self._deciding.change(decision, "model")
        except HermesJobsError as error:
            logger.warning("what an endpoint refuses is not recorded: %s", error)

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
        from hermes_jobs.features.compression.parts import create_context_engines

        return create_context_engines(self.settings, self.endpoints, self.log, self.clock)

    @cached_property
    def mcp(self) -> McpSessions:
        """The MCP servers, as configured."""
        from hermes_jobs.features.mcp.parts import create_mcp

        return create_mcp(self.settings, self.environ, self._deciding, self.mcp_connections, self.clock)

    @property
    def mcp_reader(self) -> McpReader:
        """Reads resources and prompts of the MCP servers, without a user to answer questions."""
        from hermes_jobs.features.mcp.parts import create_mcp_reader

        return create_mcp_reader(self.settings, self.mcp.launches, self.mcp_connections, self.clock)

    @cached_property
    def mcp_connections(self) -> Servers:
        """The MCP servers that this process holds."""
        from hermes_jobs.features.mcp.servers import Servers

        return Servers(self.settings.paths.run / "mcp")

    @property
    def toolbox(self) -> Toolbox:
        """All tools, as configured."""
        return self._tools[0]

    @property
    def own_tools(self) -> OwnTools:
        """The user's own functions among them, and what is wrong with others."""
        return self._tools[1]

    @cached_property
    def _tools(self) -> tuple[Toolbox, OwnTools]:
        from hermes_jobs.bootstrap.toolbox import create_toolbox

        of_features = [tool for create in parts("tools") for tool in create(self)]
        return create_toolbox(
            self.settings,
            self.environ,
            of_features=of_features,
            result_file=self.results.file_of,
            documents=self.intake,
            snapshots=self.snapshots,
            processes=self.processes,
            providers=self.providers,
            contexts=self.contexts,
            mcp=self.mcp,
        )

    @property
    def path_policy(self) -> PathPolicy:
        """Which files tools may read and write."""
        from hermes_jobs.bootstrap.toolbox import path_policy

        return path_policy(self.settings, self.environ)

    def agent_roles(self, workdir: str) -> Mapping[str, AgentRole]:
        """The kinds of sub-agents for work in that folder, by name."""
        from hermes_jobs.features.delegation.role_files import agent_roles

        return agent_roles(self.settings.paths.agents, self.settings.agents, workdir)

    def check_child_model(self, name: str) -> None:
        """Raise where a sub-agent with that model could not run."""
        from hermes_jobs.bootstrap.validation import check_choice

        check_choice(self.settings, self.settings.choice(name))
        self.check_budgets(name)

    @property
    def condition_command(self) -> ConditionCommand:
        """What runs the commands of conditions."""
        from hermes_jobs.bootstrap.toolbox import condition_command
        from hermes_jobs.kernel.streams import approval_rules

        def rules() -> tuple[ApprovalRule, ...]:
            state = self._deciding.state(approval_rules.STREAM)
            assert isinstance(state, approval_rules.ApprovalRules)
            return state.rules

        return condition_command(self.settings, self.environ, self.ids, rules)

    @property
    def check_command(self) -> CheckCommand:
        """What runs the command that checks an answer."""
        from hermes_jobs.bootstrap.toolbox import check_command

        return check_command(self.settings, self.environ, self.ids)

    def _asking(self, call: ToolCall) -> Asking | None:
        """The model calls that a tool call makes, at most; None where it makes none."""
        asked = (asking(self, call) for asking in parts("asking"))
        return next((each for each in asked if each is not None), None)

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
        check_model(self.settings, model, self.workers.are_live)
        self.check_budgets(model)

    def check_budgets(self, model: str | None = None) -> None:
        """Raise `Misconfigured` where the budgets cannot limit a turn with that model (None: the
        configured)."""
        from hermes_jobs.bootstrap.validation import validate_budgets

        def is_priced(name: str) -> bool:  # most configurations limit no money, and need no endpoints here
            return self.endpoints.by_name.is_priced(name)

        validate_budgets(self.settings, model, is_priced)
