"""The handlers of its steps, made of an application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.features.replay.api import verifications_of
from hermes_jobs.features.replay.events import CheckResult, Inclusion, VerificationRequested
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.rules.experiment import stream_of
from hermes_jobs.features.replay.rules.replay import limits_of
from hermes_jobs.features.replay.steps.check_answer import CheckAnswer
from hermes_jobs.features.replay.steps.replay_call import AskAgain, ReadTools
from hermes_jobs.features.replay.steps.verify import ConcludeVerification, PlanVerification
from hermes_jobs.features.replay.verified_turns import PastTurn, VerifiedTurns, saved_items

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.replay.rules.replay import Replay
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import Cancel, ModelRequest, SpendingApproval, StepHandler
    from hermes_jobs.kernel.turns.steps import StepKind
    from hermes_jobs.kernel.views.views import Views

LOOKED_AT = 200
"""Newest turns among which unrelated ones are looked for."""


def handlers(application: Application, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""

    def reserve(replay: Replay, request: ModelRequest) -> SpendingApproval:
        return calls.guard.approve_within(partial(limits_of, replay), request)

    def check(command: str, answer: str, cancel: Cancel) -> CheckResult:
        return CheckResult(*application.check_command(command, answer, cancel))

    ask = AskAgain(
        requests=ReplayedRequests(calls.engine.sessions, calls.build_request),
        chosen=calls.models.turn,
        reserve_for=reserve,
        read=ReadTools(application.toolbox, lambda call: calls.asking(call) is not None, calls.rules),
        retries=calls.retries,
        clock=application.clock,
    )
    return {
        "replay.call": ask,
        "experiment.check": CheckAnswer(check),
        "verification.plan": _plan(application, calls.engine),
        "verification.conclude": ConcludeVerification(),
    }


def _plan(application: Application, engine: Engine) -> PlanVerification:
    settings, views = application.settings, application.views
    judge = settings.auxiliary.model or settings.model_name
    return PlanVerification(
        partial(_saved, engine),
        VerifiedTurns(engine.log, engine.sessions, partial(_others, views)),
        judge=settings.models.aliases.get(judge, judge),
        budget_usd=settings.learning.budget_usd,
    )


def _saved(engine: Engine, request: VerificationRequested) -> Sequence[Inclusion]:
    """What the review saved, and no other verification of it is about."""
    others = [
        verification
        for verification in verifications_of(engine, request.review)
        if verification.stream != stream_of(request.experiment)
    ]
    entries = {
        (item.kind, item.versions)
        for other in others
        for variant in (other.plan.variants if other.plan else ())
        for item in variant.including
    }
    return [
        item for item in saved_items(engine.log, request.review) if (item.kind, item.versions) not in entries
    ]


def _others(views: Views) -> Sequence[PastTurn]:
    return [
        PastTurn(id=turn.id, stream=turn.stream, text=turn.text, ended_at=turn.ended_at)
        for turn in views.turns(status="completed", limit=LOOKED_AT)
        if turn.ended_at is not None
    ]
