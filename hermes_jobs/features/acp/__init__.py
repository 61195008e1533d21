"""ACP: editors that speak the Agent Client Protocol talk to this agent over standard input and output."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    commands={"acp": Command("cli:acp", "Serve this agent to an editor, by ACP.", "Talk")},
)
