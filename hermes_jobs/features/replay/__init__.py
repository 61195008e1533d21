"""Recorded turns asked again: replays, experiments and verifications."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    model_steps="steps:handlers",
    tables="tables:projections",
    events="events:StreamEvents",
    streams="streams:STREAMS",
    turn_end="rules.verification:requested",
    queues={
        "replay.call": "experiments",
        "experiment.check": "experiments",
        "verification.plan": "experiments",
        "verification.conclude": "experiments",
    },
    finders={"experiments show": "cli.experiments.commands:find_experiment"},
    commands={
        "experiments": Command(
            "cli.experiments.commands:experiments", "Replay past turns in variants, and compare.", "Inspect"
        )
    },
)
