"""The handlers of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_jobs.features.ensembles.steps.ask_member import AskMember
from hermes_jobs.features.ensembles.steps.member_request import MemberRequests
from hermes_jobs.llm.windows import estimated_tokens

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import StepHandler
    from hermes_jobs.kernel.turns.steps import StepKind


def handlers(_application: Application, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    window_of = calls.models.turn.window_of
    requests = MemberRequests(calls.requests, calls.limits, window_of, estimated_tokens)
    return {"turn.reference": AskMember(models=calls.models, requests=requests, retries=calls.retries)}
