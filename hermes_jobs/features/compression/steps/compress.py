"""`compression.compress`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy, in_estimates
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.handlers.summariser import Summariser
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    CompressedHistory,
    ContextEngine,
    ContextEngines,
    History,
    ModelError,
    PromptBuilder,
    StepInterrupted,
)
from hermes_jobs.kernel.events import CompressionFailed, ContextCompressed, ResponseBooked, SessionStarted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import Compression, is_ineffective
from hermes_jobs.kernel.turns.session import Session, compression_of
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.titles import continued_title
from hermes_jobs.system.ids import Ids

PROMPT_NOTE = """\
An earlier part of this conversation was replaced by a summary. What it calls done is done; check files and
state before you repeat anything."""
FULL = 0.95
"""The share of the window above which a history has to be made smaller, with or without a summary."""
LEAST_SAVED = 0.01
"""The share of a request that a requested compression has to save: else the conversation stays as it is."""
AGAIN = frozenset({"context_overflow"})
"""Kinds of failures after which the same model is called once more: the limit it reported is now
respected."""

TOO_SHORT = "it is short, and its first and newest messages are always kept (compression.protect_last_n)"


class Compress(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`compression.compress`: the summary, and the session that continues with it.

    `helpers(session)` are the models that can summarise, the preferred one first; `retries` say when to try
    again where all of them have failed and the history has to become smaller; `title_of` is the title of the
    session that continues.
    """

    contexts: ContextEngines
    helpers: Callable[[Session], Sequence[Helper]]
    retries: Retries
    prompt: PromptBuilder
    sizing: CompressionPolicy
    ids: Ids
    title_of: Callable[[Session], str | None] = lambda session: continued_title(
        session.named, session.num_compressed + 2
    )

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        job = _Job(session, step, compression_of(session), self.contexts.of(session))
        sizing = self.sizing
        size = sizing.size(session, session.current)
        estimated = size.fixed + job.context.estimate(session.messages)
        window = job.compression.window or size.window
        history = History(
            messages=session.messages,
            todos=tuple(todo.text for todo in session.todos if todo.status in {"pending", "in_progress"}),
            focus=job.compression.focus,
            window=in_estimates(window, max(job.compression.tokens, size.tokens), estimated),
            summary_window=window,
            fixed=size.fixed,
            session=session.id,
        )
        try:
            shortened = self._summarised(job, history, cancel)
        except ModelError as error:
            if error.kind == CANCELLED:
                return job.failed(error.kind, error.message)
            instead = self._without(job, history, error, full=job.compression.tokens >= window * FULL)
            if isinstance(instead, CompressionFailed):
                return job.finished(instead)
            shortened = instead
        started = self._rebuilt(session)
        fixed = sizing.overhead(session, session.current, started)
        after = fixed + job.context.estimate(shortened.messages)
        is_smaller = after < estimated
        if job.compression.reason == "manual":  # whatever became of the prompt, which is built again
            is_smaller = after - fixed <= estimated - size.fixed - estimated * LEAST_SAVED
        if shortened.removed == 0:
            kind, text = "nothing_to_compress", TOO_SHORT
        elif not is_smaller:
            kind, text = "no_effect", "a summary would take no less than what it stands for"
        else:
            return self._compressed(job, shortened, started, before=estimated, after=after)
        turn = session.current
        return job.failed(kind, text, sizing.advice(session, turn) if turn is not None else "")

    def _summarised(self, job: _Job, history: History, cancel: Cancel) -> CompressedHistory:
        """The history, summarised by the first helper that succeeds. Raises the `ModelError` of the last
        one."""
        for helper in self.helpers(job.session):
            if helper.paused:
                job.paused.append(f"{helper.name}: {helper.paused}")
                continue
            try:
                return self._by(helper, job, history, cancel)
            except ModelError as error:
                job.failures.append((helper.name, error))
                if error.kind == CANCELLED:
                    if cancel.reason != CANCELLED:
                        raise StepInterrupted from error
                    raise
                if helper.failed is not None:
                    helper.failed(error)
                if job.compression.reason == "idle":
                    break  # it was to save money, at the price of this model
        raise job.failures[-1][1]

    @staticmethod
    def _by(helper: Helper, job: _Job, history: History, cancel: Cancel) -> CompressedHistory:
        ask = Summariser(helper.model, helper.name, helper.pricing, "compression", cancel)
        try:
            try:
                return job.context.compress(replace(history, summary_window=helper.window_of()), ask)
            except ModelError as error:
                if error.kind not in AGAIN:
                    raise
                return job.context.compress(replace(history, summary_window=helper.window_of()), ask)
        finally:
            job.responses += ask.usage_events(job.compression.turn, job.step.id)

    def _without(
        self, job: _Job, history: History, error: ModelError, *, full: bool
    ) -> CompressedHistory | CompressionFailed:
        """The outcome if no model could summarise the history: it stays as it is. If it has to become
        smaller, the compression is retried, and in the end the middle is removed without a summary."""
        if not (job.compression.reason == "overflow" or full):
            return job.failure(error.kind, job.why())
        retry_at = self.retries.at(error, job.step.attempt - 1)
        if retry_at is not None:
            return replace(job.failure(error.kind, job.why()), retry_at=retry_at)
        return job.context.set_aside(history)

    def _compressed(
        self,
        job: _Job,
        shortened: CompressedHistory,
        started: SessionStarted | None,
        *,
        before: int,
        after: int,
    ) -> c.StepOutcome:
        session = job.session
        compressed = ContextCompressed(
            turn=job.compression.turn,
            step=job.step.id,
            into=self.ids.name("s"),
            removed=shortened.removed,
            summary=shortened.summary,
            messages=shortened.messages,
            number=session.num_compressed + 1,
            tokens_before=before,
            tokens_after=after,
            failures=job.failed_calls() if shortened.summary else job.why(),
        )
        compressed = replace(
            compressed, in_vain=session.ineffective_compressions + 1 if is_ineffective(compressed) else 0
        )
        return c.FinishCompression(
            step=job.step.id,
            outcome=compressed,
            responses=job.responses,
            system_prompt=started.system_prompt if started else None,
            title=self.title_of(session),
            mcp=started.mcp if started else None,
            mcp_away=started.mcp_away if started else (),
            mcp_search=started.mcp_search if started else False,
        )

    def _rebuilt(self, session: Session) -> SessionStarted | None:
        """The session's start, built again from the current configuration, with a note about the summary;
        None: unchanged."""
        try:
            started = self.prompt.start(session)
        except Rejected:
            return None
        return replace(started, system_prompt=f"{started.system_prompt.rstrip()}\n\n{PROMPT_NOTE}\n")


