"""What the model does in the tests of faults: one call that writes, beside one that reads, then an answer.

The text of a turn is its tag. The write appends the tag to a file that stands outside of everything, and so
counts how often it happened.
"""

from __future__ import annotations

from pathlib import Path

from tests.model_script import Action, Answer, AskedCall, Chooser, Seen

NOTE = "note.txt"


def write_and_read(effects: Path, *, rounds: int = 1, meanwhile: str = "") -> Chooser:
    """So many rounds of the two calls; a round's line is TAG-ROUND. `meanwhile` is run after the write."""

    def choose(seen: Seen) -> Action:
        tag, done = seen.last_user_text, seen.rounds
        if done == rounds:
            return Answer(text=f"Done: {tag}")
        write = f"echo {tag}-{done} >> '{effects}'; {meanwhile}"
        return Answer(
            tool_calls=(
                AskedCall("terminal", {"command": write}),
                AskedCall("read_file", {"path": NOTE}),
            )
        )

    return choose
