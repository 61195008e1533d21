"""The verifications of reviews' results: those of a review, and those that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_jobs.features.replay.rules.experiment import Experiment, stream_of
from hermes_jobs.features.replay.rules.verification import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_jobs.kernel.engine.engine import Engine


def verifications_of(engine: Engine, review: str) -> Iterator[Experiment]:
    """The verifications of a review's results; more than one if it was resumed."""
    for head in engine.log.streams(stream_of(f"{NAMES}{review}")):
        experiment = engine.state(head.stream)
        assert isinstance(experiment, Experiment), f"{head.stream} is not an experiment"
        if experiment.request is not None and experiment.request.review == review:
            yield experiment


def waiting_verifications(engine: Engine) -> Iterator[Experiment]:
    """The verifications that wait for the next day because the day's budget is used up."""
    now = engine.clock.now()
    later = (row.step.stream for row in engine.log.steps() if row.step.not_before > now)
    for stream in dict.fromkeys(candidate for candidate in later if candidate.startswith(stream_of(NAMES))):
        experiment = engine.state(stream)
        assert isinstance(experiment, Experiment), f"{stream} is not an experiment"
        if experiment.waiting is not None:
            yield experiment
