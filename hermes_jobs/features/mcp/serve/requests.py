"""Requests of MCP clients, independent of MCP: turns, searches, memory, schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import click
import msgspec

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.submission import settings_for_workers, submission
from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.serve import forms
from hermes_jobs.features.mcp.serve.watched_turn import WatchedTurn
from hermes_jobs.features.memory.cli.contents import TITLES
from hermes_jobs.features.memory.rules.memory import TARGETS
from hermes_jobs.features.schedules.cli.format import timing_words
from hermes_jobs.features.schedules.rules.commands import USER
from hermes_jobs.features.schedules.schedule_json import schedule_json
from hermes_jobs.features.schedules.tables import select_schedules
from hermes_jobs.features.schedules.tools import Action, schedule_tool
from hermes_jobs.features.search.cli import hit_json
from hermes_jobs.features.search.conversations import Conversations
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.output import cut, one_line
from hermes_jobs.interfaces.cli.param_types import FolderParam
from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.input import how_to_answer, require_no_secret
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion
from hermes_jobs.kernel.engine.ports import ToolContext
from hermes_jobs.kernel.events import Mode, Opening, TurnSubmitted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.views.models import TurnStatus, TurnView
from hermes_jobs.kernel.views.turn_json import as_object, listed_turn_json, turn_json
from hermes_jobs.runtime.recovery import reclaim_from_dead_workers
from hermes_jobs.text.search.snippet import CLOSE, OPEN

SOURCE = "mcp"
TEXT_WIDTH = 100  # columns of a turn's text in a list


class NewSession(NamedTuple):
    """Settings of clients' new sessions: folder and permission mode."""

    workdir: str | None
    mode: Mode | None


class SendReply(NamedTuple):
    """A text for the client's model, and the same as a JSON object."""

    text: str
    value: dict[str, Any]


