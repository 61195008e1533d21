"""Engines that spend: many turns of two model calls each, under a budget for all of them together."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from hermes_jobs.bootstrap import NullDispatcher
from hermes_jobs.kernel.engine.budget_guard import BudgetGuard
from hermes_jobs.kernel.engine.claims import StepResult
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.handlers import (
    CallModel,
    Prefetch,
    RecordUsage,
    RequestBuilder,
    RunTool,
    TurnLimits,
)
from hermes_jobs.kernel.engine.ports import ConfiguredModel, Model, ModelRequest, Reply, same_for_all
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.log.factory import open_log
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.budgets import Budgets
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.synthetic_messages import ASK_AGAIN
from hermes_jobs.llm.scripted_model import ScriptedModel
from hermes_jobs.system.ids import RandomIds
from hermes_jobs.tools.toolbox import Toolbox
from tests.engine.simulation import PlainPrompt, ShiftedClock

INPUT, OUTPUT = 1e-6, 4e-6  # US dollars a token
SENT, SAID = 1000, 300  # tokens of each call
COST = SENT * INPUT + SAID * OUTPUT
NOW = 1_795_348_800.0
DAY = "2026-11-22"


class Prices:
    """Each token at its price."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        return usage.input_tokens * INPUT + usage.output_tokens * OUTPUT


def two_calls(request: ModelRequest) -> Reply:
    """An empty answer first, so that the engine asks again; never more than what was asked for."""
    last = request.messages[-1]
    asked_again = isinstance(last, UserMessage) and last.content == ASK_AGAIN
    usage = Usage(SENT, min(SAID, request.max_tokens or SAID))
    return Reply(content="done" if asked_again else "", usage=usage, model="m")


def spending_engine(
    log: EventLog,
    worker: str,
    budgets: Budgets,
    model: Model,
    *,
    now: float = NOW,
    max_tokens: int | None = None,
) -> Engine:
    """An engine whose every call is estimated at `SENT` tokens."""
    clock, ids, toolbox = ShiftedClock(lambda: now), RandomIds(), Toolbox((), enabled=())
    limits = TurnLimits(max_iterations=5, max_tokens=max_tokens, approval_seconds=60)
    prices = Prices()
    call_model = CallModel(
        models=same_for_all(ConfiguredModel(model=model, pricing=prices)),
        toolbox=toolbox,
        retry=lambda kind, retries, retry_after, fraction: 0.0 if retries < 2 else None,
        clock=clock,
        ids=ids,
        limits=limits,
        on_delta=lambda piece: None,
    )
    return Engine(
        log=log,
        worker=worker,
        clock=clock,
        ids=ids,
        dispatcher=NullDispatcher(),
        parts=StepParts(
            handlers={
                "turn.prefetch": Prefetch(PlainPrompt(), limits, clock=clock, ids=ids),
                "turn.call_model": call_model,
                "turn.run_tool": RunTool(toolbox),
                "turn.record_usage": RecordUsage(),
            },
            budget_guard=BudgetGuard(
                request=RequestBuilder(toolbox, limits).build,
                estimate=lambda request: SENT,
                pricing=prices,
                budgets=budgets,
                clock=clock,
            ),
        ),
    )


def submit(engine: Engine, turns: int, *, budget_usd: float | None = None) -> None:
    """So many turns, each in a session of its own."""
    for number in range(turns):
        engine.submit(
            TurnSubmitted(
                turn=f"t{number}", session=f"s{number}", text="hello", source="test", budget_usd=budget_usd
            )
        )


def work(engine: Engine, threads: int = 1) -> Counter[StepResult]:
    """Perform whatever is due, in so many threads, until nothing is."""
    log = engine.log
    performed: Counter[StepResult] = Counter()

    def perform(number: int) -> None:
        while log.steps():
            position = log.last_position()
            rows = log.due(engine.clock.now())[number::threads]
            done = [engine.run(row.step.stream, row.step.id) for row in rows]
            performed.update(done)
            if "done" not in done:
                log.wait(position, 0.1)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(perform, range(threads)))
    return performed


def work_in_a_process(url: str, number: int, threads: int, calls: int) -> int:
    """Like `work`, with a budget for about so many calls of the day; how often a call was held up."""
    log = open_log(url)
    engine = spending_engine(log, f"w{number}", Budgets(day_usd=calls * COST), ScriptedModel(two_calls))
    try:
        return work(engine, threads)["held_up"]
    finally:
        log.close()
