"""`turn.run_tool`."""

from __future__ import annotations

from collections.abc import Callable

from hermes_jobs.domain.events import ResponseBooked, ToolFinished, ToolInterrupted
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.loop_guard import REFUSAL, is_blocked, with_warning
from hermes_jobs.domain.session.session import Session, running_turn
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.domain.session.tool_results import preview_of, result_path
from hermes_jobs.domain.session.turn import Call, Turn
from hermes_jobs.engine.handlers.tool_context import tool_context, toolsets_of
from hermes_jobs.engine.ports import CANCELLED, Cancel, StepInterrupted, Toolbox, ToolOutcome


class RunTool:
    """`turn.run_tool`: runs one tool call; ends a wait for approval that has expired."""

    def __init__(self, toolbox: Toolbox, keep: Callable[[str, str], None] | None = None) -> None:
        """`keep(call, content)` writes a large result to a file, which the log holds in any case."""
        self._toolbox = toolbox
        self._keep = keep

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """Run the tool. Raises `StepInterrupted` where it was interrupted by anything but a cancellation."""
        turn = running_turn(session)
        call = turn.call(step.id)
        assert call is not None, f"{step.id} is not a call of {turn.id}"
        if call.approval == "waiting":
            return c.ExpireApproval(step=step.id)
        outcome = self._outcome(session, turn, call, cancel)
        if outcome.interrupted:
            if cancel.reason != CANCELLED:
                raise StepInterrupted
            stopped = ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
            paid_for = tuple(fact for fact in outcome.facts if isinstance(fact, ResponseBooked))
            return c.FinishToolCall(step=step.id, outcome=stopped, facts=paid_for)
        large = outcome.source is None and len(outcome.content) > turn.result_chars
        path = result_path(call.id)
        content = preview_of(outcome.content, path, turn.preview_chars) if large else outcome.content
        finished = ToolFinished(
            turn=turn.id,
            call=call.id,
            ok=outcome.ok,
            content=with_warning(turn.repeats, call.id, call.asked, content),
            attempt=call.attempt,
            invalid=outcome.invalid,
            spilled_to=path if large else None,
            source=outcome.source,
        )
        kept = outcome.content if large else None
        if kept is not None and self._keep is not None:
            self._keep(call.id, kept)
        return c.FinishToolCall(
            step=step.id, outcome=finished, facts=outcome.facts, kept=kept, change=outcome.change
        )

    def _outcome(self, session: Session, turn: Turn, call: Call, cancel: Cancel) -> ToolOutcome:
        if is_blocked(turn.repeats, call.asked):
            return ToolOutcome(content=REFUSAL, ok=False)
        context = tool_context(session, turn, call.id)
        verdict = self._toolbox.verdict(call.asked, context)
        if verdict.decision == "deny" or (verdict.decision == "ask" and call.approval != "given"):
            refusal = f"Error: refused by the rule «{verdict.rule}». Do not try to get around it."
            return ToolOutcome(content=refusal, ok=False)
        # As late as can be: the process may have been stopped since its claim, and the call be another's.
        if cancel.reason not in {None, CANCELLED}:
            raise StepInterrupted
        return self._toolbox.run(call.asked, context, toolsets_of(session, turn), cancel)
