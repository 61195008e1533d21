"""The MCP server, with the SDK, and its service over stdio.

| allowed     | tools besides those that only read | what else                                              |
|-------------|------------------------------------|--------------------------------------------------------|
| `send`      | `send`, `cancel`                   | this process runs turns while no worker is alive       |
| `schedules` | `change_schedules`                 |                                                        |
| `approve`   |                                    | clients that can ask a user get the turn's questions    |
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio
import click
from anyio import to_thread
from anyio.abc import TaskStatus
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import Field

from hermes_jobs import __version__
from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.features.gateway.fallback_worker import FallbackWorker
from hermes_jobs.features.mcp.serve import forms
from hermes_jobs.features.mcp.serve.elicitations import elicitation, modes, result_of
from hermes_jobs.features.mcp.serve.requests import NewSession, Requests
from hermes_jobs.features.mcp.serve.turn_tasks import TurnTasks
from hermes_jobs.features.mcp.serve.watched_turn import WatchedTurn
from hermes_jobs.features.schedules.tools import Action
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import INTERRUPTED
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.views.models import TurnStatus
from hermes_jobs.tools.tool import ToolFailed

INSTRUCTIONS = """hermes-jobs is a personal agent that runs as a job system. A text that is sent becomes a
turn, which survives restarts and may take long: `wait` gives the answer where `send` did not wait for it."""

POLL_SECONDS = 1.0  # seconds between polls of a turn without events
MAX_WAIT = 600.0
MAX_ROUNDS = 8  # rounds of questions in one call: clients stop after ten
MODERN = "2026-07-28"
"""The first revision in which questions travel in the result of a call."""

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)

P = ParamSpec("P")
T = TypeVar("T")
TurnId = Annotated[str, Field(description="The turn's id, or the beginning of it.")]
Seconds = Annotated[
    float, Field(ge=0, le=MAX_WAIT, description="How long to wait for the answer. The turn continues.")
]
Limit = Annotated[int, Field(ge=1, le=200)]


class AgentServer:
    """The tools of one client, over `requests`."""

    def __init__(self, requests: Requests, allowed: Collection[str]) -> None:
        self._requests = requests
        self._asks = "approve" in allowed
        extensions = [TurnTasks(requests, can_ask=self._asks)] if "send" in allowed else []
        self.server = MCPServer(
            "hermes-jobs", version=__version__, instructions=INSTRUCTIONS, extensions=extensions
        )
        tools: list[tuple[Callable[..., Any], ToolAnnotations]] = [
            *((tool, READS) for tool in (self.turn, self.turns, self.wait)),
            *((tool, READS) for tool in (self.search_sessions, self.read_memory, self.schedules)),
        ]
        if "send" in allowed:
            tools += [(self.send, WRITES), (self.cancel, WRITES)]
        if "schedules" in allowed:
            tools.append((self.change_schedules, WRITES))
        for tool, hints in tools:
            self.server.add_tool(tool, annotations=hints, structured_output=False)

    async def send(
        self,
        ctx: Context[Any, Any],
        text: Annotated[str, Field(description="What the agent is to do or to answer.")],
        session: Annotated[str, Field(description="The session to continue in; empty: a new one.")] = "",
        workdir: Annotated[str, Field(description="The folder that a new session works in.")] = "",
        model: Annotated[str, Field(description="The model; empty: the configured one.")] = "",
        key: Annotated[
            str, Field(description="An idempotency key: the same key again gives the same turn.")
        ] = "",
        wait_seconds: Seconds = 20,
    ) -> CallToolResult | InputRequiredResult:
        """Send a text to the agent, and wait some seconds for its answer.

        If the answer takes longer, the turn's id is returned, and the turn continues: use `wait`.
        Give a key where you may have to send the same text again.
        """
        if ctx.request_state is not None:
            turn, _, _ = ctx.request_state.partition(" ")
            submitted = await self._do(self._requests.find, turn)
        else:
            submitted = await self._do(
                self._requests.submit, text, session=session, workdir=workdir, model=model, key=key
            )
        return await self._answer_of(ctx, submitted, wait_seconds)

    async def wait(
        self, ctx: Context[Any, Any], turn: TurnId, wait_seconds: Seconds = 30
    ) -> CallToolResult | InputRequiredResult:
        """Wait until a turn ends, or for some seconds, and give its answer or how it stands."""
        return await self._answer_of(ctx, await self._do(self._requests.find, turn), wait_seconds)

    async def turn(self, turn: TurnId) -> CallToolResult:
        """Give a turn's answer, or how it stands and what it waits for."""
        return result_of(await self._do(self._requests.turn, turn))

    async def turns(
        self,
        limit: Limit = 20,
        status: Annotated[TurnStatus | None, Field(description="Only turns with this status.")] = None,
        session: Annotated[str, Field(description="Only turns of this session.")] = "",
    ) -> CallToolResult:
        """List turns, newest first."""
        return result_of(await self._do(self._requests.turns, limit=limit, status=status, session=session))

    async def cancel(self, turn: TurnId) -> CallToolResult:
        """Cancel a turn that was sent here. What was done stays."""
        return result_of(await self._do(self._requests.cancel, turn))

    async def search_sessions(
        self,
        query: Annotated[
            str, Field(description='Words or a question; "phrases", begin*, OR and NOT work.', min_length=1)
        ],
        limit: Limit = 20,
    ) -> CallToolResult:
        """Search what was said in all conversations with the agent."""
        return result_of(await self._do(self._requests.search, query, limit))

    async def read_memory(self) -> CallToolResult:
        """Read what the agent remembers: about the user, and everything else."""
        return result_of(await self._do(self._requests.memory))

    async def schedules(self) -> CallToolResult:
        """List the prompts that are sent by the clock, the next that is due first."""
        return result_of(await self._do(self._requests.schedules))

    async def change_schedules(
        self,
        action: Annotated[Action, Field(description="What to do.")],
        when: Annotated[str, Field(description="For add: `every weekday at 9`, `in 2 hours`.")] = "",
        task: Annotated[str, Field(description="For add: what to do then, in full sentences.")] = "",
        name: Annotated[str, Field(description="For add: a short name.")] = "",
        schedule: Annotated[str, Field(description="For pause, resume, remove: its id or name.")] = "",
    ) -> CallToolResult:
        """Add, pause, resume or remove a prompt that is sent by the clock."""
        change = self._requests.change_schedules
        return result_of(await self._do(change, action, when=when, task=task, name=name, schedule=schedule))

    # --- waiting ----------------------------------------------------------------------------------

    async def _answer_of(
        self, ctx: Context[Any, Any], submitted: Submitted, seconds: float
    ) -> CallToolResult | InputRequiredResult:
        """The turn's status at its end, when it waits for a user, or after so many seconds."""
        watched, until, text = self._requests.watch(submitted), time.monotonic() + seconds, 0
        supported = modes(ctx.client_capabilities) if self._asks else frozenset()
        may_ask = bool(supported) and await self._do(self._requests.is_own, submitted)
        may_ask = may_ask and await self._take_answers(ctx, watched)
        current = await self._do(watched.poll)
        while True:
            for text, line in enumerate(current.progress, text + 1):  # noqa: B020 - it counts on
                await ctx.report_progress(text, None, self._requests.redact(line))
            remaining = until - time.monotonic()
            askable = (
                [question for question in current.questions if forms.form_mode(question) in supported]
                if may_ask
                else []
            )
            if askable:
                if _is_modern(ctx):
                    return self._questions(submitted, askable, _rounds(ctx) + 1)
                may_ask = await self._ask(ctx, watched, askable[0])
                until = max(until, time.monotonic() + remaining)
            elif current.is_over or current.is_held or remaining <= 0:
                return result_of(await self._do(self._requests.turn, submitted.turn))
            current = await self._do(watched.poll, min(POLL_SECONDS, max(remaining, 0.0)))

    def _questions(
        self, submitted: Submitted, questions: Iterable[AnyQuestion], rounds: int
    ) -> InputRequiredResult:
        """The questions as the result of the call; the client repeats the call with the answers."""
        return InputRequiredResult(
            input_requests={
                question.id: elicitation(question, self._requests.question_text(question))
                for question in questions
            },
            request_state=f"{submitted.turn} {rounds}",
        )

    async def _take_answers(self, ctx: Context[Any, Any], watched: WatchedTurn) -> bool:
        """Record the answers in the call; returns whether more questions are allowed."""
        decided = _rounds(ctx) < MAX_ROUNDS
        responses = ctx.input_responses or {}
        for question in (await self._do(watched.poll)).questions if responses else ():
            answer = responses.get(question.id)
            if isinstance(answer, ElicitResult):
                decided = await self._take(watched, question, answer) and decided
        return decided

    async def _ask(self, ctx: Context[Any, Any], watched: WatchedTurn, question: AnyQuestion) -> bool:
        """Ask during the call, as in the older protocol; returns whether it was decided, here or
        elsewhere."""
        answers: list[ElicitResult] = []
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                with suppress(MCPError):
                    answers.append(await self._ask_now(ctx, question))
                closed.set()

            closed = anyio.Event()
            tasks.start_soon(ask)
            while not closed.is_set() and question in (await self._do(watched.poll, POLL_SECONDS)).questions:
                pass
            tasks.cancel_scope.cancel()
        if answers:
            return await self._take(watched, question, answers[0])
        return question not in (await self._do(watched.poll)).questions

    async def _ask_now(self, ctx: Context[Any, Any], question: AnyQuestion) -> ElicitResult:
        text, call = self._requests.question_text(question), ctx.request_id
        if address := forms.address(question):
            return await ctx.session.elicit_url(text, address, question.id, related_request_id=call)
        return await ctx.session.elicit_form(text, forms.form(question), related_request_id=call)

    async def _take(self, watched: WatchedTurn, question: AnyQuestion, answer: ElicitResult) -> bool:
        """Record a user's answer; returns whether it was a decision."""
        return await self._do(
            self._requests.answer, watched.submitted, question, answer.action, answer.content
        )

    async def _do(self, act: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call the function in a thread. Raises `ToolError` with the error, for the client's model."""
        try:
            return await to_thread.run_sync(partial(act, *arguments, **named))
        except click.ClickException as error:
            message = error.format_message()
        except Rejected as rejection:
            message = f"{rejection.message} {rejection.hint}".rstrip()
        except (HermesJobsError, ToolFailed) as error:
            message = str(error)
        raise ToolError(self._requests.redact(message))


def _is_modern(ctx: Context[Any, Any]) -> bool:
    return (ctx.protocol_version or "") >= MODERN


def _rounds(ctx: Context[Any, Any]) -> int:
    """The number of question rounds of this call."""
    return int((ctx.request_state or "").partition(" ")[2] or 0)


def serve(context: CliContext, allowed: Collection[str], new: NewSession) -> None:
    """Serve until standard input ends, or until a signal ends this process."""
    server = AgentServer(Requests(context.application, new), allowed).server
    with ExitStack() as works:

        async def run() -> None:
            async with anyio.create_task_group() as tasks:
                await tasks.start(_end_on_signal, works.close)
                if "send" in allowed:
                    worker = FallbackWorker(context.application, note)
                    worker.start()
                    works.callback(worker.stop)
                await server.run_stdio_async()
                tasks.cancel_scope.cancel()

        anyio.run(run)


async def _end_on_signal(
    close: Callable[[], None], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Close, and exit the process: a thread is blocked reading standard input."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            await to_thread.run_sync(close)
            os._exit(INTERRUPTED if number == signal.SIGINT else 0)
