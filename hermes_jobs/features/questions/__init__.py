"""Questions of the agent to its person, and plans that a person accepts, changes or refuses."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__, tools="tools:question_tools")
