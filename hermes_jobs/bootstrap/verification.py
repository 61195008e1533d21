"""What verifications are planned from: what a review saved, and past turns as the read models know them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.domain.replay.experiment import Experiment, stream_of
from hermes_jobs.domain.replay.verification import NAMES
from hermes_jobs.engine.handlers.verify import PlanVerification
from hermes_jobs.engine.saved_items import saved_items
from hermes_jobs.engine.verified_turns import PastTurn, VerifiedTurns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_jobs.domain.events import PutIn, VerificationRequested
    from hermes_jobs.engine.engine import Engine
    from hermes_jobs.settings import Settings
    from hermes_jobs.views import Views

LOOKED_AT = 200  # newest turns among which unrelated ones are looked for


def plan_verification(settings: Settings, engine: Engine, views: Views) -> PlanVerification:
    """The handler of `verification.plan`."""
    learning = settings.learning
    judge = learning.judge or settings.auxiliary.model or settings.model_name
    return PlanVerification(
        partial(_saved, engine),
        VerifiedTurns(engine.log, engine.sessions, partial(_others, views)),
        judge=settings.models.aliases.get(judge, judge),
        budget_usd=learning.budget_usd,
    )


def verifications_of(engine: Engine, review: str) -> Iterator[Experiment]:
    """The verifications of what a review saved; more than one where it was taken up again."""
    for head in engine.log.streams(stream_of(f"{NAMES}{review}")):
        experiment = engine.state(head.stream)
        assert isinstance(experiment, Experiment), f"{head.stream} is no experiment"
        if experiment.request is not None and experiment.request.review == review:
            yield experiment


def _saved(engine: Engine, request: VerificationRequested) -> Sequence[PutIn]:
    """What the review saved, and no other verification of it is about."""
    others = [
        each
        for each in verifications_of(engine, request.review)
        if each.stream != stream_of(request.experiment)
    ]
    known = {
        (item.kind, item.versions)
        for each in others
        for variant in (each.plan.variants if each.plan else ())
        for item in variant.including
    }
    return [
        item for item in saved_items(engine.log, request.review) if (item.kind, item.versions) not in known
    ]


def _others(views: Views) -> Sequence[PastTurn]:
    return [
        PastTurn(id=each.id, stream=each.stream, text=each.text, ended_at=each.ended_at)
        for each in views.turns(status="completed", limit=LOOKED_AT)
        if each.ended_at is not None
    ]
