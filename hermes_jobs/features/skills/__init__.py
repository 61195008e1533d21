"""Skills: procedures that the agent reads and writes, in the form of https://agentskills.io."""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).parent / "bundled"
"""The bundled skills; a user's skill of the same name replaces one."""
