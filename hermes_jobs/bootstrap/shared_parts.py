"""`SharedParts`: what a process has once, under all settings: the log, and what stands beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from hermes_jobs.errors import Corrupt, HermesJobsError
from hermes_jobs.kernel.feature import parts
from hermes_jobs.system.ids import Ids, RandomIds

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.workers import HomeWorkers
    from hermes_jobs.features.mcp.servers import Servers
    from hermes_jobs.features.memory.memory_files import SyncedMemory
    from hermes_jobs.features.tracing.tracing import Tracing
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.ports import Dispatcher, FileSync
    from hermes_jobs.kernel.engine.step_parts import PartsOfTurns
    from hermes_jobs.kernel.events import Event
    from hermes_jobs.kernel.log.blobs import BlobFiles, BlobStore
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.streams.stream_kind import StreamState
    from hermes_jobs.kernel.turns.steps import Step
    from hermes_jobs.kernel.views.result_files import ResultFiles
    from hermes_jobs.kernel.views.store import OnProgress
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import LiveSettings, Settings
    from hermes_jobs.settings.person_locale import PersonLocale
    from hermes_jobs.system.clock import Clock
    from hermes_jobs.tools.background import BackgroundProcesses
    from hermes_jobs.tools.process_endings import ProcessEndings

logger = logging.getLogger(__name__)


class Closes(Protocol):
    """A part that holds connections or threads."""

    def close(self) -> None:
        """Release them."""


class NullDispatcher:
    """The dispatcher of a process that only records: workers find due steps in the log."""

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Has no effect."""


class SharedParts:
    """Each part is made on first use, from the settings with which the process started."""

    def __init__(  # noqa: PLR0913 - what a process is given
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        clock: Clock,
        live: LiveSettings,
        locale: Callable[[], PersonLocale],
        notify: Callable[[str], None],
        progress: OnProgress,
        read_only: HermesJobsError | None,
    ) -> None:
        """`locale` is the person's, as this process has it now; for the others see `Application`."""
        self._settings = settings
        self.environ = environ
        self.clock = clock
        self.ids: Ids = RandomIds()
        self._live = live
        self._locale = locale
        self._notify = notify
        self._progress = progress
        self._read_only = read_only
        self._to_close: WeakSet[Closes] = WeakSet()

    def close_with(self, part: Closes) -> None:
        """Close that part, too, when the process ends."""
        self._to_close.add(part)

    def close(self) -> None:
        """Release the connections and threads of the parts that were made."""
        for part in self._to_close:
            part.close()
        for name in ("tracing", "mcp_connections", "views", "log"):
            if (made := self.__dict__.get(name)) is not None:
                made.close()

    @cached_property
    def log(self) -> EventLog:
        """The event log."""
        from hermes_jobs.kernel.log.factory import open_log, sqlite_url

        paths = self._settings.paths
        return open_log(
            self._settings.log_url or sqlite_url(paths.events_db),
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
        paths, url = self._settings.paths, self._settings.log_url
        folder = (folder_of(url) if url else None) or paths.home
        return open_blobs(self.log, folder / paths.attachments.name)

    def attached_content(self, digest: str) -> bytes | None:
        """The bytes of an attachment; None where they are lost, or not what was stored."""
        try:
            return self.blobs.get(digest)
        except Corrupt as error:
            logger.warning("an attachment is left out: %s", error)
            return None

    @cached_property
    def views(self) -> Views:
        """The read models, current at every read."""
        from hermes_jobs.kernel.views.views import Views

        return Views(self.log, self._settings.paths.views, self._notify, self._document, self._progress)

    def _document(self, digest: str) -> str | None:
        """The text of an attached document; None where it is lost."""
        content = self.attached_content(digest)
        return None if content is None else content.decode("utf-8", "replace")

    @cached_property
    def results(self) -> ResultFiles:
        """Large tool results as files."""
        from hermes_jobs.kernel.views.result_files import ResultFiles

        return ResultFiles(
            self.log,
            self.views,
            self._settings.paths.results,
            lambda name: self.blobs.get(name),  # noqa: PLW0108 - opened when needed
        )

    @cached_property
    def processes(self) -> BackgroundProcesses:
        """The background processes of this home on this host."""
        from hermes_jobs.tools.background import BackgroundProcesses

        return BackgroundProcesses(self._settings.paths.processes, self.clock.now)

    @cached_property
    def process_endings(self) -> ProcessEndings:
        """Ends background processes whose session or turn has ended."""
        from hermes_jobs.tools.process_endings import ProcessEndings

        return ProcessEndings(self._settings.paths.processes, lambda: self.processes, self.clock)

    @cached_property
    def memory(self) -> SyncedMemory:
        """The memory between sessions, with its files in the home."""
        from hermes_jobs.features.memory.memory_files import SyncedMemory

        paths = self._settings.paths
        return SyncedMemory(self.engine(), paths.memories, paths.run / "memory.lock", paths.run / "shown")

    @cached_property
    def mcp_connections(self) -> Servers:
        """The MCP servers that this process holds."""
        from hermes_jobs.features.mcp.servers import Servers

        return Servers(self._settings.paths.run / "mcp")

    @cached_property
    def tracing(self) -> Tracing | None:
        """The exporter of traces; None where none is configured."""
        made = (create(self._settings, self.log, self.environ) for create in parts("tracing"))
        return next(made, None)

    @cached_property
    def workers(self) -> HomeWorkers:
        """The processes that work on this log, and the leases of this one."""
        from hermes_jobs.bootstrap.workers import HomeWorkers

        return HomeWorkers(self._settings, log=self.log, live=self._live, ids=self.ids, locale=self._locale)

    # --- engines --------------------------------------------------------------------------------

    @cached_property
    def deciding(self) -> Engine:
        """The engine of parts that decide."""
        return self.engine()

    def engine(
        self,
        worker: str = "cli",
        dispatcher: Dispatcher | None = None,
        parts_of_turns: PartsOfTurns | None = None,
        *,
        file_sync: FileSync | None = None,
    ) -> Engine:
        """The engine of the worker with that id. Without a dispatcher it decides, and never runs steps."""
        from hermes_jobs.kernel.engine.engine import NO_PARTS, Engine

        _ = self.tracing  # made here, before there are threads that would make one each
        return Engine(
            log=self.log,
            worker=worker,
            clock=self.clock,
            ids=self.ids,
            dispatcher=dispatcher or NullDispatcher(),
            parts=parts_of_turns or NO_PARTS,
            file_sync=file_sync,
            append_hook=self._append_hook,
        )

    def engine_over(self, log: EventLog, worker: str) -> Engine:
        """An engine that only decides, over another log, such as one transaction of this one."""
        from hermes_jobs.kernel.engine.engine import Engine

        return Engine(log=log, worker=worker, clock=self.clock, ids=self.ids, dispatcher=NullDispatcher())

    def _append_hook(self, before: StreamState, events: Sequence[Event], after: StreamState) -> None:
        """Pass appended events to the traces, and end processes of ended sessions. See `AppendHook`."""
        self.process_endings.follow(events, getattr(after, "lineage", ""))
        if self.tracing is not None:
            self.tracing.on_append(before, events, after)
