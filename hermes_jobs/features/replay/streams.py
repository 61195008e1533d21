"""The kinds of its streams."""

from __future__ import annotations

from hermes_jobs.features.replay import events
from hermes_jobs.features.replay.rules import experiment, replay, verification
from hermes_jobs.kernel.streams import budgets
from hermes_jobs.kernel.streams.stream_kind import About, StreamKind

STREAMS = (
    StreamKind(
        replay.PREFIX,
        replay.Replay,
        replay.evolve,
        replay.next_steps,
        budgets.helper_charges,
        purpose=verification.purpose_of,
        about=About(events.ReplayPlanned, replay.sessions_of),
    ),
    StreamKind(
        experiment.PREFIX,
        experiment.Experiment,
        experiment.evolve,
        experiment.next_steps,
        budgets.helper_charges,
        purpose=verification.purpose_of,
    ),
)
