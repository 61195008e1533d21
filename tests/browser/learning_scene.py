"""Reviews and compressions in every state at once: a script for the model, and how to bring them about."""

from __future__ import annotations

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import stream_of
from tests.model_script import Action, Answer, Hold, Refuse, Seen
from tests.reviews.talker import CHECKPOINT, is_flush, is_review, is_summary, saving
from tests.tools.support import wait_until

CONCURRENCY = 3
"""Threads of the worker: as many as there are reviews that are held, so that what comes after them waits."""
ENVIRON = {
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "3",
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "8000",
    "HERMES_JOBS_COMPRESSION__ENABLED": "false",  # but by hand
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "1",
}
LONG = "blah " * 400
NOTHING = Answer(text="Nothing to save.")
FACT = "Prefers pears."
SHOWN = {
    ("review.memory", "SUCCESS"),
    ("review.memory", "FAILURE"),
    ("review.memory", "STARTED"),
    ("compression.flush", "SUCCESS"),
    ("compression.flush", "RECEIVED"),
    ("compression.compress", "SUCCESS"),
    ("compression.compress", "FAILURE"),
}


def scene(seen: Seen) -> Action:
    """What is sad fails, what is slow is held until the server's release, of what is glad a fact is kept."""
    said = str(seen.messages)
    if is_flush(seen):
        return NOTHING
    if is_summary(seen):
        return Refuse(status=400, message="no such model") if "sad" in said else Answer(text=CHECKPOINT)
    if is_review(seen):
        if "sad" in said:
            return Refuse(status=400, message="no such model")
        if "slow" in said:
            return Hold(answer=NOTHING)
        return saving(FACT) if seen.rounds == 0 else NOTHING
    return Answer(text=f"Yes. {LONG}")


def play(application: Application) -> None:
    """Glad and sad ones are reviewed and compressed; slow ones keep all threads, and what follows waits."""
    for mood in ("glad", "sad"):
        _talk(application, mood, 3)
        _compress(application, mood)
    for number in range(CONCURRENCY):
        _talk(application, f"slow{number}", 3)
    wait_until(lambda: _called_in(application, "session-vslow") == CONCURRENCY, "a review in each thread")
    _request(application, "glad")


def _talk(application: Application, mood: str, count: int) -> None:
    engine = application.engine()
    for number in range(count):
        turn = f"t{mood}{number}"
        engine.submit(e.TurnSubmitted(turn=turn, session=mood, text=f"I feel {mood}, {number}", source="cli"))
        wait_until(lambda turn=turn: turn in engine.sessions.load(stream_of(mood)).ended, turn)  # type: ignore[misc]


def _request(application: Application, mood: str) -> None:
    application.engine().execute(stream_of(mood), c.RequestCompression(reason="manual"))


def _compress(application: Application, mood: str) -> None:
    _request(application, mood)
    engine = application.engine()
    wait_until(lambda: engine.sessions.load(stream_of(mood)).compression is None, "the compression's end")


def _called_in(application: Application, prefix: str) -> int:
    """How many of those streams have come to their model call."""
    log = application.log
    facts = (recorded.event for head in log.streams(prefix) for recorded in log.read(head.stream))
    return sum(isinstance(fact, e.ModelCallStarted) for fact in facts)
