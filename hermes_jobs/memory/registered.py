"""One provider in one process: an instance for each session in use, and every call to it contained."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from hermes_jobs.engine.ports import Clock
from hermes_jobs.memory.contained import within
from hermes_jobs.memory.provider import Factory, MemoryProvider, ProviderSession, Setup

logger = logging.getLogger(__name__)

T = TypeVar("T")
SESSIONS = 64  # instances that are kept; the one that was used longest ago is shut down first
WAITING = 16  # lessons that may wait in a session; more are left out
FAILURES = 3  # in a row, after which the provider is left alone for a while
REST = 60.0  # seconds


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that a call to a provider may take. `learn` is that of what happens after a turn."""

    ask: float = 3.0
    begin: float = 8.0
    tool: float = 30.0
    learn: float = 30.0
    end: float = 5.0


class _Lesson(NamedTuple):
    """What is to be learned; `learned` is set when that is over, however it ended."""

    what: str
    act: Callable[[MemoryProvider], object]
    learned: threading.Event


class _Lane:
    """What one session has of a provider: its instance, once it was needed, and what it has to learn."""

    def __init__(self, session: ProviderSession) -> None:
        self.session = session
        self.provider: MemoryProvider | None = None
        self.beginning = threading.Lock()
        self.lessons: deque[_Lesson] = deque()
        self.learner: threading.Thread | None = None


class Registered:
    """A provider by name. No method raises; none takes longer than its limit."""

    def __init__(
        self,
        name: str,
        factory: Factory,
        setup: Setup,
        clock: Clock,
        limits: TimeLimits,
        redact: Callable[[str], str],
    ) -> None:
        self.name = name
        self._factory = factory
        self._setup = setup
        self._clock = clock
        self._limits = limits
        self._redact = redact
        self._lock = threading.Lock()
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        self._failures = 0
        self._rests_until = float("-inf")

    def probe(self, what: str, act: Callable[[MemoryProvider], T], otherwise: T) -> T:
        """Ask an instance that belongs to no session."""
        return self._contained(what, lambda: act(self._factory(self._setup)), self._limits.begin, otherwise)

    def ask(self, session: ProviderSession, what: str, act: Callable[[MemoryProvider], T], otherwise: T) -> T:
        """Ask the session's instance; `otherwise` where it fails, is too slow, or rests."""
        provider = self._provider(self._lane(session))
        if provider is None:
            return otherwise
        return self._contained(what, lambda: act(provider), self._limits.ask, otherwise)

    def call_tool(self, session: ProviderSession, name: str, arguments: dict[str, Any]) -> str:
        """Run one of its tools. Raises what the tool raises: that is for the model to know."""
        provider = self._provider(self._lane(session))
        if provider is None:
            raise RuntimeError(f"the memory provider {self.name} does not answer")
        return within(self._limits.tool, lambda: provider.handle_tool_call(name, arguments))

    def learn(
        self,
        session: ProviderSession,
        what: str,
        act: Callable[[MemoryProvider], object],
        *,
        wait: bool = False,
    ) -> None:
        """Let the session's instance learn something, behind everybody's back and in order.

        `wait` until it has, though no longer than a lesson may take.
        """
        lane = self._lane(session)
        learned = threading.Event()
        with self._lock:
            if len(lane.lessons) >= WAITING:
                logger.warning("memory provider %s: %s is left out, it is too slow", self.name, what)
                return
            lane.lessons.append(_Lesson(what, act, learned))
            if lane.learner is None:
                lane.learner = threading.Thread(
                    target=self._learn, args=(lane,), name=f"memory-{self.name}", daemon=True
                )
                lane.learner.start()
        if wait and not learned.wait(self._limits.learn):
            logger.warning("memory provider %s: %s takes too long, nobody waits for it", self.name, what)

    def switch(self, before: str, after: ProviderSession) -> bool:
        """What was the session's of that id is the other's; whether there was anything."""
        with self._lock:
            lane = self._lanes.pop(before, None)
            if lane is None:
                return False
            lane.session = after
            self._lanes[after.id] = lane
            return True

    def end(self, session: ProviderSession) -> None:
        """Shut the session's instance down."""
        with self._lock:
            lane = self._lanes.pop(session.id, None)
        if lane is not None:
            self._shut(lane)

    def close(self) -> None:
        """Wait a little for what is still being learned, then shut everything down."""
        give_up = self._clock.monotonic() + self._limits.end
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            learner = lane.learner
            if learner is not None:
                learner.join(max(give_up - self._clock.monotonic(), 0))
        with self._lock:
            self._lanes.clear()
        for lane in lanes:
            self._shut(lane)

    # --- within ---------------------------------------------------------------------------------

    def _lane(self, session: ProviderSession) -> _Lane:
        gone = []
        with self._lock:
            lane = self._lanes.setdefault(session.id, _Lane(session))
            self._lanes.move_to_end(session.id)
            if len(self._lanes) > SESSIONS:
                idle = next((each for each in self._lanes.values() if each.learner is None), lane)
                if idle is not lane:
                    gone.append(self._lanes.pop(idle.session.id))
        for each in gone:
            self._shut(each)
        return lane

    def _provider(self, lane: _Lane) -> MemoryProvider | None:
        """The lane's instance, initialised; null where it cannot be, or rests."""
        if self._clock.monotonic() < self._rests_until:
            return None
        with lane.beginning:
            if lane.provider is None:
                lane.provider = self._contained(
                    "initialize", lambda: self._begun(lane.session), self._limits.begin, None
                )
            return lane.provider

    def _begun(self, session: ProviderSession) -> MemoryProvider:
        provider = self._factory(self._setup)
        provider.initialize(session)
        return provider

    def _learn(self, lane: _Lane) -> None:
        while True:
            with self._lock:
                if not lane.lessons:
                    lane.learner = None
                    return
                lesson = lane.lessons.popleft()
            provider = self._provider(lane)
            if provider is not None:
                self._contained(lesson.what, partial(lesson.act, provider), self._limits.learn, None)
            lesson.learned.set()

    def _shut(self, lane: _Lane) -> None:
        with lane.beginning:
            provider, lane.provider = lane.provider, None
        if provider is not None:
            self._contained("shutdown", provider.shutdown, self._limits.end, None)

    def _contained(self, what: str, act: Callable[[], T], seconds: float, otherwise: T) -> T:
        try:
            result = within(seconds, act)
        except Exception as error:  # noqa: BLE001 - whatever others' code raises
            said = self._redact(f"{type(error).__name__}: {error}")
            logger.warning("memory provider %s: %s failed: %s", self.name, what, said)
            self._failed()
            return otherwise
        self._failures = 0
        return result

    def _failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= FAILURES:
                self._failures = FAILURES - 1  # after the rest one more is enough
                self._rests_until = self._clock.monotonic() + REST
                logger.warning("memory provider %s is left alone for %g s", self.name, REST)
