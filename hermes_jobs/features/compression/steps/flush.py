"""`compression.flush`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.features.compression.steps.idle import MARGIN
from hermes_jobs.kernel.engine.budget_guard import FLUSH_ANSWER
from hermes_jobs.kernel.engine.handlers.summariser import Summariser
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    Model,
    ModelError,
    Pricing,
    StepInterrupted,
    Toolbox,
    ToolContext,
)
from hermes_jobs.kernel.events import CompressionFailed
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.streams import combine
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import Compression
from hermes_jobs.kernel.turns.messages import Message, ToolCall, UserMessage
from hermes_jobs.kernel.turns.session import Session, compression_of, workdir_of
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.system.clock import Clock

FLUSH_TOOLSET = "memory"
TOO_LITTLE = (
    "a summary would save less than a tenth of it, because its first and newest messages are always kept "
    "(compression.protect_last_n)"
)
FLUSH_NOTE = """\
[This conversation is about to be compressed: most of what was said will give way to a short summary. Save
now, with the `memory` tool, what is worth keeping for good: first preferences, corrections and recurring
patterns, only then details of the task. Nothing to save is a good answer. Do not answer the conversation
itself.]"""


class Flush(msgspec.Struct, frozen=True, eq=False):
    """`compression.flush`: one call with the memory tool alone; what it saves is saved with the outcome.

    A requested compression that would save next to nothing, and one of a resting session that comes too late,
    end here, before anything is paid. `name` is the model that is called; None: the session's own.
    `before(session)` is called after that, when the history is complete for the last time.
    """

    model: Model
    toolbox: Toolbox
    pricing: Pricing
    sizing: CompressionPolicy
    window_of: Callable[[str], int]
    clock: Clock
    name: str | None = None
    before: Callable[[Session], None] | None = None

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        job = compression_of(session)
        if job.reason == "idle" and self.clock.now() > job.retry_at + MARGIN:
            return _refused(job, step, "late", "The cached prompt has ended.")
        if job.reason == "manual" and not self.sizing.is_worthwhile(session):
            return _refused(job, step, "nothing_to_compress", TOO_LITTLE)
        outcome = self._flushed(session, step, cancel)
        if self.before is not None:
            self.before(session)
        return outcome

    def _flushed(self, session: Session, step: Step, cancel: Cancel) -> c.FinishFlush:
        job = compression_of(session)
        on = self.toolbox.toolsets_on(session.started.toolsets if session.started else None)
        tools = tuple(spec for spec in self.toolbox.specs((FLUSH_TOOLSET,)) if spec.name == "memory")
        if FLUSH_TOOLSET not in on or not tools or session.started is None:
            return c.FinishFlush(step=step.id, message="memory is turned off")
        name = self.name or session.model or session.started.model
        summariser = Summariser(self.model, name, self.pricing, "flush", cancel, session.lineage)
        try:
            reply = summariser.ask(
                session.started.system_prompt, self._material(session, name), tools, FLUSH_ANSWER
            )
        except ModelError as error:
            if error.kind == CANCELLED and cancel.reason != CANCELLED:
                raise StepInterrupted from error
            return c.FinishFlush(
                step=step.id, responses=summariser.usage_events(job.turn, step.id), message=error.message
            )
        changes = [
            change
            for index, call in enumerate(reply.tool_calls)
            if call.name == "memory" and (change := self._change(session, step, call, index, cancel))
        ]
        return c.FinishFlush(
            step=step.id,
            responses=summariser.usage_events(job.turn, step.id),
            change=combine(changes) if changes else None,
        )

    def _material(self, session: Session, model: str) -> tuple[Message, ...]:
        """The newest part of the conversation that fits into the window, followed by the note."""
        assert session.started is not None
        available = int(self.window_of(model) * 0.9) - FLUSH_ANSWER
        context = self.sizing.contexts.of(session)
        available -= context.estimate((UserMessage(session.started.system_prompt),))
        messages = context.newest(session.messages, available)
        if messages and isinstance(messages[-1], UserMessage):
            return (*messages[:-1], replace(messages[-1], content=f"{messages[-1].content}\n\n{FLUSH_NOTE}"))
        return (*messages, UserMessage(FLUSH_NOTE))

    def _change(
        self, session: Session, step: Step, call: ToolCall, index: int, cancel: Cancel
    ) -> Decision | None:
        context = ToolContext(
            session=session.id,
            turn=compression_of(session).turn or "",
            call=f"{step.id}-{index}",
            workdir=workdir_of(session),
            attended=False,
            author="flush",
            lineage=session.lineage,
            watched=False,
            outside=session.outside,
            typed=session.typed,
        )
        return self.toolbox.run(call, context, (FLUSH_TOOLSET,), cancel).change


def _refused(job: Compression, step: Step, kind: str, message: str) -> c.FinishCompression:
    failed = CompressionFailed(turn=job.turn, step=step.id, attempt=step.attempt, kind=kind, message=message)
    return c.FinishCompression(step=step.id, outcome=failed)
