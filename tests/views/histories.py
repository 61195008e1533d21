"""Histories for the views: sessions driven at random through `decide`, and logs that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import cast, get_args

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.factory import open_log, sqlite_url
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.streams import child_slots
from hermes_jobs.kernel.streams.child_slots import ChildSlots
from hermes_jobs.kernel.streams.decision import StreamEvents
from hermes_jobs.kernel.streams.delegation import first_texts
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import initial_state
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, is_session, lineage_of, stream_of
from hermes_jobs.kernel.turns.steps import Step, next_steps
from hermes_jobs.kernel.turns.turn import Turn

DELEGATE = "delegate"

Facts = list[tuple[str, e.SessionEvent]]
AT = "2026-11-21T12:00:00.{:06d}Z"


class History:
    """Some sessions side by side, and every fact of them in the order in which it came to be.

    Calls of the tool `delegate` begin sub-agents, which live beside the others.
    """

    def __init__(self, random: Random, sessions: Sequence[str] = ("aa", "bb")) -> None:
        self.random = random
        self.sessions = {name: Session(stream=stream_of(name)) for name in sessions}
        self.facts: Facts = []
        self.under_way: dict[str, Step] = {}
        self.slots = ChildSlots()

    def live(self, times: int) -> None:
        """So many random commands."""
        actions = [self.submit] * 2 + [self.work] * 9 + [self.cancel, self.resume, self.rename, self.discard]
        for _ in range(times):
            self.random.choice(actions)(self.random.choice(list(self.sessions)))

    def do(self, name: str, command: c.SessionCommand) -> None:
        session = self.sessions[name]
        facts = decide(command, session)
        first = first_texts(command, session, self.state) if isinstance(command, c.StartChildren) else ()
        for write in with_reactions([StreamEvents(session.stream, facts), *first], self.state).writes:
            if write.stream == child_slots.STREAM:
                self.slots = child_slots.fold(self.slots, cast("tuple[e.ChildSlotEvent, ...]", write.events))
            elif is_session(write.stream):
                self.record(lineage_of(write.stream), *cast("tuple[e.SessionEvent, ...]", write.events))

    def state(self, stream: str) -> StreamState:
        """How that stream stands."""
        if stream == child_slots.STREAM:
            return self.slots
        return self.sessions.get(lineage_of(stream)) or initial_state(stream)

    def record(self, name: str, *facts: e.SessionEvent) -> None:
        self.sessions[name] = fold(self.sessions.get(name) or Session(stream=stream_of(name)), facts)
        self.facts += [(stream_of(name), fact) for fact in facts]

    def submit(self, name: str) -> None:
        number = sum(isinstance(fact, e.TurnSubmitted) for _, fact in self.facts)
        submitted = e.TurnSubmitted(
            turn=f"{name}n{number}".replace("-", ""),
            session=name,
            text=f"text {number}",
            source="cli",
            if_busy=self.random.choice([policy for policy in get_args(e.BusyPolicy) if policy != "reject"]),
            opening=e.Opening(kind=self.random.choice(get_args(e.SessionKind))),
        )
        self.do(name, c.SubmitTurn(submitted))

    def work(self, name: str) -> None:
        due = next_steps(self.sessions[name])
        if not due:
            return
        step = self.random.choice(due)
        if step.id not in self.under_way:
            self.under_way[step.id] = step
            self.do(name, c.BeginStep(step=step.id))
        elif self.random.random() < 0.8:
            self.finish(name, step)

    def finish(self, name: str, step: Step) -> None:
        del self.under_way[step.id]
        turn = self.sessions[name].current
        assert turn is not None
        if self.random.random() < 0.15:
            reason = self.random.choice(get_args(e.AbandonReason))
            self.do(name, c.AbandonStep(step=step.id, worker="w", reason=reason))
            return
        if step.kind == "turn.prefetch" and self.random.random() < 0.1:
            again = self.random.random() * 9
            self.do(name, c.PostponeTurn(step=step.id, reason="away", retry_at=again, since=0.0))
            return
        match step.kind:
            case "turn.prefetch":
                place = self.sessions[name].delegation_of(step.id.split("-", 1)[0])
                started = e.SessionStarted(
                    session=name,
                    kind="child" if place else "conversation",
                    source="cli",
                    model="m",
                    system_prompt="p",
                    parent=place.parent if place else None,
                )
                members = self.random.choice([(), (), ("x",), ("x", "y", "x")])
                prefetched = e.ContextPrefetched(
                    turn=step.id.split("-", 1)[0],
                    model="m",
                    max_iterations=3,
                    ensemble="panel" if members else "",
                    members=members,
                )
                self.do(name, c.FinishPrefetch(step=step.id, prefetched=prefetched, started=started))
            case "turn.reference":
                self.finish_reference(name, turn, step)
            case "turn.record_usage":
                self.do(name, c.FinishTurn(step=step.id))
            case "turn.run_tool":
                self.finish_tool(name, turn, step)
            case "turn.call_model":
                self.finish_call(name, turn, step)

    def finish_reference(self, name: str, turn: Turn, step: Step) -> None:
        """An answer, a failure, or a failed call that is made again; also of one that was never called."""
        asked = turn.reference(step.id)
        assert asked is not None
        outcome: e.ReferenceReplied | e.ReferenceFailed
        if asked.running and self.random.random() < 0.6:
            outcome = e.ReferenceReplied(
                turn=turn.id,
                step=step.id,
                attempt=step.attempt,
                content="I think so",
                model=asked.model,
                member=asked.model,
                finish_reason="stop",
                usage=self.random.choice([NO_USAGE, Usage(input_tokens=10, output_tokens=5)]),
                cost_usd=self.random.choice([None, 0.5]),
            )
        else:
            outcome = e.ReferenceFailed(
                turn=turn.id,
                step=step.id,
                attempt=step.attempt,
                kind="cancelled" if turn.cancelled_by else "server",
                message="it broke",
                member=asked.model,
                model=asked.model if asked.running else "",
                retry_at=self.random.choice([None, 1.0]) if asked.running else None,
                estimated=self.random.choice([NO_USAGE, Usage(input_tokens=7)]),
            )
        self.do(name, c.FinishReference(step=step.id, outcome=outcome))

    def finish_tool(self, name: str, turn: Turn, step: Step) -> None:
        call = turn.call(step.id)
        assert call is not None
        if call.approval == "waiting":
            answers = (
                c.ApproveCall(turn=turn.id, call=call.id, by="user"),
                c.DenyCall(turn=turn.id, call=call.id, by="user"),
                c.ExpireApproval(step=step.id),
            )
            self.do(name, self.random.choice(answers))
            return
        if call.input is not None and call.waits_for_input:
            open_input = call.input
            answers = (
                c.AnswerInput(turn=turn.id, call=call.id, action="decline", by="user"),
                *(() if open_input.request.live else (c.ExpireInput(step=step.id),)),
            )
            if open_input.request.live:  # the step continues
                self.under_way[step.id] = step
            self.do(name, self.random.choice(answers))
            return
        if call.has_task and not turn.cancelled_by and self.random.random() < 0.5:
            polled = e.ServerTaskPolled(turn=turn.id, call=step.id, at=2.0, poll_at=3.0, message="at it")
            self.do(name, c.FollowServerTask(polled))
            return
        if not (call.running or call.has_task):
            return
        if not call.has_task and self.random.random() < 0.1:
            task = e.ServerTaskBegun(
                turn=turn.id, call=step.id, server="notes", task="t", at=1.0, poll_at=2.0
            )
            self.do(name, c.FollowServerTask(task))
            return
        if call.request.name != DELEGATE and not call.has_task and self.random.random() < 0.2:
            self.ask(name, call, step)
            return
        if call.request.name == DELEGATE and not call.has_task and self.depth(name) < 2:
            self.delegate(name, call.id)
            return
        finished = e.ToolFinished(
            turn=turn.id, call=step.id, ok=self.random.random() < 0.8, content=f"result of {step.id}"
        )
        self.do(name, c.FinishToolCall(step=step.id, outcome=finished))

    def ask(self, name: str, call: Call, step: Step) -> None:
        """The call's server asks for input, mostly in the place of a result."""
        live = self.random.random() < 0.3
        requests = tuple(
            e.InputRequest(key=str(at), message="Which?", refusal=self.random.choice(["", "", "a secret"]))
            for at in range(self.random.choice([1, 2]))
        )
        asked = c.RequestInput(
            step=step.id, server="notes", requests=requests, expires_at=9.0, live=live, attempt=call.attempt
        )
        if live:
            self.under_way[step.id] = step
        self.do(name, asked)

    def finish_call(self, name: str, turn: Turn, step: Step) -> None:
        if self.random.random() < 0.2:
            failed = e.ModelCallFailed(
                turn=turn.id,
                step=step.id,
                attempt=step.attempt,
                kind=self.random.choice(["server", "cancelled"]),
                message="it broke",
                retry_at=self.random.choice([None, 1.0]),
            )
            self.do(name, c.FinishModelCall(step=step.id, outcome=failed))
            return
        ids = [f"{step.id}-{index}" for index in range(self.random.choice([0, 0, 1, 3]))]
        cut = self.random.random() < 0.1
        replied = e.ModelReplied(
            turn=turn.id,
            step=step.id,
            content="" if cut and ids else self.random.choice(["", f"said in {step.id}"]),
            model="m",
            finish_reason="length" if cut else "stop",
            tool_calls=tuple(
                ToolCall(f"p-{call}", self.random.choice(["tool", "tool", DELEGATE]), f'{{"call": "{call}"}}')
                for call in ids
            ),
            plan=tuple(
                e.PlannedCall(
                    call=call,
                    effect=self.random.choice(get_args(e.Effect)),
                    after=tuple(earlier for earlier in ids[:place] if self.random.random() < 0.2),
                )
                for place, call in enumerate(ids)
            ),
            usage=Usage(input_tokens=10, output_tokens=5),
            cost_usd=self.random.choice([0.5, 0.5, 0.5, None]),
        )
        asked = [call for call in ids if self.random.random() < 0.3]
        approvals = tuple(
            e.ApprovalRequested(turn=turn.id, call=call, digest="d", rule="ask first", expires_at=1.0)
            for call in asked
        )
        held = turn.finalizing or cut or turn.cancelled_by is not None
        self.do(name, c.FinishModelCall(step=step.id, outcome=replied, approvals=() if held else approvals))

    def depth(self, name: str) -> int:
        """How many sessions are above that one."""
        opening = self.sessions[name].opening
        return opening.delegation.depth if opening is not None and opening.delegation is not None else 0

    def delegate(self, name: str, call: str) -> None:
        """One or two sub-agents, at most two levels deep."""
        plans = [
            c.ChildPlan(session=f"{call}c{at}", turn=f"{call}t{at}".replace("-", ""), text="do it", goal="it")
            for at in range(self.random.choice([1, 2]))
        ]
        waits = self.random.random() < 0.7
        self.do(
            name,
            c.StartChildren(step=call, children=tuple(plans), waits=waits, per_root=2, per_home=3),
        )

    def cancel(self, name: str) -> None:
        session = self.sessions[name]
        turns = [turn.id for turn in (session.current, *session.waiting) if turn]
        if turns:
            self.do(name, c.CancelTurn(turn=self.random.choice(turns), by="user"))

    def resume(self, name: str) -> None:
        ended = [turn for turn, end in self.sessions[name].ended.items() if end.turn]
        if ended:
            self.do(name, c.ResumeTurn(e.TurnResumed(turn=self.random.choice(ended))))

    def rename(self, name: str) -> None:
        if self.sessions[name].version:
            self.do(name, c.RenameSession(title=f"Title of {name}"))

    def discard(self, name: str) -> None:
        """The outcome of a worker whose step was taken from it."""
        turn = self.sessions[name].current
        if turn is None or not turn.started:
            return
        usage = Usage(input_tokens=1)
        late = e.OutcomeDiscarded(
            turn=turn.id, step=turn.step_id, worker="w", kind="FinishModelCall", usage=usage, model="m"
        )
        self.record(name, late)


