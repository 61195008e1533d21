"""A session in an editor, and one prompt of it: what is shown of its turn, and what the editor is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import acp
import click
from acp import schema as s

from hermes_jobs.errors import Rejected
from hermes_jobs.features.acp.updates import Updates
from hermes_jobs.features.acp.watch import Seen, Watch
from hermes_jobs.interfaces.cli.questions.approval import SCOPES, ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.form_entry import SKIP
from hermes_jobs.interfaces.cli.questions.input import InputQuestion, how_to_answer
from hermes_jobs.kernel.streams.approval_rules import offer_text
from hermes_jobs.kernel.turns.questions import Question, question_of

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.client.turns import Turns
    from hermes_jobs.kernel.live import LiveChannel, TextDelta
    from hermes_jobs.kernel.turns.session import EndedTurn
    from hermes_jobs.kernel.turns.submitted import Submitted

POLL_SECONDS = 1.0
KINDS = {"y": "allow_once", "s": "allow_always", "a": "allow_always", "n": "reject_once"}


class Conversation:
    """A session. `is_new`: the log does not have it yet. `question`: what the last prompt ended with."""

    def __init__(  # noqa: PLR0913
        self,
        application: Application,
        turns: Turns,
        client: Any,
        by: str,
        channels: Sequence[LiveChannel],
        lineage: str,
        folder: str,
        *,
        is_new: bool,
    ) -> None:
        self.application = application
        self.turns = turns
        self.client = client
        self.by = by
        self.channels = channels
        self.lineage = lineage
        self.folder = folder
        self.is_new = is_new
        self.running: set[Prompted] = set()
        self.question: tuple[Submitted, Question] | None = None

    def answer(self, text: str) -> Submitted:
        """Answer the question; returns its turn. Raises `Rejected`, and keeps the question."""
        assert self.question is not None
        submitted, question = self.question
        is_number = bool(question.choices) and text.isdecimal() and len(text) < 4
        self.turns.answer(
            submitted.turn,
            None if text == SKIP else int(text) if is_number else text,
            call=question.call,
            key=question.key,
            action="decline" if text == SKIP else "accept",
            by=self.by,
        )
        self.question = None
        return submitted

    async def follow(self, submitted: Submitted, position: int) -> EndedTurn | None:
        """Show a turn from that position of the log on, until it ends, or asks (None)."""
        prompted = Prompted(self, submitted, position)
        self.running.add(prompted)
        try:
            return await prompted.follow()
        finally:
            self.running.discard(prompted)

    def cancel(self) -> None:
        """Cancel the turns that are shown, or the one that asks."""
        turns = {prompted.submitted.turn for prompted in self.running}
        if self.question is not None:
            turns.add(self.question[0].turn)
            self.question = None
        for turn in turns:
            with suppress(Rejected):  # it has ended
                self.turns.cancel(turn, by=self.by)

    async def show(self, update: Any) -> None:
        """Send an update to the editor."""
        await self.client.session_update(session_id=self.lineage, update=update)

    async def permit(self, question: ApprovalQuestion, updates: Updates, turn: str) -> None:
        """Ask the editor about a call, and record its answer about this very call."""
        described = updates.described(question.tool_call)
        try:
            asked = await self.client.request_permission(
                session_id=self.lineage,
                tool_call=s.ToolCallUpdate(tool_call_id=question.call, status="pending", **described),
                options=_options(question),
            )
        except acp.RequestError:  # an editor that cannot ask: the call waits for an answer elsewhere
            return
        chosen = getattr(asked.outcome, "option_id", None)
        with suppress(Rejected):  # it was answered elsewhere, or its time is over
            await asyncio.to_thread(self._record, question, turn, chosen)

    def _record(self, question: ApprovalQuestion, turn: str, chosen: str | None) -> None:
        if chosen is None:
            self.turns.cancel(turn, by=self.by)
        elif chosen in SCOPES and chosen in question.keys:
            self.turns.approve(turn, call=question.call, scope=SCOPES[chosen], by=self.by)
        else:
            self.turns.deny(turn, call=question.call, by=self.by)


class Prompted:
    """A prompt under way, until its turn ends or asks a question that the next prompt answers."""

    def __init__(self, conversation: Conversation, submitted: Submitted, position: int) -> None:
        self.submitted = submitted
        self._conversation = conversation
        self._watch = Watch(conversation.application, submitted, position)
        self._updates = Updates(conversation.application, conversation.folder)
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._told: set[str] = set()

    async def follow(self) -> EndedTurn | None:
        """Show what happens; the end of the turn, or None where it asks. Raises `LogUnavailable`."""
        news: asyncio.Queue[TextDelta | Seen | BaseException] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def on_delta(delta: TextDelta) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(news.put_nowait, delta)

        leave = [channel.subscribe(self.submitted.turn, on_delta) for channel in self._conversation.channels]
        polling = asyncio.create_task(self._poll(news))
        try:
            while True:
                each = await news.get()
                if isinstance(each, BaseException):
                    raise each
                if not isinstance(each, Seen):
                    await self._show(self._updates.of_delta(each))
                    continue
                for event in each.events:
                    await self._show(self._updates.of_event(event))
                if each.ended is not None:
                    return each.ended
                if await self._asks(each):
                    return None
        finally:
            for end in leave:
                end()
            for task in (polling, *self._asked.values()):
                task.cancel()

    async def _poll(self, news: asyncio.Queue[Any]) -> None:
        try:
            while True:
                news.put_nowait(await asyncio.to_thread(self._watch.poll, POLL_SECONDS))
        except Exception as error:  # noqa: BLE001 - raised again by `follow`
            news.put_nowait(error)

    async def _show(self, updates: Any) -> None:
        for update in updates:
            await self._conversation.show(update)

    async def _asks(self, seen: Seen) -> bool:
        """Ask for permissions, and take back those that were given elsewhere; whether a question waits."""
        approvals = {each.call: each for each in seen.questions if isinstance(each, ApprovalQuestion)}
        for call in self._asked.keys() - approvals.keys():
            self._asked.pop(call).cancel()
        for call in approvals.keys() - self._asked.keys():
            asking = self._conversation.permit(approvals[call], self._updates, self.submitted.turn)
            self._asked[call] = asyncio.create_task(asking)
        for each in seen.questions:
            if isinstance(each, InputQuestion) and each.id not in self._told:
                self._told.add(each.id)
                question = question_of(each.request, each.input_request)
                await self._tell(each, is_form=question is None)
                if question is not None:
                    self._conversation.question = (self.submitted, question)
                    return True
        return False

    async def _tell(self, question: InputQuestion, *, is_form: bool) -> None:
        """Show a question; with the command that answers a form, which no prompt can."""
        lines = [click.unstyle(line) for line in question.lines(None)]
        if is_form:
            lines += how_to_answer(question.input_request, self.submitted.turn, f" --call {question.call}")
        text = self._conversation.application.settings.secrets.redact("\n".join(lines))
        await self._conversation.show(acp.update_agent_message_text(f"\n\n{text}\n\n"))


def _options(question: ApprovalQuestion) -> list[s.PermissionOption]:
    """The answers that the question takes; lasting ones say what they allow."""
    offer = question.request.offer
    what = "" if offer is None else offer_text(offer)
    names = {
        "y": "Allow once",
        "s": f"Allow for this session: {what}",
        "a": f"Always allow in this folder: {what}",
        "n": "Refuse",
    }
    return [
        s.PermissionOption(option_id=key, name=names[key], kind=KINDS[key])
        for key in names
        if key in question.keys
    ]
