"""A scripted model that talks, uses tools, saves at flushes and in reviews, and summarises."""

from __future__ import annotations

from hermes_jobs.features.compression.checkpoint import SECTIONS
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.model_script import Action, Answer, AskedCall, Seen

CHECKPOINT = "\n".join(f"## {name}\nNone" for name, _ in SECTIONS)


def is_summary(seen: Seen) -> bool:
    return seen.messages[0]["role"] == "system" and "You write a checkpoint" in seen.messages[0]["content"]


def is_flush(seen: Seen) -> bool:
    return "about to be compressed" in seen.last_user_text


def is_review(seen: Seen) -> bool:
    return "This is a review of the conversation" in seen.last_user_text


def saving(fact: str) -> Answer:
    arguments = {"action": "add", "target": "memory", "content": fact}
    return Answer(tool_calls=(AskedCall("memory", arguments),))


def talker(seen: Seen) -> Action:
    """Uses a tool for every third question, saves at each flush and in the first round of each review."""
    if is_summary(seen):
        return Answer(text=CHECKPOINT)
    if is_flush(seen):
        return saving(f"Flushed in request {seen.number}.")
    if is_review(seen):
        return saving(f"Reviewed in request {seen.number}.") if seen.rounds == 0 else Answer(text="Saved it.")
    if "tool" in seen.last_user_text and seen.rounds == 0:
        return Answer(tool_calls=(AskedCall("terminal", {"command": "echo from the tool"}),))
    return Answer(text=f"Answer to request {seen.number}. " + "blah " * 60)


def question(number: int) -> str:
    return ("tool " if number % 3 == 0 else "") + f"question {number} " + "word " * 40


def long_question(number: int) -> str:
    """One of those that make a compression by hand worth it."""
    return question(number) + "word " * 160


def has_ended(worker: InlineWorker, stream: str, turn: str) -> bool:
    """Whether the turn is over, however it ended."""
    return turn in worker.engine.sessions.load(stream).ended
