"""`AgentParts`: what an application has under some settings: models, tools, memory, skills, servers."""

from __future__ import annotations

import logging
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hermes_jobs.bootstrap.made_of import changed_fields, fields_of, parts_of
from hermes_jobs.errors import HermesJobsError
from hermes_jobs.kernel.feature import parts

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.endpoints import ModelEndpoints
    from hermes_jobs.bootstrap.shared_parts import SharedParts
    from hermes_jobs.bootstrap.workers import HomeWorkers
    from hermes_jobs.features.attachments.api import Intake
    from hermes_jobs.features.compression.engine_host import BuiltIn, PluginContextEngines
    from hermes_jobs.features.conditions.api import ConditionCommand
    from hermes_jobs.features.mcp.reader import McpReader
    from hermes_jobs.features.mcp.sessions import McpSessions
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.memory.places import MemoryPlaces
    from hermes_jobs.features.memory.providers import Providers
    from hermes_jobs.features.memory.rules.memory import Limits
    from hermes_jobs.features.skills.catalog import SkillCatalog
    from hermes_jobs.features.skills.curator import Curator
    from hermes_jobs.features.snapshots.store import SnapshotStore
    from hermes_jobs.kernel.engine.ports import Model
    from hermes_jobs.kernel.log.blobs import BlobStore
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.streams.decision import Decision
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings
    from hermes_jobs.tools.background import BackgroundProcesses
    from hermes_jobs.tools.check_command import CheckCommand
    from hermes_jobs.tools.own_functions import OwnTools
    from hermes_jobs.tools.path_policy import PathPolicy
    from hermes_jobs.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

A = TypeVar("A", bound="AgentParts")


