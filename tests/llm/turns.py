"""Turns of one session through the engine, with a model over HTTP and a clock that only tests move."""

from __future__ import annotations

from pathlib import Path

from hermes_jobs.bootstrap import NullDispatcher
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import CallModel, Prefetch, RecordUsage, RunTool, TurnLimits
from hermes_jobs.kernel.engine.ports import ConfiguredModel, Model, same_for_all
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.turns.commands import SessionCommand
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import next_steps
from hermes_jobs.llm.price_list import PriceList
from hermes_jobs.llm.retry import delay
from hermes_jobs.prompt.builder import SessionPrompt
from hermes_jobs.tools.toolbox import Toolbox
from tests.engine.simulation import CountedIds
from tests.manual_clock import ManualClock


class OneSession:
    """A session that one process works on. `waits`: seconds that the clock had to be moved on, one a step."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        *,
        name: str,
        max_tokens: int | None = None,
        wait_for_quota: float = 0.0,
        fallback: tuple[str, ...] = (),
    ) -> None:
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.shown: list[str] = []
        self._log = open_log(sqlite_url(folder / "events.db"))
        toolbox = Toolbox((), enabled=())
        limits = TurnLimits(
            max_iterations=5,
            max_tokens=max_tokens,
            approval_seconds=60,
            wait_for_quota=wait_for_quota,
            fallback=fallback,
        )
        prompt = SessionPrompt(
            soul=folder / "SOUL.md", default_model=name, workdir=None, clock=self.clock, tools=toolbox.specs
        )
        ids = CountedIds()
        call_model = CallModel(
            models=same_for_all(ConfiguredModel(model=model, pricing=PriceList(None, self.clock))),
            toolbox=toolbox,
            retry=delay,
            clock=self.clock,
            ids=ids,
            limits=limits,
            on_delta=lambda piece: self.shown.append(piece.text),
        )
        self.engine = Engine(
            log=self._log,
            worker="w1",
            clock=self.clock,
            ids=ids,
            dispatcher=NullDispatcher(),
            parts=StepParts(
                handlers={
                    "turn.prefetch": Prefetch(prompt, limits, clock=self.clock, ids=ids),
                    "turn.call_model": call_model,
                    "turn.run_tool": RunTool(toolbox),
                    "turn.record_usage": RecordUsage(),
                }
            ),
        )
        self._turns = 0

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def send(self, text: str = "Hello") -> list[e.Event]:
        """Run a turn to its end; its facts."""
        before = self.session.version
        self.submit(text)
        return self.work(before)

    def submit(self, text: str = "Hello") -> str:
        """Have a text accepted; its turn."""
        self._turns += 1
        turn = f"t{self._turns}"
        self.engine.submit(e.TurnSubmitted(turn=turn, session="s1", text=text, source="cli"))
        return turn

    def decide(self, command: SessionCommand) -> None:
        """What a person decides."""
        self.engine.execute(stream_of("s1"), command)

    def work(self, since: int = 0, *, until: float | None = None) -> list[e.Event]:
        """Perform what is due, or what is due up to that moment; the facts since that version."""
        while steps := next_steps(self.session):
            if until is not None and steps[0].not_before > until:
                break
            wait = steps[0].not_before - self.clock.now()
            if wait > 0:
                self.waits.append(round(wait, 3))
                self.clock.moment += wait
            assert self.engine.run(stream_of("s1"), steps[0].id) in {"done", "failed"}
        return [recorded.event for recorded in self._log.read(stream_of("s1"), after=since)]

    @property
    def session(self) -> Session:
        """As it is in the log."""
        return self.engine.sessions.load(stream_of("s1"))
