"""Conversations with a model of a given window, through the real sizing, compressor and performers, without a
log or threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hermes_jobs.features.compression.checkpoint import SECTIONS
from hermes_jobs.features.compression.compressor import Compressor
from hermes_jobs.features.compression.engine_host import BuiltIn
from hermes_jobs.features.compression.setup import CompressorOptions
from hermes_jobs.features.compression.steps.compress import Compress
from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers import CallModel, TurnLimits
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import (
    Cancel,
    ConfiguredModel,
    ModelError,
    ModelRequest,
    Reply,
    ToolSpec,
    same_for_all,
)
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.llm.retry import delay
from hermes_jobs.llm.windows import estimated_tokens
from tests.domain.world import World
from tests.engine.simulation import CountedIds, Gates, NoPrices, ShiftedClock, SimulatedToolbox
from tests.tools.support import Switch

WORD = "word"  # four characters: a token by the estimate
CHECKPOINT = "\n".join(f"## {name}\nNone" for name, _ in SECTIONS)


def text(tokens: int) -> str:
    """A text of about so many tokens."""
    return (WORD * tokens)[: max(4 * tokens, 1)]


class Tools(SimulatedToolbox):
    """One tool whose description takes `tokens`."""

    def __init__(self, tokens: int) -> None:
        super().__init__(Gates())
        self._spec = ToolSpec("read", text(tokens), {})

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        return (self._spec,)


class Prompt:
    """A system prompt of so many tokens."""

    def __init__(self, tokens: int) -> None:
        self._text = text(tokens)

    def start(self, session: Session) -> e.SessionStarted:
        return e.SessionStarted(
            session=session.id, kind="conversation", source="cli", model="m", system_prompt=self._text
        )


class Answers:
    """Answers with what `say` holds, summarises, and refuses what exceeds the window."""

    def __init__(self, window: int, *, reports: bool) -> None:
        self.window = window
        self.reports = reports
        self.sizes: list[int] = []
        self.refused: list[ModelRequest] = []
        self.summaries = 0
        self.say: list[Reply] = []

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        size = estimated_tokens(request)
        if size > self.window:
            self.refused.append(request)
            raise ModelError("context_overflow", "too long", limit=self.window)
        if not request.tools:
            self.summaries += 1
            budget = request.max_tokens or 1000
            return Reply(content=f"{CHECKPOINT}\n{text(max(budget - 80, 1))}", usage=Usage(input_tokens=size))
        self.sizes.append(size)
        reply = self.say.pop(0)
        return msgspec.structs.replace(reply, usage=Usage(input_tokens=size)) if self.reports else reply


class Conversation:
    """One session; `fixed` are the tokens of its system prompt and tools together."""

    def __init__(self, window: int, fixed: int, *, protect_last: int = 20, reports: bool = True) -> None:
        self.model = Answers(window, reports=reports)
        self.window = window
        tools, prompt = Tools(fixed // 2), Prompt(fixed - fixed // 2)
        options = CompressorOptions(protect_last=protect_last)
        contexts = BuiltIn(Compressor(options, redact=lambda text: text))
        self.sizing = CompressionPolicy(contexts, tools, lambda session, model: window)
        clock, ids = ShiftedClock(lambda: 1.0), CountedIds()
        self._call = CallModel(
            models=same_for_all(ConfiguredModel(model=self.model, pricing=NoPrices())),
            toolbox=tools,
            retry=delay,
            clock=clock,
            ids=ids,
            limits=TurnLimits(max_iterations=90, max_tokens=None, approval_seconds=60),
            on_delta=lambda piece: None,
            sizing=self.sizing,
        )
        self._compress = Compress(
            contexts=contexts,
            helpers=lambda session: (
                Helper(model=self.model, name="m", window_of=lambda: window, pricing=NoPrices()),
            ),
            retries=Retries(delay, clock, ids),
            prompt=prompt,
            sizing=self.sizing,
            ids=ids,
        )
        self._prompt = prompt
        self.world = World()

    @property
    def session(self) -> Session:
        """As it is now."""
        return self.world.session

    def of(self, kind: type[e.Event]) -> list[e.Event]:
        """All events of that kind so far."""
        return [fact for fact in self.world.facts if isinstance(fact, kind)]

    def turn(self, asked: int, results: Sequence[int] = (), answered: int = 20) -> None:
        """A turn: a request, rounds of one tool call with results, an answer; sizes in tokens."""
        calls = [
            Reply(content="", tool_calls=(ToolCall(f"c{n}", "read", "{}"),)) for n in range(len(results))
        ]
        self.model.say = [*calls, Reply(content=text(answered))]
        pending = list(results)
        self.world.submit(text(asked))
        while self.session.current is not None:
            (step,) = self.world.due
            if step.kind == "turn.call_model" and (first := self.sizing.preflight(self.session)) is not None:
                self.world.do(first)
                (step,) = self.world.due
            self._do(step, pending)

    def _do(self, step: Step, pending: list[int]) -> None:
        match step.kind:
            case "turn.prefetch":
                self.world.do(c.BeginStep(step=step.id))
                begun = e.ContextPrefetched(turn=step.id.split("-", 1)[0], model="m", max_iterations=90)
                started = None if self.session.started else self._prompt.start(self.session)
                self.world.do(c.FinishPrefetch(step=step.id, prefetched=begun, started=started))
            case "turn.call_model":
                self.world.do(c.BeginStep(step=step.id))
                self.world.do(self._call.run(self.session, step, Switch()))
            case "turn.run_tool":
                self.world.do(c.BeginStep(step=step.id))
                turn = step.id.split("-", 1)[0]
                result = text(pending.pop(0))
                self.world.do(
                    c.FinishToolCall(
                        step=step.id,
                        outcome=e.ToolFinished(turn=turn, call=step.id, ok=True, content=result),
                    )
                )
            case "compression.flush":
                self.world.do(c.BeginStep(step=step.id))
                self.world.do(c.FinishFlush(step=step.id))
            case "compression.compress":
                self.world.do(c.BeginStep(step=step.id))
                self.world.do(self._compress.run(self.session, step, Switch()))
            case _:
                self.world.do(c.FinishTurn(step=step.id))
