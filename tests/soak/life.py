"""What happens in the home: what people ask, and what the scripted model does about it."""

from __future__ import annotations

from pathlib import Path

from tests.model_script import Action, Answer, AskedCall, Chooser, Seen
from tests.reviews.talker import is_flush, is_review, is_summary, talker

NOTE = "note.txt"
THINKING = 0.5  # seconds
SCHEDULED = "Look after the garden."


def text_of(number: int) -> str:
    """The text of a turn, whose second word is its tag; every third one needs tools."""
    return ("tool " if number % 3 == 0 else "talk ") + f"tag-{number} " + "word " * 40


def tag_of(text: str) -> str:
    """The tag of such a text."""
    return text.split()[1]


def living(effects: Path) -> Chooser:
    """Answers; writes tags to the file `effects`, each beside a read; saves and summarises like `talker`."""

    def choose(seen: Seen) -> Action:
        if is_summary(seen) or is_flush(seen) or is_review(seen):
            return talker(seen)
        if seen.last_user_text.startswith("tool ") and seen.rounds == 0:
            write = f"echo {tag_of(seen.last_user_text)} >> '{effects}'"
            calls = (AskedCall("terminal", {"command": write}), AskedCall("read_file", {"path": NOTE}))
            return Answer(tool_calls=calls, delay=THINKING)
        return Answer(text=f"Answer to request {seen.number}. " + "blah " * 60, delay=THINKING)

    return choose