class Requests:
    """Handles the requests of one client. Thread-safe."""

    def __init__(
        self,
        application: Application,
        new: NewSession,
        *,
        source: str = SOURCE,
        account: Callable[[], tuple[str, float | None]] = lambda: ("", None),
    ) -> None:
        """`source`: what the client is called in the log. `account`: what its turns are charged to, and
        the most of it in dollars."""
        self._new = new
        self._source = source
        self._account = account
        self._application = application
        self._engine = self._application.engine()
        self._views = self._application.views

    # --- turns ------------------------------------------------------------------------------------

    def submit(self, text: str, *, session: str, workdir: str, model: str, key: str) -> Submitted:
        """Submit a text, in a new session unless one is named; once for each non-empty key.

        Raises `Rejected`, click's usage errors, `LogUnavailable`.
        """
        application = self._application
        if not text.strip():
            raise Rejected("The text is empty.", kind="usage")
        if session and workdir:
            raise Rejected("A session keeps its folder: leave out `workdir`.", kind="usage")
        resolved = self._views.session(self._views.find_session(session)) if session else None
        lineage = resolved.lineage if resolved else None
        folder = FolderParam().convert(workdir, None, None) if workdir else self._new.workdir
        model_name = application.settings.models.aliases.get(model, model) or None
        application.check(model_name or (resolved.model if resolved else None) or None)
        carried = settings_for_workers(application, model_name)
        application.sync_files()
        account, account_usd = self._account()
        turn = TurnSubmitted(
            turn=application.ids.name("t"),
            text=text,
            source=self._source,
            session=lineage or application.ids.name("s"),
            key=key or None,
            if_busy=application.settings.session.if_busy,
            account=account,
            account_usd=account_usd,
        )
        opening = Opening(workdir=folder, model=model_name, mode=None if lineage else self._new.mode)
        command = submission(turn, opening, carried, is_first=lineage is None)
        return self._engine.submit(command, asked_for=lineage or "")

    def find(self, text: str) -> Submitted:
        """The turn of an id or its beginning. Raises `Rejected`."""
        turn = self._views.turn(self._views.find_turn(text))
        return Submitted(turn=turn.id, stream=turn.stream)

    def is_own(self, submitted: Submitted) -> bool:
        """Whether an MCP client has submitted the turn."""
        return self._views.turn(submitted.turn).source == self._source

    def times(self, submitted: Submitted) -> tuple[str, str]:
        """The times of the turn's submission and last event (ISO 8601)."""
        view = self._views.turn(submitted.turn)
        return view.submitted_at, view.seen_at

    def watch(self, submitted: Submitted) -> WatchedTurn:
        """The turn, for waiting."""
        return WatchedTurn(self._application, submitted)

    def answer(
        self, submitted: Submitted, question: AnyQuestion, action: str, content: Mapping[str, Any] | None
    ) -> bool:
        """Record a user's answer to a question, unless it is late or invalid; returns whether it was a
        valid decision."""
        command = forms.command(question, action, content, self._application.clock.now())
        stream = question.asker.stream if question.asker else submitted.stream
        try:
            if isinstance(command, c.AnswerInput):
                require_no_secret(command.content, self.redact)
            if command is not None:
                if self._source != SOURCE:
                    command = msgspec.structs.replace(command, by=self._source)
                self._engine.execute(stream, command)
        except Rejected:
            return False
        return command is not None

    def cancel(self, text: str) -> SendReply:
        """Cancel a turn that an MCP client has sent. Raises `Rejected`."""
        submitted = self.find(text)
        if not self.is_own(submitted):
            raise Rejected(f"Turn {submitted.turn} was not sent by an MCP client.", kind="usage")
        session = self._engine.execute(submitted.stream, c.CancelTurn(turn=submitted.turn, by=self._source))
        if submitted.turn not in session.ended:
            reclaim_from_dead_workers(self._engine, self._application.workers.failure_detector())
        return self.turn(submitted.turn)

    def turn(self, text: str) -> SendReply:
        """The status of a turn, with its answer or its questions. Raises `Rejected`."""
        submitted = self.find(text)
        view = self._views.turn(submitted.turn)
        questions = self.watch(submitted).poll().questions
        waiting = [
            {"call": question.call, "question": self.question_text(question)} for question in questions
        ]
        lines = [
            *self._lines(view),
            *(line for question in questions for line in _open_question(submitted.turn, question)),
        ]
        questions_field = {"questions": waiting} if waiting else {}
        return self._reply(
            "\n".join(lines), {**as_object(turn_json(view)), "text": view.text, **questions_field}
        )

    def _lines(self, view: TurnView) -> Iterator[str]:
        """The answer or the failure, and a line about the turn."""
        if view.answer is not None:
            yield f"{view.answer}\n"
        if view.error is not None:
            yield f"{view.error.message} {view.error.hint}".rstrip()
        status: str = view.status_word
        if view.waits_until is not None:
            status += f" until {format_time(view.waits_until)}"
        yield f"[turn {view.id} of session {view.session}: {status}]"
        if view.waits_for:
            yield view.waits_for
        if view.ended_at is None and not self._application.workers.are_live():
            yield "No worker is alive: it continues when a worker is available."

    def turns(self, *, limit: int, status: TurnStatus | None, session: str) -> SendReply:
        """The newest turns. Raises `Rejected` for an unknown session."""
        chosen = self._views.find_session(session) if session else None
        turn_views = self._views.turns(session=chosen, status=status, limit=limit)
        lines = [
            f"{turn.id}  {turn.status_word}  {format_time(turn.submitted_at)}  "
            f"{cut(one_line(turn.text), TEXT_WIDTH)}"
            for turn in turn_views
        ]
        return self._reply(
            "\n".join(lines) or "No turns.",
            {"turns": [as_object(listed_turn_json(turn)) for turn in turn_views]},
        )

    # --- reading -----------------------------------------------------------------------

    def search(self, query: str, limit: int) -> SendReply:
        """Search all conversations, best hits first."""
        hits = [
            msgspec.structs.replace(hit, snippet=hit.snippet.replace(OPEN, "").replace(CLOSE, ""))
            for hit in Conversations(self._views).search(query, limit=limit)
        ]
        lines = [f"{hit.session}  {format_time(hit.at)}  {hit.role}: {hit.snippet}" for hit in hits]
        text = "\n".join(lines) or "Nothing was found."
        return self._reply(text, {"hits": [hit_json(hit) for hit in hits]})

    def memory(self) -> SendReply:
        """The memory's entries."""
        now = self._application.memory.preview().memory
        entries = {target: list(now.entries(target)) for target in TARGETS}
        parts = (
            "\n".join((f"{TITLES[target]}:", *(f"- {entry}" for entry in entries[target] or ("(nothing)",))))
            for target in reversed(TARGETS)
        )
        return self._reply(
            "\n\n".join(parts), {str(target): entries_found for target, entries_found in entries.items()}
        )

    def schedules(self) -> SendReply:
        """The schedules, next due first."""
        schedule_views = self._views.read(select_schedules)
        lines = [
            f"{schedule.id}  {schedule.status}  {timing_words(schedule.plan)}: {schedule.plan.name}"
            for schedule in schedule_views
        ]
        text = "\n".join(lines) or "No schedules."
        return self._reply(text, {"schedules": [schedule_json(schedule) for schedule in schedule_views]})

    def change_schedules(
        self, action: Action, *, when: str, task: str, name: str, schedule: str
    ) -> SendReply:
        """Add, pause, resume or remove a schedule. Raises `Rejected`, `ToolFailed`."""
        application = self._application
        tool = schedule_tool(application)
        caller = ToolContext(
            session="",
            turn=USER,
            call="",
            workdir=self._new.workdir or "",
            attended=False,
            source=self._source,
        )
        outcome = tool.schedule(
            caller, action, when or None, task or None, name or None, schedule=schedule or None
        )
        assert outcome.change is not None, outcome
        text = self._engine.change(outcome.change, f"{self._source} {action}").answer
        return self._reply(text, {"done": text})

    def question_text(self, question: AnyQuestion) -> str:
        """The whole question, without colours and secrets."""
        return self.redact(_plain(question))

    def redact(self, text: str) -> str:
        """The text without any secret of this process."""
        return self._application.settings.secrets.redact(text)

    def _reply(self, text: str, value: dict[str, Any]) -> SendReply:
        return SendReply(self.redact(text), _redacted(msgspec.to_builtins(value), self.redact))


def _open_question(turn: str, question: AnyQuestion) -> Iterator[str]:
    """The open questions, with the command that answers."""
    flags = f" --call {question.call}"
    if isinstance(question, ApprovalQuestion):
        yield _plain(question)
        yield f"A person answers it: hermes-jobs turns approve {turn}{flags} (or: turns deny)"
    else:
        yield _plain(question).partition("\n")[0]
        yield from how_to_answer(question.input_request, turn, flags)


def _plain(question: AnyQuestion) -> str:
    """The whole question, without colours."""
    return click.unstyle("\n".join(question.lines(None)))


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {name: _redacted(item, redact) for name, item in value.items()}
        case list() | tuple():
            return [_redacted(item, redact) for item in value]
        case _:
            return value
