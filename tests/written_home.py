"""A home with a log that the test writes: decided events with the steps that follow, at fixed times."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import next_steps
from tests.home import Home


class WrittenHome(Home):
    """A home whose log the test writes itself, without a model or a worker."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})
        self.path.mkdir(mode=0o700, exist_ok=True)
        self._open = True
        self.recorded_at = "2026-11-21T12:00:00.000000Z"
        self.log = open_log(sqlite_url(self.path / "events.db"))

    def close(self) -> None:
        """Let go of the log, so that its file can be played with."""
        if self._open:
            self._open = False
            self.log.close()

    def session(self, name: str) -> Session:
        """The session as the log has it."""
        session = Session(stream=stream_of(name))
        return fold(session, (recorded.event for recorded in self.log.read(session.stream)))  # type: ignore[misc]

    def do(self, name: str, command: c.SessionCommand) -> None:
        """Decide and append, with the steps that follow."""
        before = self.session(name)
        facts = decide(command, before)
        after = fold(before, facts)
        gone = {step.id for step in next_steps(before)} - {step.id for step in next_steps(after)}
        write = StreamWrite(
            stream=before.stream,
            events=facts,
            expected=before.version,
            due=tuple(set(next_steps(after)) - set(next_steps(before))),
            dropped=tuple(gone),
        )
        self.log.append(Append(meta=EventMeta(worker="w1"), recorded_at=self.recorded_at, writes=(write,)))

    def submit(self, name: str, turn: str, text: str = "hello") -> None:
        self.do(name, c.SubmitTurn(e.TurnSubmitted(turn=turn, session=name, text=text, source="cli")))

    def prefetch(self, name: str, started: e.SessionStarted | None = None) -> None:
        """The due prefetch is done; `started` begins the session for those who need its prompt."""
        (step,) = next_steps(self.session(name))
        self.do(
            name,
            c.FinishPrefetch(
                step=step.id,
                prefetched=e.ContextPrefetched(turn=step.id.split("-", 1)[0], model="m", max_iterations=9),
                started=started,
            ),
        )

    def reply(
        self, name: str, content: str, *tools: str, approval: bool = False, cost_usd: float | None = 0.25
    ) -> None:
        """The due model call is begun and answered, with calls of these tools."""
        (step,) = next_steps(self.session(name))
        turn = step.id.split("-", 1)[0]
        self.do(name, c.BeginStep(step=step.id))
        ids = [f"{step.id}-{at}" for at in range(len(tools))]
        replied = e.ModelReplied(
            turn=turn,
            step=step.id,
            content=content,
            model="m",
            finish_reason="stop",
            tool_calls=tuple(
                ToolCall(f"p-{call}", tool, '{"command": "ls"}')
                for call, tool in zip(ids, tools, strict=True)
            ),
            plan=tuple(e.PlannedCall(call=call, effect="write") for call in ids),
            usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=50),
            cost_usd=cost_usd,
        )
        waits = tuple(
            e.ApprovalRequested(turn=turn, call=call, digest="d", rule="rm", expires_at=4e9) for call in ids
        )
        self.do(name, c.FinishModelCall(step=step.id, outcome=replied, approvals=waits if approval else ()))

    def run_tool(self, name: str, content: str) -> None:
        step = next_steps(self.session(name))[0]
        turn = step.id.split("-", 1)[0]
        self.do(name, c.BeginStep(step=step.id))
        outcome = e.ToolFinished(turn=turn, call=step.id, ok=True, content=content)
        self.do(name, c.FinishToolCall(step=step.id, outcome=outcome))

    def record(self, name: str) -> None:
        (step,) = next_steps(self.session(name))
        self.do(name, c.FinishTurn(step=step.id))

    def answered(self, name: str, turn: str, text: str = "hello", answer: str = "done") -> None:
        """A turn that has completed."""
        self.submit(name, turn, text)
        self.prefetch(name)
        self.reply(name, answer)
        self.record(name)
