"""`turn.run_tool`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from hermes_jobs.kernel.engine.handlers.prefetch import usage_event
from hermes_jobs.kernel.engine.handlers.tool_context import tool_context, toolsets_of
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import (
    CANCELLED,
    Cancel,
    Describe,
    File,
    HeardSound,
    StepInterrupted,
    Toolbox,
    ToolOutcome,
)
from hermes_jobs.kernel.events import ResponseBooked, ToolFinished, ToolInterrupted
from hermes_jobs.kernel.live import DeltaStream, OnDelta, ignore_delta
from hermes_jobs.kernel.streams.approval_rules import ApprovalRule
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.attachments import Attachment, with_seen
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import REFUSAL, is_blocked, with_warning
from hermes_jobs.kernel.turns.rounds import repeats_before
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.tool_results import preview_of, result_path
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.marks import without_marks

Attach = Callable[[Sequence[File], Cancel], tuple[tuple[Attachment, ...], tuple[str, ...]]]
"""Stores what can be shown of files durably; returns that, and why others cannot be."""


def attach_nothing(files: Sequence[File], _cancel: Cancel) -> tuple[tuple[Attachment, ...], tuple[str, ...]]:
    """An `Attach` where nothing is stored."""
    return (), tuple(f"{file.name} is not kept here." for file in files)


class RunTool(msgspec.Struct, frozen=True, eq=False):
    """`turn.run_tool`: runs one tool call; ends a wait for a person that has expired.

    `save_result(call, content)` also writes a large result to a file; the log has it in any case. `rules()`
    are the standing rules in force. `on_delta` is called with the progress of calls. `attach` stores what
    a tool shows, `describe` describes it to a model that cannot see.
    """

    toolbox: Toolbox
    save_result: Callable[[str, str], None] | None = None
    rules: Callable[[], tuple[ApprovalRule, ...]] = tuple
    on_delta: OnDelta = ignore_delta
    attach: Attach = attach_nothing
    describe: Describe | None = None

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """Run the tool. Raises `StepInterrupted` where it was interrupted by anything but a cancellation."""
        turn = running_turn(session)
        call = turn.call(step.id)
        assert call is not None, f"{step.id} is not a call of {turn.id}"
        if call.approval == "waiting":
            return c.ExpireApproval(step=step.id)
        if call.has_task and turn.cancelled_by is not None:
            return self._end_task(session, turn, call)
        if call.waits_for_input:
            return c.ExpireInput(step=step.id)
        outcome = self._outcome(session, turn, call, cancel)
        if outcome.delegated is not None:
            return outcome.delegated
        if outcome.waits is not None:
            return outcome.waits
        if outcome.interrupted:
            return self._interrupted(turn, call, outcome, cancel)
        return self._finished(turn, call, outcome, cancel)

    def _interrupted(self, turn: Turn, call: Call, outcome: ToolOutcome, cancel: Cancel) -> c.FinishToolCall:
        if cancel.reason != CANCELLED:
            raise StepInterrupted
        stopped = ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
        paid_for = tuple(event for event in outcome.events if isinstance(event, ResponseBooked))
        return c.FinishToolCall(step=call.id, outcome=stopped, events=paid_for)

    def _finished(self, turn: Turn, call: Call, outcome: ToolOutcome, cancel: Cancel) -> c.FinishToolCall:
        """The result; one that is too large for a message is stored separately and replaced by a preview."""
        attachments: tuple[Attachment, ...] = ()
        if outcome.files:
            attachments, notes = self.attach(outcome.files, cancel)
            outcome = _shown(outcome, attachments, notes)
            attachments, booked = self._described(turn, call, attachments, cancel)
            outcome = replace(outcome, events=(*outcome.events, *booked))
        large = outcome.source is None and len(outcome.content) > turn.result_chars
        path = result_path(call.id)
        foreign = without_marks(outcome.content)
        content = preview_of(foreign, path, turn.preview_chars) if large else foreign
        finished = ToolFinished(
            turn=turn.id,
            call=call.id,
            ok=outcome.ok,
            content=with_warning(repeats_before(turn, call.id), call.id, call.request, content),
            attempt=call.attempt,
            invalid=outcome.invalid,
            refused=outcome.refused,
            spilled_to=path if large else None,
            source=outcome.source,
            rule=outcome.rule,
            attachments=attachments,
            outside=outcome.outside,
        )
        large_content = outcome.content if large else None
        if large_content is not None and self.save_result is not None:
            self.save_result(call.id, large_content)
        return c.FinishToolCall(
            step=call.id,
            outcome=finished,
            events=outcome.events,
            large_result=large_content,
            change=outcome.change,
        )

    def _described(
        self, turn: Turn, call: Call, shown: tuple[Attachment, ...], cancel: Cancel
    ) -> tuple[tuple[Attachment, ...], tuple[ResponseBooked, ...]]:
        """What the tool shows, its pictures with their descriptions where the model cannot see them; and what
        these cost. A description that fails is left out: the tool has done its work."""
        heard: list[HeardSound] = []
        describe = self.describe if turn.describes else None
        with suppress(StepInterrupted):
            for item in shown if describe is not None else ():
                found = describe(turn.model or "", item, cancel) if describe and item.is_picture else None
                heard += [found] if found is not None else []
        booked = (usage_event(turn, call.id, each.paid, each.purpose) for each in heard if each.paid)
        return with_seen(shown, (each.heard for each in heard)), tuple(booked)

    def _end_task(self, session: Session, turn: Turn, call: Call) -> c.FinishToolCall:
        """Have the server cancel its task, because the turn ends."""
        context = tool_context(session, turn, call.id, self.rules())
        self.toolbox.of(session).run(call.request, context, toolsets_of(session, turn), CancelToken())
        stopped = ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
        return c.FinishToolCall(step=call.id, outcome=stopped)

    def _outcome(self, session: Session, turn: Turn, call: Call, cancel: Cancel) -> ToolOutcome:
        if is_blocked(repeats_before(turn, call.id), call.request):
            return ToolOutcome(content=REFUSAL, ok=False)
        context = tool_context(session, turn, call.id, self.rules())
        toolbox = self.toolbox.of(session)
        verdict = toolbox.verdict(call.request, context)
        if verdict.decision == "deny" or (verdict.decision == "ask" and call.approval != "given"):
            return ToolOutcome(content=verdict.refusal(), ok=False, refused=True, rule=verdict.rule)
        # Checked last: since the claim the process may have been stopped, and the call taken over.
        if cancel.reason not in {None, CANCELLED}:
            raise StepInterrupted
        text = DeltaStream(
            self.on_delta,
            turn=turn.id,
            step=call.id,
            attempt=call.attempt,
            call=f"{call.id}~{call.attempt}",
            tool=True,
        )
        try:
            watched = replace(context, tell=text.say)
            return toolbox.run(call.request, watched, toolsets_of(session, turn), cancel)
        finally:
            if text.text:
                text.end()


def _shown(outcome: ToolOutcome, attachments: Sequence[Attachment], notes: Sequence[str]) -> ToolOutcome:
    """The outcome with what cannot be shown in its text, which is never empty."""
    said = outcome.content.rstrip()
    failed = not said and not attachments
    said = said or ", ".join(attachment.file_name for attachment in attachments)
    lines = [f"Error: {note}" if failed else f"[Not shown: {note}]" for note in notes]
    return replace(outcome, content="\n".join(filter(None, (said, *lines))), ok=outcome.ok and not failed)
