"""The handlers of steps, one file for each kind, in terms of ports: nothing here appends or claims."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import Session
from hermes_jobs.domain.session.steps import Step, StepKind
from hermes_jobs.engine.handlers.ask_member import AskMember
from hermes_jobs.engine.handlers.call_model import CallModel
from hermes_jobs.engine.handlers.compress import Compress
from hermes_jobs.engine.handlers.compression_policy import CompressionPolicy
from hermes_jobs.engine.handlers.flush import Flush
from hermes_jobs.engine.handlers.member_request import MemberRequests
from hermes_jobs.engine.handlers.prefetch import Prefetch
from hermes_jobs.engine.handlers.request_builder import RequestBuilder, TurnLimits
from hermes_jobs.engine.handlers.run_tool import RunTool
from hermes_jobs.engine.ports import Cancel, StepHandler


class RecordUsage:
    """`turn.record_usage`: ends the turn."""

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        return c.FinishTurn(step=step.id)


def session_handlers(
    *,
    prefetch: StepHandler,
    call_model: StepHandler,
    run_tool: RunTool,
    ask_member: StepHandler | None = None,
    flush: Flush | None = None,
    compress: Compress | None = None,
) -> Mapping[StepKind, StepHandler]:
    """The handlers of turns' and compressions' operations, by operation."""
    compression: dict[StepKind, StepHandler] = {}
    if flush is not None and compress is not None:
        compression = {"compression.flush": flush, "compression.compress": compress}
    members: dict[StepKind, StepHandler] = {"turn.reference": ask_member} if ask_member is not None else {}
    return {
        **compression,
        **members,
        "turn.prefetch": prefetch,
        "turn.call_model": call_model,
        "turn.run_tool": run_tool,
        "turn.record_usage": RecordUsage(),
    }
