"""The parts that steps run with: made from the current settings files, and from the turn's own settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hermes_jobs.bootstrap.workers import meets, of_tools, statuses
from hermes_jobs.settings.turn_settings import applied, available_digests, salt_of

if TYPE_CHECKING:
    from hermes_jobs.kernel.engine.step_parts import Admission, StepParts
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.kernel.turns.steps import Step
    from hermes_jobs.kernel.turns.turn import Turn
    from hermes_jobs.settings import LiveSettings, Settings
    from hermes_jobs.system.clock import Clock

CACHED_SETTINGS = 32  # different settings of turns whose parts a process caches
GRACE = 5.0  # seconds in which the process that sent a turn may register, or be registered again


class SettingsOfTurns:
    """The `PartsOfTurns` of a process; `make` gives the parts under some settings.

    Parts are made once for each content of the files, and for each kind of turns' settings over it.
    """

    def __init__(
        self, live: LiveSettings, log: EventLog, clock: Clock, make: Callable[[Settings], StepParts]
    ) -> None:
        self._live = live
        self._log = log
        self._clock = clock
        self._make = make
        self._lock = threading.RLock()
        self._settings = live.current()
        self._parts: dict[bytes, StepParts] = {}
        self._has: Mapping[str, str] | None = None
        self._missing: dict[tuple[str, int], float] = {}

    def of(self, turn: Turn | None) -> StepParts:
        """See `PartsOfTurns.of`."""
        values: Mapping[str, Any] = turn.settings if turn is not None else {}
        key = msgspec.json.encode(values, order="deterministic") if values else b""
        with self._lock:
            self._reread()
            parts = self._parts.get(key)
            if parts is None:
                if len(self._parts) >= CACHED_SETTINGS:
                    self._parts = {}
                parts = self._parts[key] = self._made(values)
            return parts

    def admission(self, turn: Turn, step: Step) -> Admission:
        """See `PartsOfTurns.admission`."""
        requires = of_tools(turn.requires) if step.operation == "turn.run_tool" else turn.requires
        with self._lock:
            self._reread()
            if self._has is None:
                self._has = available_digests(self._settings, self._log.log_id)
            salt = salt_of(requires, self._log.log_id)
            if meets(
                requires, self._has if salt == self._log.log_id else available_digests(self._settings, salt)
            ):
                return "here"
            now = self._clock.monotonic()
            which = (turn.id, turn.times_resumed)
            since = self._missing.pop(which, now)
            if any(status.meets(requires) for status in statuses(self._log).values()):
                return "other_worker"
            if now - since >= GRACE:
                return "no_worker"
            self._missing[which] = since
            return "other_worker"

    def is_elsewhere(self, secret: str | None) -> bool:
        """See `PartsOfTurns.is_elsewhere`."""
        if secret is None:
            return False
        with self._lock:
            self._reread()
            if self._settings.secrets.get(secret) is not None:
                return False
        return any(secret in status.has for status in statuses(self._log).values())

    def _reread(self) -> None:
        """Forget what was made of settings that no longer hold."""
        settings = self._live.current()
        if settings is not self._settings:
            self._settings, self._parts, self._has = settings, {}, None

    def _made(self, values: Mapping[str, Any]) -> StepParts:
        if not values:
            return self._make(self._settings)
        settings = applied(self._settings, values)
        return self.of(None) if settings.same_values(self._settings) else self._make(settings)