def random_history(random: Random, times: int, sessions: Sequence[str] = ("aa", "bb")) -> History:
    """Sessions that have lived for so many random commands."""
    history = History(random, sessions)
    history.live(times)
    return history


def plain_history(turns: int, session: str = "aa") -> Facts:
    """A session with that many answered turns, each of six facts."""
    history = History(Random(1), (session,))
    for number in range(turns):
        history.do(
            session,
            c.SubmitTurn(
                e.TurnSubmitted(turn=f"{session}{number}", session=session, text="hi", source="cli")
            ),
        )
        while history.sessions[session].current is not None:
            (step,) = next_steps(history.sessions[session])
            history.do(session, c.BeginStep(step=step.id))
            history.do(session, _plain_outcome(f"{session}{number}", step))
    return history.facts


def _plain_outcome(turn: str, step: Step) -> c.StepOutcome:
    if step.kind == "turn.prefetch":
        return c.FinishPrefetch(
            step=step.id,
            prefetched=e.ContextPrefetched(turn=step.id.split("-", 1)[0], model="m", max_iterations=3),
        )
    if step.kind == "turn.record_usage":
        return c.FinishTurn(step=step.id)
    replied = e.ModelReplied(
        turn=turn,
        step=step.id,
        content=f"answer of {turn}",
        model="m",
        finish_reason="stop",
        usage=Usage(input_tokens=10, output_tokens=5),
        cost_usd=0.5,
    )
    return c.FinishModelCall(step=step.id, outcome=replied)


def new_log(folder: Path) -> SqlEventLog:
    """A log in the folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    return open_log(sqlite_url(folder / "events.db"))


def append(log: SqlEventLog, facts: Facts, *, worker: str = "w") -> None:
    """Append the facts as they are, each stream's neighbours together."""
    position = log.last_position()
    runs: list[tuple[str, list[e.SessionEvent]]] = []
    for stream, fact in facts:
        if not runs or runs[-1][0] != stream:
            runs.append((stream, []))
        runs[-1][1].append(fact)
    for stream, run in runs:
        position += len(run)
        log.append(
            Append(
                meta=EventMeta(worker=worker),
                recorded_at=AT.format(position),
                writes=(StreamWrite(stream=stream, events=tuple(run), expected=None),),
                durable=False,
            )
        )