class _Job:
    """One attempt: its session and step, the request, and the responses so far."""

    def __init__(
        self, session: Session, step: Step, compression: Compression, context: ContextEngine
    ) -> None:
        self.session = session
        self.step = step
        self.compression = compression
        self.context = context
        self.responses: tuple[ResponseBooked, ...] = ()
        self.failures: list[tuple[str, ModelError]] = []
        self.paused: list[str] = []

    def failed_calls(self) -> str:
        """The models that failed in this attempt, with their errors; "" if none did."""
        return "; ".join(f"{name}: {error.message}" for name, error in self.failures)

    def why(self) -> str:
        """Why no model could summarise: each with its error, also one that failed before and is paused."""
        return "; ".join(filter(None, [*self.paused, self.failed_calls()]))

    def failure(self, kind: str, message: str, hint: str = "") -> CompressionFailed:
        return CompressionFailed(
            turn=self.compression.turn,
            step=self.step.id,
            attempt=self.step.attempt,
            kind=kind,
            message=message,
            hint=hint,
        )

    def failed(self, kind: str, message: str, hint: str = "") -> c.StepOutcome:
        return self.finished(self.failure(kind, message, hint))

    def finished(self, failure: CompressionFailed) -> c.StepOutcome:
        return c.FinishCompression(step=self.step.id, outcome=failure, responses=self.responses)
