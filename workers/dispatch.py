"""Sends due steps as Celery messages, and keeps one turn one chain in Flower.

A message carries a step's id, and in a header its description for Flower. Its task id
begins with that of the step; a repeated message has `~n` after it, so that no two tasks share an id.

Many threads queue messages, one of them sends for all: a busy process sends in batches, and its threads do
not wait for the broker.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import msgspec
from celery import Celery, Task, signals
from celery.utils.nodenames import anon_nodename
from kombu import Producer
from kombu.exceptions import KombuError

from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.runtime.queues import QUEUES
from hermes_jobs.system.ids import Ids
from workers.description import Describe, Root, from_step, root_of_step

MAX_BATCH = 100


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A task's message: its queue, and its headers and body in Celery's protocol."""

    queue: str
    headers: Mapping[str, Any]
    properties: Mapping[str, Any]
    body: Sequence[Any]


class MessagePublisher:
    """One per process. Safe for many threads."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        connection = app.connection_for_write()
        self._failures = (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)
        self._waiting: deque[Message] = deque()
        self._sending = threading.Lock()
        self._producer: Producer | None = None
        self.problem = ""  # why the broker did not accept the newest messages, if it did not

    def put(self, messages: Iterable[Message]) -> None:
        """Queue messages to be sent soon, by this thread or another. Never raises: lost messages are resent
        from the log.
        """
        self._waiting.extend(messages)
        self._send_waiting()

    def send(self, messages: Sequence[Message]) -> bool:
        """Send messages, and those queued meanwhile; returns whether the broker accepted these."""
        with self._sending:
            sent = self._send(messages)
        if sent:
            self._send_waiting()
        return sent

    def _send_waiting(self) -> None:
        """Send the queued messages, unless another thread does."""
        while self._waiting and self._sending.acquire(blocking=False):
            try:
                self._send(self._taken())
            finally:
                self._sending.release()

    def _taken(self) -> list[Message]:
        """The first queued messages, removed from the queue."""
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH))]

    def probe(self) -> None:
        """Connect to the broker, to see whether it would accept messages; another thread may be sending."""
        try:
            with self._app.connection_for_write() as connection:
                connection.connect()
        except self._failures as error:
            self.problem = type(error).__name__
        else:
            self.problem = ""

    def _send(self, messages: Sequence[Message]) -> bool:
        # The first attempt may find a connection to a broker that was restarted since.
        was_connected = self._producer is not None
        publish = partial(self._publish, messages)
        return self._attempt(publish) or (was_connected and self._attempt(publish))

    def _attempt(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except self._failures as error:
            self._hang_up()
            self.problem = type(error).__name__
            return False
        self.problem = ""
        return True

    def _publish(self, messages: Sequence[Message]) -> None:
        if self._producer is None:
            self._producer = self._app.amqp.Producer(self._app.connection_for_write(), auto_declare=False)
        with self._producer.batch():
            for message in messages:
                self._producer.publish(
                    message.body,
                    exchange="",
                    routing_key=message.queue,
                    serializer="json",
                    headers=message.headers,
                    **message.properties,
                )

    def _hang_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.connection.collect()


FIRST_CALL = "1"
PARALLEL_OPERATIONS = frozenset({"turn.run_tool", "turn.reference"})
KWARGS = "kwargsrepr"
"""Celery's name for the text that Flower shows as a task's keyword arguments."""

Sending = Callable[[Step], AbstractContextManager[None]]


def no_context(_step: Step) -> AbstractContextManager[None]:
    """The default for `sending`: has no effect."""
    return nullcontext()


class CeleryDispatcher:
    """Sends steps to their queues. Never raises: the relay finds unsent steps in the log."""

    def __init__(self, app: Celery, ids: Ids, *, sending: Sending = no_context) -> None:
        """`sending` is entered while a step's message is made."""
        self._app = app
        self._ids = ids
        self._sending = sending
        self.describe: Describe = from_step
        self.root: Root = root_of_step
        self._outbox = MessagePublisher(app)
        self._origin = anon_nodename()
        self._here = threading.local()

    @contextmanager
    def task_context(self, task: Task) -> Iterator[None]:
        """While a task runs in this thread, the steps that it makes due are sent as its children."""
        self._here.task = task
        try:
            yield
        finally:
            self._here.task = None

    def dispatch(self, steps: Sequence[Step]) -> None:
        """Send steps that have just become due."""
        task = getattr(self._here, "task", None)
        chained = _next_in_chain(task)
        other_steps = [step for step in steps if step.id != chained]
        if not other_steps:
            return
        if task is not None and chained is not None:
            task.request.chain = None
        self._outbox.put(self._messages(other_steps))

    @property
    def problem(self) -> str:
        """Why the broker did not accept the newest messages; empty if it did."""
        return self._outbox.problem

    def probe(self) -> None:
        """See whether the broker would accept messages; `problem` has the result."""
        self._outbox.probe()

    def send(self, steps: Sequence[Step]) -> bool:
        """Send the first messages of steps; returns whether the broker accepted them."""
        return self._outbox.send(self._messages(steps))

    def send_again(self, steps: Sequence[Step]) -> bool:
        """Send steps again, each under a new task id, since the first message may be lost; returns whether
        the broker accepted them.
        """
        return self._outbox.send([self._message(step, again=True) for step in steps])

    def describe_next(self, task: Task, step: Step) -> None:
        """Add the current description to the message that Celery sends after the task."""
        if task.request.chain:
            task.request.chain[-1]["options"][KWARGS] = self.describe(step)

    def _messages(self, steps: Sequence[Step]) -> list[Message]:
        """The tool calls of one reply, and the members of one ensemble, as a group; a new turn's prefetch as
        a chain with its first model call.
        """
        beside = [step for step in steps if step.kind in PARALLEL_OPERATIONS]
        group = beside[0].id.rpartition("-")[0] if len(beside) > 1 else None
        grouped = [
            self._message(step, group_id=group, group_index=index) for index, step in enumerate(beside)
        ]
        return grouped + [
            self._message(step, chain=self._chain(step))
            for step in steps
            if step.kind not in PARALLEL_OPERATIONS
        ]

    def _chain(self, step: Step) -> list[Any] | None:
        if step.kind != "turn.prefetch" or step.attempt > 1:
            return None
        call = f"{_turn(step)}-{FIRST_CALL}"
        options = {
            "task_id": call,
            "queue": QUEUES["turn.call_model"],
            "root_id": self._root(step),
            "argsrepr": f"('{call}',)",
            KWARGS: self.describe(step),
        }
        return [self._app.signature("turn.call_model", args=(call,), immutable=True, options=options)]

    def _message(self, step: Step, *, again: bool = False, **linked: Any) -> Message:
        once_more = again or step.attempt > 1
        parent = getattr(self._here, "task", None)
        headers, properties, body, _ = self._app.amqp.as_task_v2(
            f"{step.id}~{self._ids.fence() % 1_000_000}" if once_more else step.id,
            step.kind,
            (step.id,),
            root_id=self._root(step),
            parent_id=None if parent is None else parent.request.id,
            ignore_result=True,
            origin=self._origin,
            argsrepr=f"('{step.id}',)",
            kwargsrepr=self.describe(step),
            **linked,
        )
        message = Message(queue=QUEUES[step.kind], headers=headers, properties=properties, body=body)
        with self._sending(step):
            _announce(message, step.kind)
        return message

    def _root(self, step: Step) -> str:
        """The task that the whole tree of a turn and its sub-agents began with."""
        return f"{self.root(step)}-prefetch"


def _announce(message: Message, task: str) -> None:
    """Send Celery's publish signals for a message; receivers may change its headers."""
    fields = {"headers": message.headers, "body": message.body, "exchange": "", "routing_key": message.queue}
    signals.before_task_publish.send(sender=task, properties=message.properties, **fields)
    signals.after_task_publish.send(sender=task, **fields)


def _turn(step: Step) -> str:
    return step.id.split("-", 1)[0]


def _next_in_chain(task: Task | None) -> str | None:
    """The step whose message Celery sends by itself when the task returns."""
    following = task.request.chain if task is not None else None
    return str(following[-1]["args"][0]) if following else None
