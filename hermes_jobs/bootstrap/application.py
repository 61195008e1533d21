"""`Application`: one home and its log, the parts that work on them, and the steps that use these.

Adapters are imported on first use: a command that only reads the log loads no model client.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_jobs.bootstrap.agent_parts import AgentParts
from hermes_jobs.bootstrap.shared_parts import SharedParts
from hermes_jobs.errors import HermesJobsError, LogUnavailable, Rejected
from hermes_jobs.kernel.engine.ports import Dispatcher
from hermes_jobs.kernel.live import OnDelta, ignore_delta
from hermes_jobs.settings import LiveSettings, Settings, ensure_home
from hermes_jobs.system.bytecode_file import BytecodeFile
from hermes_jobs.system.clock import Clock, SystemClock
from hermes_jobs.system.isolation import refuse_inside_tool
from hermes_jobs.text.scan import kept

if TYPE_CHECKING:
    from hermes_jobs.bootstrap.step_handlers import StepHandlers
    from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.ports import ModelRequest
    from hermes_jobs.kernel.engine.step_parts import StepParts
    from hermes_jobs.kernel.turns.session import Session
    from hermes_jobs.kernel.turns.turn import Turn
    from hermes_jobs.kernel.views.store import OnProgress
    from hermes_jobs.settings.person_locale import PersonLocale
    from hermes_jobs.settings.turn_settings import TurnSettings

logger = logging.getLogger(__name__)


def _derived() -> tuple[dict[str, object], set[kept.Key]]:
    """What the scan of texts derives from its tables; imported only after an update."""
    from hermes_jobs.text.scan.derived import derived

    return derived()


class Application(AgentParts):
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
        self.live = LiveSettings(settings, environ)
        shared = SharedParts(
            settings,
            environ,
            clock=clock or SystemClock(),
            live=self.live,
            locale=lambda: self._latest._locale,  # noqa: SLF001 - it is one of these
            notify=notify,
            progress=progress,
            read_only=read_only,
        )
        super().__init__(settings, shared)
        self._latest = self
        self._lock = threading.Lock()

    def close(self) -> None:
        """Release connections and threads of the parts that were made."""
        self.shared.close()

    # --- settings -------------------------------------------------------------------------------

    def current(self) -> Application:
        """The same home under the current settings of its files; close this one only."""
        settings = self.live.current()
        with self._lock:
            if settings is not self._latest.settings:
                self._latest = self._latest.under(settings)
                self._latest.days = settings.zone
            return self._latest

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

    # --- engine --------------------------------------------------------------------------------

    def engine(
        self, worker: str = "cli", dispatcher: Dispatcher | None = None, *, on_delta: OnDelta = ignore_delta
    ) -> Engine:
        """The engine of the worker with that id; without a dispatcher one that decides and never runs
        steps."""
        if dispatcher is None:
            return self.shared.engine(worker)
        from hermes_jobs.bootstrap.turn_parts import SettingsOfTurns

        parts = SettingsOfTurns(
            self.live, self.log, self.clock, lambda settings: self._step_parts(settings, on_delta)
        )
        return self.shared.engine(worker, dispatcher, parts, file_sync=self._follow)

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
        from hermes_jobs.bootstrap.step_handlers import StepHandlers

        return StepHandlers(self, on_delta)

    def build_request(self, session: Session, turn: Turn, step: str = "") -> ModelRequest:
        """The request of the turn's next model call, or of its reference with that id, with the tools as they
        are now."""
        from hermes_jobs.settings.turn_settings import applied

        under = self.under(applied(self.settings, turn.settings)) if turn.settings else self
        handlers = under._handlers(ignore_delta)  # noqa: SLF001 - it is one of these
        return handlers.build_request(session, turn, step)

    @property
    def replayed_requests(self) -> ReplayedRequests:
        """The requests of recorded model calls, with the tools as they are now."""
        from hermes_jobs.features.replay.replayed_requests import ReplayedRequests

        handlers = self._handlers(ignore_delta)
        return ReplayedRequests(self.shared.deciding.sessions, handlers.build_request)

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

    def check(self, model: str | None = None) -> None:
        """Raise where a turn with that model (None: the configured one) could not run as configured.

        Raises `Misconfigured` where the budgets cannot limit it, or where no memory provider or context
        engine has the configured name; `Rejected`, kind `auth`, where the model's key is missing.
        """
        from hermes_jobs.settings.checks import check_choice

        self._check_plugins()
        try:
            check_choice(self.settings, self.settings.choice(model))
        except Rejected:
            if not self.workers.are_live():  # else their environment counts, not this process's
                raise
        self.check_budgets(model)

    def _check_plugins(self) -> None:
        """Raise `Misconfigured` where no memory provider or context engine has the configured name."""
        from hermes_jobs.features.compression.setup import BUILT_IN

        if self.settings.memory.provider is not None:
            from hermes_jobs.features.memory.provider_host import PROVIDERS

            PROVIDERS.check_name(self.settings.memory.provider, self.settings.paths.plugins)
        if self.settings.context.engine != BUILT_IN:
            _ = self.contexts

    def check_budgets(self, model: str | None = None) -> None:
        """Raise `Misconfigured` where the budgets cannot limit a turn with that model (None: the
        configured)."""
        from hermes_jobs.settings.checks import check_budgets

        def is_priced(name: str) -> bool:  # most configurations limit no money, and need no endpoints here
            return self.endpoints.by_name.is_priced(name)

        check_budgets(self.settings, model, is_priced)
