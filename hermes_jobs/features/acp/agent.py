"""The agent's side of ACP, with the package `agent-client-protocol`. Its acts are recorded as `acp:CLIENT`.

A session gets its id at once, and begins in the log with its first prompt. A question of the agent ends the
prompt; the next one is its answer.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import acp
from acp import schema as s

from hermes_jobs import __version__
from hermes_jobs.client.submission import settings_for_workers, submission
from hermes_jobs.client.turns import Turns
from hermes_jobs.errors import HermesJobsError, Rejected
from hermes_jobs.features.acp.conversation import Conversation
from hermes_jobs.features.acp.prompts import read_prompt
from hermes_jobs.features.acp.updates import Updates
from hermes_jobs.features.gateway.fallback_worker import FallbackWorker
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.live import LocalChannel
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.runtime.redis_live import channel_of

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

LISTED = 100
NOT_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
STOPS = {"length": "max_tokens", "refused": "refusal"}
FAILED = -32603
"""The code of JSON-RPC for an error of ours."""
INVALID = -32602


class EditorAgent:
    """The methods of ACP for one editor."""

    def __init__(self, application: Application, model: str | None) -> None:
        self._application = application
        self._model = model
        self._turns = Turns(application)
        self._by = "acp"
        self._client: Any = None
        self._open: dict[str, Conversation] = {}
        self._going: asyncio.Task[Any] | None = None
        self.local = LocalChannel()
        self._channels = (self.local, channel_of(application))

    def on_connect(self, conn: Any) -> None:
        """Take the connection."""
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_info: Any = None, **_others: Any
    ) -> s.InitializeResponse:
        """Say what this agent can do."""
        name = NOT_NAMES.sub("-", client_info.name if client_info else "").strip("-")[:40]
        self._by = f"acp:{name or 'client'}"
        return s.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=s.AgentCapabilities(
                load_session=True,
                prompt_capabilities=s.PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=s.SessionCapabilities(list=s.SessionListCapabilities()),
            ),
            agent_info=s.Implementation(name="hermes-jobs", title="hermes-jobs", version=__version__),
        )

    async def authenticate(self, **_others: Any) -> None:
        """Nothing to do: who starts the command owns the home."""

    async def new_session(self, cwd: str, **_others: Any) -> s.NewSessionResponse:
        """A session that works in that folder. MCP servers are those of the home, not the editor's."""
        name = self._application.ids.name("s")
        self._open[name] = self._conversation(name, cwd, is_new=True)
        return s.NewSessionResponse(session_id=name)

    async def load_session(self, cwd: str, session_id: str, **_others: Any) -> s.LoadSessionResponse:
        """Send what was said and done in a session, and go on with a turn that runs or waits.

        Raises `RequestError` for an unknown one.
        """
        views = self._application.views
        view = await self._do(lambda: views.session(views.find_session(session_id)))
        folder = view.workdir or cwd
        conversation = self._open[session_id] = self._conversation(view.lineage, folder, is_new=False)
        updates, position = Updates(self._application, folder, replays=True), 0
        for recorded in await self._do(self._application.log.read, view.stream):
            position = recorded.position
            for update in updates.of_event(recorded.event):
                await conversation.show(update)
        current = (await self._do(self._application.engine().sessions.load, view.stream)).current
        if current is not None:
            submitted = Submitted(turn=current.id, stream=view.stream)
            self._going = asyncio.create_task(conversation.follow(submitted, position))
        return s.LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_others: Any) -> s.ListSessionsResponse:
        """The newest sessions with a folder, or those of that folder."""
        views = await self._do(self._application.views.sessions, limit=LISTED)
        return s.ListSessionsResponse(
            sessions=[
                s.SessionInfo(
                    session_id=view.lineage, cwd=view.workdir, title=view.title, updated_at=view.last_at
                )
                for view in views
                if view.workdir and cwd in (None, view.workdir)
            ]
        )

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_others: Any) -> s.PromptResponse:
        """Run a turn, or answer the question with which the last one waits; until it ends or asks."""
        conversation = self._found(session_id)
        text, files = await self._do(read_prompt, prompt)
        position = self._application.log.last_position()
        if conversation.question is not None:
            submitted = await self._do(conversation.answer, text)
        else:
            submitted = await self._do(self._submit, conversation, text, files)
        try:
            ended = await conversation.follow(submitted, position)
        except HermesJobsError as error:
            raise _error(error) from error
        if ended is None:
            return s.PromptResponse(stop_reason="end_turn")
        return await self._stopped(submitted, ended.status, ended.stopped_by)

    async def cancel(self, session_id: str, **_others: Any) -> None:
        """Cancel the turn of the prompt under way; what was done stays."""
        if session_id in self._open:
            await self._do(self._open[session_id].cancel)

    def _conversation(self, lineage: str, folder: str, *, is_new: bool) -> Conversation:
        return Conversation(
            self._application,
            self._turns,
            self._client,
            self._by,
            self._channels,
            lineage,
            folder,
            is_new=is_new,
        )

    def _found(self, session_id: str) -> Conversation:
        if session_id not in self._open:
            raise acp.RequestError.resource_not_found(session_id)
        return self._open[session_id]

    def _submit(self, conversation: Conversation, text: str, files: Sequence[Any]) -> Submitted:
        """Submit a prompt. Raises `Rejected`, `Misconfigured`, `LogUnavailable`."""
        application = self._application
        if not text and not files:
            raise Rejected("The prompt is empty.", kind="usage")
        attachments = application.intake.attach(files) if files else ()
        carried = settings_for_workers(application, self._model)
        application.sync_files()
        is_new = conversation.is_new
        turn = TurnSubmitted(
            turn=application.ids.name("t"),
            text=text or "Look at what is attached.",
            source=self._by,
            session=conversation.lineage,
            if_busy=application.settings.session.if_busy,
            attachments=attachments,
        )
        opening = Opening(workdir=conversation.folder, model=self._model) if is_new else Opening()
        submitted = application.engine().submit(
            submission(turn, opening, carried, is_first=is_new),
            asked_for="" if is_new else conversation.lineage,
        )
        conversation.is_new = False
        return submitted

    async def _stopped(self, submitted: Submitted, status: str, stopped_by: str | None) -> s.PromptResponse:
        """Why the prompt ended. Raises `RequestError` for a turn that failed."""
        if status == "cancelled":
            return s.PromptResponse(stop_reason="cancelled")
        if status == "failed":
            error = (await self._do(self._turns.outcome, submitted)).error
            text = "The turn failed." if error is None else f"{error.message} {error.hint}".strip()
            raise acp.RequestError(FAILED, self._application.settings.secrets.redact(text))
        reason = STOPS.get(stopped_by, "max_turn_requests") if stopped_by else "end_turn"
        return s.PromptResponse(stop_reason=reason)

    async def _do(self, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call the function in a thread. Raises `RequestError` with its error."""
        try:
            return await asyncio.to_thread(act, *arguments, **named)
        except HermesJobsError as error:
            raise _error(error) from error


def _error(error: HermesJobsError) -> acp.RequestError:
    text = f"{error.message} {error.hint or ''}".strip() if isinstance(error, Rejected) else str(error)
    return acp.RequestError(INVALID if isinstance(error, Rejected) else FAILED, text)


def serve(application: Application, model: str | None) -> None:
    """Serve until standard input ends, or a signal ends this process."""
    agent = EditorAgent(application, model)
    worker = FallbackWorker(application, note, on_delta=agent.local.publish)
    worker.start()

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        await acp.run_agent(agent)

    try:
        with suppress(asyncio.CancelledError):
            asyncio.run(run())
    finally:
        worker.stop()
