"""Workers in one process whose threads run one at a time, from gate to gate, as a test lets them.

A gate stands before and after every append and inside every act (model call, tool run). At a gate a thread
can be let on, left standing (a frozen worker) or killed: it then unwinds without touching anything.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.features.ensembles.steps.ask_member import AskMember
from hermes_jobs.features.ensembles.steps.member_request import MemberRequests
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import (
    CallModel,
    Prefetch,
    RecordUsage,
    RequestBuilder,
    RunTool,
    TurnLimits,
)
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    ConfiguredModel,
    Ensemble,
    ModelError,
    ModelRequest,
    Preflight,
    Reply,
    StepHandler,
    ToolContext,
    ToolOutcome,
    ToolSpec,
    Verdict,
    same_for_all,
)
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.events import Effect, PlannedCall, SessionStarted
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import Append, EventLog, WorkerRow
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.commands import ChildPlan, StartChildren
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step, StepKind

NO_HANDLERS: Mapping[StepKind, StepHandler] = {}
DEPTH = 2
LIMITS = TurnLimits(max_iterations=3, max_tokens=None, approval_seconds=60)


PANEL = Ensemble(name="panel", members=("x", "y"), aggregator="m")


class Killed(BaseException):
    """Raised at a gate in a thread whose worker dies there."""


class GatedThread:
    """One thread that stops at gates until it is let on."""

    def __init__(self, body: Callable[[], object]) -> None:
        self._body = body
        self._let_on = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._killed = False
        self._word: Any = None
        self.at: str | None = "start"
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._let_on.acquire()
            if not self._killed:
                self._body()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the test's thread by `go`
            self.error = error
        finally:
            self.at = None
            self._stopped.release()

    def gate(self, name: str) -> Any:
        """Called by the thread: stop here; the word that it was let on with."""
        self.at = name
        self._stopped.release()
        self._let_on.acquire()
        if self._killed:
            raise Killed
        return self._word

    def go(self, word: Any = None) -> None:
        """Called by the test: let the thread run to its next gate or its end."""
        self._word = word
        self._let_on.release()
        self._stopped.acquire()
        if self.error is not None:
            raise self.error

    def kill(self) -> None:
        self._killed = True
        self.go()


class Gates:
    """Finds the gate of whichever gated thread is calling; other threads pass."""

    def __init__(self) -> None:
        self._local = threading.local()

    def start(self, body: Callable[[], object]) -> GatedThread:
        thread: GatedThread

        def entered() -> object:
            self._local.thread = thread
            return body()

        thread = GatedThread(entered)
        return thread

    def stop_at(self, name: str) -> Any:
        thread = getattr(self._local, "thread", None)
        return None if thread is None else thread.gate(name)


AWAY = "away"
"""The word at a gate of the log: the append fails, with its events recorded or without."""


class GatedLog:
    """A log with a gate before and after every append; all else goes straight through."""

    def __init__(self, log: EventLog, gates: Gates) -> None:
        self._log = log
        self._gates = gates

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        self._pass("before append")
        recorded = self._log.append(change)
        self._pass("after append")
        return recorded

    def _pass(self, gate: str) -> None:
        if self._gates.stop_at(gate) == AWAY:
            raise LogUnavailable("The log is away.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class Outage:
    """A log that fails at one append, counted from 1, and has recorded it or not."""

    def __init__(self, log: EventLog, at: int, *, recorded: bool) -> None:
        self._log = log
        self._left = at
        self._recorded = recorded

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        self._left -= 1
        if self._left:
            return self._log.append(change)
        if self._recorded:
            self._log.append(change)
        raise LogUnavailable("The log is away.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class ShiftedClock:
    """A worker's clock, wrong by `offset` seconds."""

    def __init__(self, true: Callable[[], float]) -> None:
        self._true = true
        self.offset = 0.0

    def now(self) -> float:
        return self._true() + self.offset

    def monotonic(self) -> float:
        return self._true()


class CountedIds:
    """Names and fences by counting."""

    def __init__(self) -> None:
        self._next = 0

    def name(self, prefix: str) -> str:
        self._next += 1
        return f"{prefix}{self._next:06}"

    def fence(self) -> int:
        self._next += 1
        return self._next

    def fraction(self) -> float:
        return 0.5


class SimulatedModel:
    """Says what the gate's word says: tool names to call, `fail`, `garbage` to give up on, else an answer."""

    def __init__(self, gates: Gates, requests: list[ModelRequest]) -> None:
        self._gates = gates
        self._requests = requests

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        self._requests.append(request)
        number = len(self._requests)
        word = self._gates.stop_at("model") or "answer"
        word = "answer" if word == AWAY else word
        if cancel.reason is not None:
            raise ModelError("cancelled", "cancelled")
        if word in {"fail", "garbage"}:
            raise ModelError("server", "it broke", retryable=word == "fail")
        calls = (
            tuple(ToolCall(f"p{at}", name, "{}") for at, name in enumerate(word)) if word != "answer" else ()
        )
        usage = Usage(input_tokens=7, output_tokens=number)  # so that all can be told apart
        return Reply(content="" if calls else "done", tool_calls=calls, usage=usage, model="m")


