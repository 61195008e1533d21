"""What may come into a prompt from files that others wrote."""

from __future__ import annotations

from hermes_jobs.domain.scan import Kind, noted

KINDS: tuple[Kind, ...] = ("instruction", "theft", "credential", "hidden")
"""A project may well say how its machines are set up, so what persists on them passes."""


def scanned(text: str) -> str:
    """The text with suspicious lines and hidden characters replaced by notes that name the rule."""
    return noted(text, KINDS)
