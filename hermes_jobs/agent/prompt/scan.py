"""What may come into a prompt from files that others wrote."""

from __future__ import annotations

from hermes_jobs.text.scan import Kind, redact_findings

KINDS: tuple[Kind, ...] = ("instruction", "exfiltration", "credential", "hidden")
"""A project may well say how its machines are set up, so what persists on them passes."""


def scanned(text: str) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    return redact_findings(text, KINDS)
