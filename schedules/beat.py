"""The scheduler, Celery beat without entries: sends messages for due times, which are in the log.

Any number may run, and be killed: each due time is decided once, against the schedule's stream. The workers'
relay sends expired timers too, so a missing scheduler costs a second at most.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
from celery.beat import Scheduler, Service

from hermes_jobs.bootstrap import Application
from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.log.outage import LogOutage
from hermes_jobs.kernel.turns.steps import Queue, Step
from hermes_jobs.runtime.worker_lease import WorkerLease
from hermes_jobs.system.clock import Clock
from workers.app import make_app
from workers.dispatch import CeleryDispatcher

logger = logging.getLogger(__name__)

QUEUE: Queue = "schedules"
POLL_SECONDS = 1.0  # seconds between polls of the log while a time is due
IDLE_SECONDS = 2.0  # the same while none is: another process may have added a schedule
LONGEST = 30.0  # longest interval in seconds between two messages for an unclaimed step


class StepSender(Protocol):
    """Sends messages for steps."""

    def send_again(self, steps: Sequence[Step]) -> bool:
        """Send steps, each under a new task id; returns whether the broker accepted them."""


class _Sent(msgspec.Struct):
    """When a step is sent again, in monotonic seconds, and the interval after it."""

    at: float
    wait: float = POLL_SECONDS


class DuePoller:
    """Sends a message at each due time, and again at growing intervals while the step is unclaimed."""

    def __init__(self, log: EventLog, clock: Clock, sender: StepSender) -> None:
        self._log = log
        self._clock = clock
        self._sender = sender
        self._sent: dict[Step, _Sent] = {}

    def poll(self) -> float:
        """Send the messages that are due; returns seconds until the next poll. Raises `LogUnavailable`."""
        now = self._clock.monotonic()
        wall = self._clock.now()
        due = [row.step for row in self._log.due(wall, queue=QUEUE)]
        self._sent = {step: self._sent.get(step) or _Sent(now) for step in due}
        late = [step for step in due if self._sent[step].at <= now]
        if late and self._sender.send_again(late):
            logger.info("due: %s", ", ".join(step.id for step in late))
            for step in late:
                sent = self._sent[step]
                sent.at, sent.wait = now + sent.wait, min(sent.wait * 2, LONGEST)
        next_due = self._log.next_due_at(queue=QUEUE)
        if next_due is None:
            return IDLE_SECONDS
        return POLL_SECONDS if next_due <= wall else min(IDLE_SECONDS, next_due - wall)


class LogScheduler(Scheduler):
    """Celery beat's scheduler: `look` polls, and returns when to poll again."""

    def __init__(self, poll: Callable[[], float], **options: Any) -> None:
        self._poll = poll
        super().__init__(**options)

    def setup_schedule(self) -> None:
        """No entries, not even Celery's own."""

    def tick(self, *_event: Any, **_helpers: Any) -> float:
        """Poll; returns seconds to sleep."""
        return self._poll()


def run(application: Application, broker_url: str) -> int:
    """Run the scheduler until a stop signal; returns the exit code. Call it from the main thread.

    Raises `LogUnavailable` where the log cannot be reached at the start.
    """
    app = make_app(broker_url, prefix=f"{application.log.log_id}.")
    waking = DuePoller(application.log, application.clock, CeleryDispatcher(app, application.ids))
    lease = WorkerLease(application.engine("beat"), lambda: application.workers.lease("beat"))

    outage = LogOutage(logger)

    def poll() -> float:
        try:
            lease.ensure()
            pause = waking.poll()
        except LogUnavailable as error:
            outage.begins(error)
            return POLL_SECONDS
        outage.ends()
        return pause

    service = Service(
        app, max_interval=IDLE_SECONDS, scheduler_cls=lambda **options: LogScheduler(poll, **options)
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # by nohup
            signal.signal(number, _leave)
    lease.start()
    try:
        service.start()  # ends when a signal handler raises
    finally:
        _sign_off(lease)
    return 0


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(0)


def _sign_off(lease: WorkerLease) -> None:
    try:
        lease.close()
    except LogUnavailable:
        logger.warning("the log is unreachable: this scheduler could not sign off")