class SimulatedToolbox:
    """Tools named by their effect; those that begin with `ask` want an approval. Counts effects.

    `delegate` starts two children and waits for them, `delegate-on` does not wait; two levels deep at most.
    """

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self.effects: Counter[str] = Counter()
        self.toolsets: tuple[str, ...] = ()

    def of(self, session: Session) -> SimulatedToolbox:
        return self

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        return ()

    def toolsets_on(self, toolsets: Sequence[str] | None) -> tuple[str, ...]:
        return self.toolsets

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        return tuple(
            PlannedCall(
                call=f"{call_prefix}-{at}",
                effect=_effect(call.name),
                after=(f"{call_prefix}-{at - 1}",) if call.name.endswith("after") and at else (),
            )
            for at, call in enumerate(calls)
        )

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        return Verdict("ask" if call.name.startswith("ask") else "allow", "asks")

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        if call.name.startswith("delegate") and context.depth < DEPTH:
            self._gates.stop_at("before it delegates")
            return ToolOutcome(content="", delegated=two_children(context, waits=call.name == "delegate"))
        if cancel.reason is None:
            self._gates.stop_at("tool before its effect")
            self.effects[context.call] += 1
            self._gates.stop_at("tool after its effect")
        if cancel.reason is not None:
            return ToolOutcome(content="", interrupted=True)
        return ToolOutcome(content="ok")


def two_children(context: ToolContext, *, waits: bool) -> StartChildren:
    plans = (
        ChildPlan(
            session=f"{context.call}c{number}", turn=f"{context.call}c{number}t", text="do it", goal="it"
        )
        for number in range(2)
    )
    return StartChildren(step=context.call, children=tuple(plans), waits=waits, per_root=2, per_home=3)


def _effect(name: str) -> Effect:
    if "write" in name:
        return "write"
    return "idempotent" if "idempotent" in name else "read"


class PlainPrompt:
    """A prompt of one line."""

    def start(self, session: Session) -> SessionStarted:
        return SessionStarted(
            session=session.id,
            kind=session.opening.kind if session.opening else "conversation",
            source="cli",
            model="m",
            system_prompt="Help.",
            workdir="/",
        )


class NoPrices:
    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return None


class Wakes:
    """A carrier that only collects: the test delivers, doubles, reorders or drops."""

    def __init__(self) -> None:
        self.waiting: list[Step] = []

    def dispatch(self, steps: Sequence[Step]) -> None:
        self.waiting.extend(steps)


class KnownDead:
    """An observer that believes what the test tells it."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def dead(self, workers: Sequence[WorkerRow], owners: Collection[str]) -> set[str]:
        return self.ids & set(owners)


def _retry(kind: str, retries: int, retry_after: float | None, fraction: float) -> float | None:
    return 5.0 if retries < 2 else None


def simulated_engine(  # noqa: PLR0917 - what a simulated process consists of
    log: EventLog,
    worker: str,
    clock: ShiftedClock,
    ids: CountedIds,
    wakes: Wakes,
    gates: Gates,
    tools: SimulatedToolbox,
    requests: list[ModelRequest],
    preflight: Preflight | None = None,
    more: Mapping[StepKind, StepHandler] = NO_HANDLERS,
) -> Engine:
    """An engine over the log whose every append and act is a gate; `more` perform other kinds of steps."""
    models = same_for_all(ConfiguredModel(model=SimulatedModel(gates, requests), pricing=NoPrices()))
    return Engine(
        log=GatedLog(log, gates),  # delegates the rest by name
        worker=worker,
        clock=clock,
        ids=ids,
        dispatcher=wakes,
        parts=StepParts(
            preflight=preflight,
            handlers={
                **more,
                "turn.prefetch": Prefetch(
                    PlainPrompt(), LIMITS, ensemble_of={PANEL.name: PANEL}.get, clock=clock, ids=ids
                ),
                "turn.reference": AskMember(
                    models=models,
                    requests=MemberRequests(
                        RequestBuilder(tools, LIMITS), LIMITS, lambda model: 100_000, lambda request: 1
                    ),
                    retries=Retries(_retry, clock, ids),
                ),
                "turn.call_model": CallModel(
                    models=models,
                    toolbox=tools,
                    retry=_retry,
                    clock=clock,
                    ids=ids,
                    limits=LIMITS,
                    on_delta=lambda piece: None,
                ),
                "turn.run_tool": RunTool(tools),
                "turn.record_usage": RecordUsage(),
            },
        ),
    )
