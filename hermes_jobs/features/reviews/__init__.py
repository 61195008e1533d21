"""Reviews of finished turns: they save memory entries and skills."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    model_steps="begin_review:handlers",
    tables="tables:projections",
    finders={"reviews show": "cli.commands:find_review"},
    commands={
        "reviews": Command(
            "cli.commands:reviews", "Reviews of conversations, and what they saved.", "Inspect"
        )
    },
)
