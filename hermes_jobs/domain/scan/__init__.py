"""What a text may not bring into a prompt or into what is kept: instructions to the agent, theft, secrets.

A pattern is no proof: it keeps the known tricks out and says so, and nothing else relies on it. Rules ask for
combinations, so that words of everyday talk about security, prompts and shells pass.
"""

from __future__ import annotations

from hermes_jobs.domain.scan.finding import KINDS, Finding, Kind
from hermes_jobs.domain.scan.noting import noted
from hermes_jobs.domain.scan.scanning import scan

__all__ = ["KINDS", "Finding", "Kind", "noted", "scan"]
