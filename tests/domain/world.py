"""A session driven by hand: commands in, facts and due steps out, with the invariants checked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step, next_steps

USAGE = Usage(input_tokens=10, output_tokens=5)
STARTED = e.SessionStarted(
    session="s1", kind="conversation", source="cli", model="m", system_prompt="You help.", workdir="/w"
)


class World:
    """One session and its whole history."""

    def __init__(
        self, session: Session | None = None, *, max_iterations: int = 15, max_refusals: int = 0
    ) -> None:
        self.session = session or Session(stream="session-s1")
        self.facts: list[e.SessionEvent] = []
        self.requests: list[tuple[Message, ...]] = []
        self.max_iterations = max_iterations
        self.max_refusals = max_refusals
        self._numbers = count(1)

    def do(self, command: c.SessionCommand) -> tuple[e.SessionEvent, ...]:
        """Decide, fold, remember."""
        facts = decide(command, self.session)
        for fact in facts:
            self.session = fold(self.session, [fact])
            if isinstance(fact, e.ModelCallStarted):
                self.requests.append(self.session.messages)
        self.facts.extend(facts)
        return facts

    def submit(self, text: str = "hello", *, if_busy: e.BusyPolicy = "queue", turn: str | None = None) -> str:
        """A new text; its turn's id."""
        turn = turn or f"t{next(self._numbers)}"
        self.do(
            c.SubmitTurn(e.TurnSubmitted(turn=turn, session="s1", text=text, source="cli", if_busy=if_busy))
        )
        return turn

    @property
    def due(self) -> tuple[Step, ...]:
        return next_steps(self.session)

    def prefetch(self, *members: str) -> None:
        """Begin the turn; `members` answer before its first model call."""
        (step,) = self.due
        self.do(c.BeginStep(step=step.id))
        self.do(
            c.FinishPrefetch(
                step=step.id,
                prefetched=e.ContextPrefetched(
                    turn=step.id.split("-", 1)[0],
                    model="m",
                    max_iterations=self.max_iterations,
                    max_refusals=self.max_refusals,
                    ensemble="panel" if members else "",
                    members=members,
                ),
                started=STARTED,
            )
        )

    def finish_reference(
        self, step: Step, content: str = "", *, kind: str = "server", retry_at: float | None = None
    ) -> tuple[e.SessionEvent, ...]:
        """The member's answer; without content its failure."""
        turn = self.session.current
        asked = turn.reference(step.id) if turn is not None else None
        assert asked is not None, f"{step.id} is not a reference"
        outcome: e.ReferenceReplied | e.ReferenceFailed = e.ReferenceFailed(
            turn=turn_of(step),
            step=step.id,
            attempt=step.attempt,
            member=asked.model,
            kind=kind,
            message="it broke",
            retry_at=retry_at,
            model=asked.model,
        )
        if content:
            outcome = e.ReferenceReplied(
                turn=turn_of(step),
                step=step.id,
                attempt=step.attempt,
                member=asked.model,
                content=content,
                model=asked.model,
                finish_reason="stop",
                usage=USAGE,
                cost_usd=0.001,
            )
        return self.do(c.FinishReference(step=step.id, outcome=outcome))

    def begin(self, step: Step | None = None) -> Step:
        """Claim a step (the only one due, unless named)."""
        if step is None:
            (step,) = self.due
        self.do(c.BeginStep(step=step.id))
        return step

    def reply(
        self,
        content: str = "",
        calls: Sequence[tuple[str, e.Effect]] = (),
        *,
        finish_reason: str = "stop",
        stalled: bool = False,
    ) -> None:
        """Begin the due model call and answer it. `calls`: tool names with their effect classes."""
        step = self.begin()
        self.finish_call(step, content, calls, finish_reason=finish_reason, stalled=stalled)

    def finish_call(
        self,
        step: Step,
        content: str = "",
        calls: Sequence[tuple[str, e.Effect]] = (),
        *,
        finish_reason: str = "stop",
        stalled: bool = False,
    ) -> None:
        replied = e.ModelReplied(
            turn=turn_of(step),
            step=step.id,
            content=content,
            model="m",
            finish_reason=finish_reason,
            stalled=stalled,
            tool_calls=tuple(ToolCall(f"p{i}-{step.id}", name, "{}") for i, (name, _) in enumerate(calls)),
            plan=tuple(
                e.PlannedCall(call=f"{step.id}-{i}", effect=effect) for i, (_, effect) in enumerate(calls)
            ),
            usage=USAGE,
            cost_usd=0.001,
        )
        self.do(c.FinishModelCall(step=step.id, outcome=replied))

    def fail_call(
        self,
        step: Step,
        *,
        kind: str = "server",
        retry_at: float | None = None,
        quota_until: float | None = None,
        fallback: str = "",
        content: str = "",
    ) -> None:
        failed = e.ModelCallFailed(
            turn=turn_of(step),
            step=step.id,
            attempt=step.attempt,
            kind=kind,
            message="it broke",
            retry_at=retry_at,
            model="m",
            quota_until=quota_until,
            fallback=fallback,
            content=content,
        )
        self.do(c.FinishModelCall(step=step.id, outcome=failed))

    def finish_tool(self, step: Step, content: str = "ok", *, ok: bool = True, invalid: bool = False) -> None:
        finished = e.ToolFinished(
            turn=turn_of(step), call=step.id, ok=ok, content=content, attempt=step.attempt, invalid=invalid
        )
        self.do(c.FinishToolCall(step=step.id, outcome=finished))

    def interrupt_tool(self, step: Step) -> None:
        interrupted = e.ToolInterrupted(
            turn=turn_of(step), call=step.id, reason="cancelled", attempt=step.attempt
        )
        self.do(c.FinishToolCall(step=step.id, outcome=interrupted))

    def record(self) -> None:
        step = self.begin()
        self.do(c.FinishTurn(step=step.id))

    def answer(self, content: str = "done") -> None:
        """Prefetch where due, then a final reply, then the record."""
        if self.due[0].kind == "turn.prefetch":
            self.prefetch()
        self.reply(content)
        self.record()

    def of(self, kind: type[e.Event]) -> list[e.Event]:
        """All facts of a type."""
        return [fact for fact in self.facts if isinstance(fact, kind)]


def turn_of(step: Step) -> str:
    return step.id.split("-", 1)[0]


def complaints(messages: Sequence[Message]) -> list[str]:
    """What a strict provider would refuse in a request's messages."""
    found = []
    open_calls: list[str] = []
    previous: Message | None = None
    for at, message in enumerate(messages):
        match message:
            case ToolMessage():
                if message.tool_call not in open_calls:
                    found.append(f"{at}: a result without its call")
                else:
                    open_calls.remove(message.tool_call)
            case UserMessage() | AssistantMessage():
                if open_calls:
                    found.append(f"{at}: calls {open_calls} have no result")
                if type(previous) is type(message):
                    found.append(f"{at}: two {type(message).__name__} in a row")
                if isinstance(message, AssistantMessage):
                    open_calls = [call.id for call in message.tool_calls]
        previous = message
    if open_calls:
        found.append(f"calls {open_calls} have no result")
    if messages and not isinstance(messages[0], UserMessage):
        found.append("it does not begin with the user")
    if messages and isinstance(messages[-1], AssistantMessage):
        found.append("it does not end with the user or a tool")
    return found
