"""What the agent may do in the newsroom."""

from pathlib import Path

import hermes_jobs

PUBLISHED = Path(__file__).with_name("published.txt")


@hermes_jobs.tool(effect="read")
def published(word: str = "") -> list[str]:
    """The lines that the newsroom has published, oldest first.

    Args:
        word: only lines with this word
    """
    lines = PUBLISHED.read_text().splitlines() if PUBLISHED.exists() else []
    return [line for line in lines if word in line]
