"""`compression.compress`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hermes_jobs.domain import commands as c
from hermes_jobs.domain.compression import Compression, is_futile
from hermes_jobs.domain.errors import Rejected
from hermes_jobs.domain.events import CompressionFailed, ContextCompressed
from hermes_jobs.domain.session import Session, compression_of
from hermes_jobs.domain.steps import Step
from hermes_jobs.domain.titles import continued_title
from hermes_jobs.engine.perform.summariser import Summariser
from hermes_jobs.engine.ports import (
    CANCELLED,
    Cancel,
    ContextEngines,
    History,
    Ids,
    Model,
    ModelError,
    Pricing,
    PromptBuilder,
    Shortened,
    Stopped,
)

PROMPT_NOTE = """\
An earlier part of this conversation was compressed into a summary, which stands in its place. What it calls
done is done; look at files and state before you do anything again."""
FULL = 0.95
"""The part of the window from which on a history has to be made smaller, with a summary or without."""


class Compress:
    """`compression.compress`: the summary, and the session that goes on with it.

    `summariser` gives the model that summarises, its name and its window in tokens.
    """

    def __init__(
        self,
        *,
        contexts: ContextEngines,
        summariser: Callable[[], tuple[Model, str, int]],
        pricing: Pricing,
        prompt: PromptBuilder,
        window_of: Callable[[str], int],
        ids: Ids,
    ) -> None:
        self._contexts = contexts
        self._summariser = summariser
        self._pricing = pricing
        self._prompt = prompt
        self._window_of = window_of
        self._ids = ids

    def perform(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        job = compression_of(session)
        model, name, summary_window = self._summariser()
        ask = Summariser(model, name, self._pricing, "compression", cancel)
        window = job.window or self._window_of(session.model or "")
        history = History(
            messages=session.messages,
            todos=tuple(todo.text for todo in session.todos if todo.status in {"pending", "in_progress"}),
            focus=job.focus,
            window=window,
            summary_window=summary_window,
        )
        context = self._contexts.of(session)
        try:
            shortened = context.compress(history, ask)
        except ModelError as error:
            if error.kind == CANCELLED and cancel.reason != CANCELLED:
                raise Stopped from error
            if error.kind == CANCELLED or not (job.reason == "overflow" or job.tokens >= window * FULL):
                return self._failed(job, step, ask, error.kind, error.message)
            shortened = context.set_aside(history)
        if shortened.removed == 0:
            return self._failed(job, step, ask, "nothing_to_compress", "there was nothing to take away")
        return self._compressed(session, job, step, ask, shortened)

    def _compressed(
        self, session: Session, job: Compression, step: Step, ask: Summariser, shortened: Shortened
    ) -> c.StepOutcome:
        context = self._contexts.of(session)
        before, after = (context.estimate(messages) for messages in (session.messages, shortened.messages))
        compressed = ContextCompressed(
            turn=job.turn,
            step=step.id,
            into=self._ids.name("s"),
            removed=shortened.removed,
            summary=shortened.summary,
            messages=shortened.messages,
            number=session.num_compressed + 1,
            tokens_before=before,
            tokens_after=after,
        )
        compressed = replace(compressed, in_vain=session.futile + 1 if is_futile(compressed) else 0)
        return c.FinishCompression(
            step=step.id,
            outcome=compressed,
            responses=ask.booked(job, step.id),
            system_prompt=self._rebuilt(session),
            title=continued_title(session.title, session.num_compressed + 2),
        )

    def _rebuilt(self, session: Session) -> str | None:
        """The system prompt as it is written today, with a note about the summary; null: as it was."""
        try:
            prompt = self._prompt.start(session).system_prompt
        except Rejected:
            return None
        return f"{prompt.rstrip()}\n\n{PROMPT_NOTE}\n"

    @staticmethod
    def _failed(job: Compression, step: Step, ask: Summariser, kind: str, message: str) -> c.StepOutcome:
        failed = CompressionFailed(
            turn=job.turn, step=step.id, attempt=step.attempt, kind=kind, message=message
        )
        return c.FinishCompression(step=step.id, outcome=failed, responses=ask.booked(job, step.id))
