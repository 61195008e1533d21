"""`compression.flush` and `compression.compress`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hermes_jobs.domain import commands as c
from hermes_jobs.domain.changes import Change
from hermes_jobs.domain.compression import Compression, is_futile
from hermes_jobs.domain.errors import Rejected
from hermes_jobs.domain.events import CompressionFailed, ContextCompressed, ResponseBooked
from hermes_jobs.domain.messages import Message, ToolCall, UserMessage
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.steps import Step
from hermes_jobs.domain.streams import in_sequence
from hermes_jobs.domain.titles import continued_title
from hermes_jobs.domain.usage import NO_USAGE, Usage
from hermes_jobs.engine.perform.call_model import UNREPORTED
from hermes_jobs.engine.perform.context import workdir_of
from hermes_jobs.engine.perform.requests import OUTPUT_LIMIT, shorter_answer
from hermes_jobs.engine.perform.sizing import CHARACTERS_A_TOKEN
from hermes_jobs.engine.ports import (
    CANCELLED,
    Cancel,
    ContextEngines,
    History,
    Ids,
    Model,
    ModelError,
    ModelRequest,
    Pricing,
    PromptBuilder,
    Reply,
    Shortened,
    Stopped,
    Toolbox,
    ToolContext,
    ToolSpec,
)
from hermes_jobs.engine.purse import FLUSH_ANSWER

FLUSH_TOOLSET = "memory"
FLUSH_TOKENS = FLUSH_ANSWER
FLUSH_NOTE = """\
[This conversation is about to be compressed: most of what was said will give way to a short summary. Save
now, with the `memory` tool, what is worth keeping for good: first preferences, corrections and recurring
patterns, only then details of the task. Nothing to save is a good answer. Do not answer the conversation
itself.]"""
PROMPT_NOTE = """\
An earlier part of this conversation was compressed into a summary, which stands in its place. What it calls
done is done; look at files and state before you do anything again."""
MORE_ROOM = 4
"""How many times as long a summary may be that was cut off."""
FULL = 0.95
"""The part of the window from which on a history has to be made smaller, with a summary or without."""


class Summariser:
    """The model that flushes and summarises. Remembers each response, for the books."""

    def __init__(self, model: Model, name: str, pricing: Pricing, purpose: str, cancel: Cancel) -> None:
        self._model = model
        self._name = name
        self._pricing = pricing
        self._purpose = purpose
        self._cancel = cancel
        self.responses: list[ResponseBooked] = []

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        """The answer to one message; one that was cut off is asked for once more, with more room: a model may
        have spent it on reasoning. Raises `ModelError`."""
        said = (UserMessage(text),)
        reply = self.ask(system_prompt, said, (), max_tokens)
        if reply.finish_reason == "length":
            reply = self.ask(system_prompt, said, (), max_tokens * MORE_ROOM)
        return reply.content

    def ask(
        self,
        system_prompt: str,
        messages: Sequence[Message],
        tools: tuple[ToolSpec, ...],
        max_tokens: int,
    ) -> Reply:
        """The reply, no longer than `max_tokens` and than what the model allows. Raises `ModelError`."""
        request = ModelRequest(
            model=self._name,
            system_prompt=system_prompt,
            messages=tuple(messages),
            tools=tools,
            max_tokens=max_tokens,
        )
        while True:
            try:
                reply = self._model.reply(request, self._cancel, lambda text: None)
            except ModelError as error:
                if error.usage != NO_USAGE or error.kind in UNREPORTED:
                    self._book(request, self._name, error.usage, None)
                shorter = shorter_answer(request.max_tokens, error.limit)
                if error.kind != OUTPUT_LIMIT or shorter is None:
                    raise
                request = replace(request, max_tokens=shorter)
            else:
                self._book(request, reply.model or self._name, reply.usage, reply.content + reply.reasoning)
                return reply

    def booked(self, job: Compression, step: str) -> tuple[ResponseBooked, ...]:
        """The responses so far, as facts."""
        return tuple(replace(each, turn=job.turn, step=step) for each in self.responses)

    def _book(self, request: ModelRequest, model: str, usage: Usage, said: str | None) -> None:
        """Book a call; `said` is what was answered, null for a call that failed."""
        cost = self._pricing.cost_usd(model, usage)
        fact = ResponseBooked(
            turn=None, step="", purpose=self._purpose, model=model, usage=usage, cost_usd=cost
        )
        if usage == NO_USAGE:
            sent = sum(len(message.content) for message in request.messages) + len(request.system_prompt)
            used = Usage(sent // CHARACTERS_A_TOKEN, len(said or "") // CHARACTERS_A_TOKEN)
            fact = replace(
                fact,
                cost_usd=0.0 if said is None else None,  # a response whose usage is unknown has no known cost
                estimated=used,
                estimated_cost_usd=self._pricing.cost_usd(model, used),
            )
        self.responses.append(fact)


def nothing_before(session: Session) -> None:
    """Where nobody else wants to see what is about to be compressed."""


class Flush:
    """`compression.flush`: one call with the memory tool alone; what it saves is saved with the outcome.

    `name` is the model that is asked; null: the session's own. `before(session)` is called when it has been
    asked: the last moment at which all that was said is there.
    """

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        pricing: Pricing,
        contexts: ContextEngines,
        window_of: Callable[[str], int],
        name: str | None = None,
        *,
        before: Callable[[Session], None] = nothing_before,
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._pricing = pricing
        self._contexts = contexts
        self._window_of = window_of
        self._name = name
        self._before = before

    def perform(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        outcome = self._flushed(session, step, cancel)
        self._before(session)
        return outcome

    def _flushed(self, session: Session, step: Step, cancel: Cancel) -> c.FinishFlush:
        job = compression_of(session)
        tools = tuple(spec for spec in self._toolbox.specs((FLUSH_TOOLSET,)) if spec.name == "memory")
        if not tools or session.started is None:
            return c.FinishFlush(step=step.id, message="memory is turned off")
        name = self._name or session.model or session.started.model
        summariser = Summariser(self._model, name, self._pricing, "flush", cancel)
        try:
            reply = summariser.ask(
                session.started.system_prompt, self._material(session, name), tools, FLUSH_TOKENS
            )
        except ModelError as error:
            if error.kind == CANCELLED and cancel.reason != CANCELLED:
                raise Stopped from error
            return c.FinishFlush(
                step=step.id, responses=summariser.booked(job, step.id), message=error.message
            )
        changes = [
            change
            for index, call in enumerate(reply.tool_calls)
            if call.name == "memory" and (change := self._change(session, step, call, index, cancel))
        ]
        return c.FinishFlush(
            step=step.id,
            responses=summariser.booked(job, step.id),
            change=in_sequence(changes) if changes else None,
        )

    def _material(self, session: Session, model: str) -> tuple[Message, ...]:
        """The conversation as far as it fits into the window, the oldest left out, and the note behind it."""
        assert session.started is not None
        room = int(self._window_of(model) * 0.9) - FLUSH_TOKENS
        context = self._contexts.of(session)
        room -= context.estimate((UserMessage(session.started.system_prompt),))
        said = context.newest(session.messages, room)
        if said and isinstance(said[-1], UserMessage):
            return (*said[:-1], UserMessage(f"{said[-1].content}\n\n{FLUSH_NOTE}"))
        return (*said, UserMessage(FLUSH_NOTE))

    def _change(
        self, session: Session, step: Step, call: ToolCall, index: int, cancel: Cancel
    ) -> Change | None:
        context = ToolContext(
            session=session.id,
            turn=compression_of(session).turn or "",
            call=f"{step.id}-{index}",
            workdir=workdir_of(session),
            attended=False,
            author="flush",
        )
        return self._toolbox.run(call, context, (FLUSH_TOOLSET,), cancel).change


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


def compression_of(session: Session) -> Compression:
    """The compression under way, which a due step's session always has."""
    assert session.compression is not None, f"{session.stream} is not being compressed"
    return session.compression
