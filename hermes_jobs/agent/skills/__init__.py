"""Skills: procedures that the agent reads and writes down, in the form of https://agentskills.io."""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).parent / "bundled"
"""The skills that come with this program: a user's of the same name takes the place of one."""
