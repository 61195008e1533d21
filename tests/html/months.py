"""A home as it is after some months of use: conversations, reviews, schedules, deliveries, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall

BEGAN = datetime(2026, 9, 21, tzinfo=UTC)
DAYS = 60
MODELS = {"gpt-5-mini": 4e-7, "claude-sonnet-5": 3e-6, "qwen3-coder": None}
SCHEDULES = ("Morning news", "Backup check", "Weekly summary", "Invoice reminder")
WORDS = ("compare", "invoice", "folder", "deploy", "proxy", "queue", "worker", "merge", "config", "error")

Facts = Iterator[tuple[float, str, Sequence[e.Event]]]


class Months:
    """So many turns over `DAYS` days; the same for the same number."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.random = Random(turns)

    def write(self, log: EventLog) -> None:
        """Append all of it, what belongs to one moment in one append."""
        parts = [self._memory(), self._schedules(), self._conversations()]
        for part in parts:
            for at, stream, events in part:
                moment = BEGAN + timedelta(seconds=at)
                log.append(
                    Append(
                        meta=EventMeta(worker="worker-k2f8", causation="step", correlation="turn"),
                        recorded_at=f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}",
                        writes=(StreamWrite(stream=stream, events=tuple(events), expected=None),),
                        durable=False,
                    )
                )

    def _text(self, words: int) -> str:
        return " ".join(self.random.choices(WORDS, k=words))

    def _moment(self, number: int) -> float:
        """Working hours, fewer turns on days six and seven, more every week."""
        day = int(DAYS * (number / self.turns) ** 0.8)
        if day % 7 >= 5 and self.random.random() < 0.7:
            day -= 2
        return max(0, day) * 86_400 + self.random.gauss(13.5, 3.0) * 3_600

    def _conversations(self) -> Facts:
        for number in range(self.turns):
            session = f"s{number // 25:05}x"
            turn = f"t{number:06}x"
            source = "cli"
            if number % 20 == 19:
                session, source = f"v{number:06}x", "review:memory"
            yield from self._turn(turn, session, source, self._moment(number))
            if source != "cli":
                yield from self._review(session, f"s{number // 25:05}x", self._moment(number))

    def _turn(self, turn: str, session: str, source: str, at: float) -> Facts:
        stream, random = f"session-{session}", self.random
        model = random.choices(list(MODELS), (6, 3, 1))[0]
        purpose = "review" if source != "cli" else random.choices(("turn", "recall"), (14, 1))[0]
        opening = e.Opening(kind="review" if source != "cli" else "conversation")
        submitted = e.TurnSubmitted(
            turn=turn, text=self._text(12), source=source, session=session, opening=opening
        )
        yield at, stream, [submitted]
        at += random.expovariate(1 / 0.3)
        prefetched = e.ContextPrefetched(turn=turn, model=model, max_iterations=15)
        yield at, stream, [prefetched]
        at += random.expovariate(1 / 0.05)
        yield at, stream, [e.ModelCallStarted(turn=turn, step=f"{turn}-1", attempt=1)]
        call = e.PlannedCall(call=f"{turn}-1-0", effect="read")
        asked = ToolCall("c", "terminal", '{"command": "ls"}')
        reply = self._reply(turn, 1, model, purpose)
        at += random.expovariate(1 / 2.0)
        asking = e.ModelReplied(**{**reply, "tool_calls": (asked,), "plan": (call,)})
        yield at, stream, [asking]
        at += random.expovariate(1 / 0.1)
        started = e.ToolStarted(
            turn=turn,
            step=f"{turn}-1",
            call=call.call,
            name="terminal",
            arguments=asked.arguments,
            attempt=1,
            effect="read",
        )
        yield at, stream, [started]
        finished = e.ToolFinished(turn=turn, call=call.call, ok=random.random() < 0.9, content=self._text(20))
        yield at + 0.4, stream, [finished, e.ModelCallStarted(turn=turn, step=f"{turn}-2", attempt=1)]
        answer = e.ModelReplied(**self._reply(turn, 2, model, purpose))
        ended: e.Event = e.TurnCompleted(turn=turn, answer=answer.content)
        if random.random() < 0.03:
            ended = e.TurnFailed(turn=turn, kind="server", message="The endpoint did not answer.")
        yield at + 2.4, stream, [answer, e.UsageRecorded(turn=turn, model=model), ended]

    def _reply(self, turn: str, step: int, model: str, purpose: str) -> dict[str, Any]:
        tokens = self.random.randint(800, 9_000)
        price = MODELS[model]
        return {
            "turn": turn,
            "step": f"{turn}-{step}",
            "content": self._text(30),
            "model": model,
            "finish_reason": "stop",
            "purpose": purpose,
            "usage": Usage(input_tokens=tokens, output_tokens=tokens // 9, cache_read_tokens=tokens * 2),
            "cost_usd": None if price is None else price * tokens * 2,
        }

    def _review(self, review: str, lineage: str, at: float) -> Facts:
        stream = f"session-{lineage}"
        requested = e.ReviewRequested(review=review, kind="memory", reason="10 turns since the last one")
        yield at, stream, [requested]
        begun = e.ReviewStarted(review=review, session=review, turn=f"t{review[1:]}")
        yield at + self.random.expovariate(1 / 4), stream, [begun]
        yield at + 20, stream, [e.ReviewCompleted(review=review, saved="")]

    def _memory(self) -> Facts:
        targets: tuple[memory_events.MemoryTarget, ...] = ("memory", "memory", "user")
        for number in range(45):
            at = DAYS * 86_400 * number / 45
            content = f"{number}: {self._text(self.random.randint(3, 9))}"
            target = targets[number % 3]
            yield at, "memory", [memory_events.MemoryAdded(target=target, content=content, author="review")]
            if number % 9 == 8:
                yield (
                    at + 60,
                    "memory",
                    [memory_events.MemoryRemoved(target=target, old=content, author="user")],
                )

    def _schedules(self) -> Facts:
        for index, name in enumerate(SCHEDULES):
            schedule = f"c{index}x"
            plan = schedules_events.Plan(
                name=name, text=name, kind="cron", timing="0 9 * * *", timezone="UTC"
            )
            due = BEGAN.timestamp() + 9 * 3_600
            added = schedules_events.ScheduleAdded(schedule=schedule, plan=plan, by="user", next_due=due)
            yield 0, f"schedule-{schedule}", [added]
            for day in range(DAYS):
                yield from self._run(schedule, index, day)

    def _run(self, schedule: str, index: int, day: int) -> Facts:
        stream, at = f"schedule-{schedule}", day * 86_400 + 9 * 3_600.0
        due = BEGAN.timestamp() + at
        chance = self.random.random()
        if chance < 0.04:
            missed = schedules_events.ScheduleMissed(
                schedule=schedule, due=due, reason="down", next_due=due + 86_400
            )
            yield at + 7_200, stream, [missed]
            return
        at += self.random.expovariate(1 / 2) if chance < 0.9 else 300 + 3_000 * self.random.random()
        turn, session = f"r{index}{day:03}x", f"z{index}{day:03}x"
        fired = schedules_events.ScheduleFired(
            schedule=schedule, due=due, turn=turn, session=session, next_due=due + 86_400
        )
        yield at, stream, [fired]
        yield from self._turn(turn, session, "cli", at)
        failed = self.random.random() < 0.06
        ended = schedules_events.ScheduleRunEnded(
            schedule=schedule, turn=turn, status="failed" if failed else "completed"
        )
        yield at + 9, stream, [ended]
        wanted = DeliveryRequested(
            delivery=f"d{turn}x0", target="cli", text=self._text(30), turn=turn, source=f"schedule:{schedule}"
        )
        yield at + 9, f"delivery-d{turn}x0", [wanted]