class AgentParts:
    """Each part is made on first use, of the settings and of what the process has once (`shared`).

    `days` is the zone in which the days of budgets begin, also under a turn's own settings; None: the
    machine's. An `Application` is one, with the steps that work with these parts.
    """

    def __init__(self, settings: Settings, shared: SharedParts) -> None:
        self.settings = settings
        self.shared = shared
        self.environ, self.clock, self.ids = shared.environ, shared.clock, shared.ids
        self.days = settings.zone

    def under(self: A, settings: Settings) -> A:
        """The same under other settings; shares the parts that those do not change."""
        other = copy(self)
        other.settings = settings
        changed = changed_fields(self.settings, settings)
        for part in parts_of(AgentParts) & other.__dict__.keys():
            if changed & fields_of(AgentParts, part) and not self._is_foreign(part):
                del other.__dict__[part]
        return other

    def _is_foreign(self, part: str) -> bool:
        """Whether the part is third-party code, with one instance in a process."""
        if part == "providers":
            return self.settings.memory.provider is not None
        from hermes_jobs.features.compression.setup import BUILT_IN

        return part == "contexts" and self.settings.context.engine != BUILT_IN

    # --- what the process has once --------------------------------------------------------------

    @property
    def log(self) -> EventLog:
        """The event log."""
        return self.shared.log

    @property
    def blobs(self) -> BlobStore:
        """The bytes of attachments."""
        return self.shared.blobs

    @property
    def views(self) -> Views:
        """The read models, current at every read."""
        return self.shared.views

    @property
    def memory(self) -> SyncedMemory:
        """The memory between sessions, with its files in the home."""
        return self.shared.memory

    @property
    def processes(self) -> BackgroundProcesses:
        """The background processes of this home on this host."""
        return self.shared.processes

    @property
    def workers(self) -> HomeWorkers:
        """The processes that work on this log, and the leases of this one."""
        return self.shared.workers

    def attached_content(self, digest: str) -> bytes | None:
        """The bytes of an attachment; None where they are lost, or not what was stored."""
        return self.shared.attached_content(digest)

    # --- parts under these settings -------------------------------------------------------------

    @property
    def intake(self) -> Intake:
        """Takes in the files that go with a message."""
        from hermes_jobs.features.attachments.parts import create_intake

        return create_intake(self.settings, self.blobs, self.endpoints)

    @cached_property
    def snapshots(self) -> SnapshotStore:
        """The contents of files that file tools have replaced."""
        from hermes_jobs.features.snapshots.store import SnapshotLimits, SnapshotStore

        limits = SnapshotLimits(seconds=self.settings.files.keep_days * 86_400.0)
        return SnapshotStore(self.settings.paths.snapshots, limits)

    @property
    def memory_limits(self) -> Limits:
        """The most characters that each part of the memory may have."""
        from hermes_jobs.features.memory.rules.memory import Limits

        return Limits(memory=self.settings.memory.memory_chars, user=self.settings.memory.user_chars)

    @cached_property
    def providers(self) -> Providers:
        """All memories, the built-in one first. Raises `Misconfigured` for an unknown provider."""
        from hermes_jobs.features.memory.parts import create_memory

        providers = create_memory(
            self.settings,
            self.memory_places,
            log=self.log,
            views=self.views,
            clock=self.clock,
            embedder=self.endpoints.embedder if self.settings.embeddings.model else None,
        )
        self.shared.close_with(providers)
        return providers

    @property
    def memory_places(self) -> MemoryPlaces:
        """Where the memory's entries are: in prompts, recalled, or left out."""
        from hermes_jobs.features.memory.places import MemoryPlaces

        return MemoryPlaces(self.settings.memory, self.memory, self.memory_limits, self.views, self.clock)

    @cached_property
    def skills(self) -> SkillCatalog:
        """The skills of the home, with their files, and those of the configured folders."""
        from hermes_jobs.features.skills.parts import create_skills

        return create_skills(self.settings, self.environ, self.shared.engine("skills"))

    @cached_property
    def curator(self) -> Curator:
        """The curator of the skills: their inventory and use, and the proposals to merge or archive them."""
        from hermes_jobs.features.skills.parts import create_curator

        return create_curator(self.skills, self.log, self.views, self.clock, self.settings.zone)

    @cached_property
    def endpoints(self) -> ModelEndpoints:
        """The clients, windows and prices of all model endpoints."""
        from hermes_jobs.bootstrap.endpoints import ModelEndpoints
        from hermes_jobs.kernel.engine.repository import RecentState
        from hermes_jobs.kernel.streams.context_windows import STREAM, LearnedWindows

        tracing = self.shared.tracing
        watch = None if tracing is None else tracing.watch_client
        learned = RecentState[LearnedWindows](self.log, self.clock, STREAM)
        endpoints = ModelEndpoints(
            self.settings,
            self.clock,
            learned,
            record=self._record_learned,
            watch=watch,
            content=self.attached_content,
        )
        self.shared.close_with(endpoints)
        return endpoints

    def _record_learned(self, decision: Decision) -> None:
        """Record what was learned of a model; where the log cannot be written, this process knows it."""
        try:
            self.shared.deciding.change(decision, "model")
        except HermesJobsError as error:
            logger.warning("what an endpoint refuses is not recorded: %s", error)

    @property
    def model(self) -> Model:
        """The configured main model; the rehearsal where none is configured."""
        return self.endpoints.model(self.settings.main_model)

    @cached_property
    def contexts(self) -> BuiltIn | PluginContextEngines:
        """The context engines, which compress histories. Raises `Misconfigured` for an unknown engine."""
        from hermes_jobs.features.compression.parts import create_context_engines

        return create_context_engines(self.settings, self.endpoints, self.log, self.clock)

    @cached_property
    def mcp(self) -> McpSessions:
        """The MCP servers, as configured."""
        from hermes_jobs.features.mcp.parts import create_mcp

        return create_mcp(
            self.settings, self.environ, self.shared.deciding, self.shared.mcp_connections, self.clock
        )

    @property
    def mcp_reader(self) -> McpReader:
        """Reads resources and prompts of the MCP servers, without a user to answer questions."""
        from hermes_jobs.features.mcp.parts import create_mcp_reader

        return create_mcp_reader(self.settings, self.mcp.launches, self.shared.mcp_connections, self.clock)

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
            holds=[create(self) for create in parts("holding")],
            result_file=self.shared.results.file_of,
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

    @cached_property
    def timezone(self) -> str:
        """The IANA name of the zone of times that name none; this machine's unless configured."""
        from hermes_jobs.system.local_zone import local_zone_name

        return self.settings.schedules.timezone or local_zone_name()

    @property
    def condition_command(self) -> ConditionCommand:
        """What runs the commands of conditions."""
        from hermes_jobs.bootstrap.toolbox import condition_command

        return condition_command(self.settings, self.environ, self.ids, self.shared.deciding)

    @property
    def check_command(self) -> CheckCommand:
        """What runs the command that checks an answer."""
        from hermes_jobs.bootstrap.toolbox import check_command

        return check_command(self.settings, self.environ, self.ids)
