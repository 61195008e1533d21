"""Several models asked for one answer, and a colleague consulted."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__,
    model_steps="steps:handlers",
    tools="tools:consult_tools",
    asking="tools:asking",
)
