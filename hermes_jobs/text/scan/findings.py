"""What a scan reports."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from hermes_jobs.text.clip import one_line

Kind = Literal["instruction", "exfiltration", "persistence", "credential", "hidden", "unscanned", "skill"]
"""What a rule detects: text that steers the agent, reading or sending secrets, staying on a machine, secrets
themselves, invisible characters, a text beyond the scan's limit, and what is harmful in skills alone."""

Severity = Literal["caution", "dangerous"]
KINDS: tuple[Kind, ...] = get_args(Kind)
EXCERPT, SECRET_EXCERPT = 80, 6


class ScanFinding(msgspec.Struct, frozen=True):
    """One match: the rule's name for people, an excerpt, and where it is (`text[start:end]`)."""

    rule: str
    excerpt: str
    kind: Kind
    start: int
    end: int
    severity: Severity = "dangerous"


def excerpt(text: str, kind: Kind) -> str:
    """The text on one line, shortened; of a secret no more than its beginning."""
    line = one_line(text[: 4 * EXCERPT], EXCERPT)
    return f"{line[:SECRET_EXCERPT]}…" if kind == "credential" else line
