"""Synthetic messages: texts that the program inserts as user, assistant or tool."""

from __future__ import annotations

from hermes_jobs.domain.events import InterruptReason, ModelCallFailed
from hermes_jobs.domain.session.turn import FinalizingReason

NO_ANSWER = "(no answer)"
UNFINISHED = "[interrupted here: the answer is unfinished]"
ENDED_UNANSWERED = "(This request ended before it was answered.)"
ACKNOWLEDGED = "(Noted.)"
ASK_AGAIN = "Your answer was empty. Please answer the request, or say what keeps you from it."
CONTINUE = "You were cut off by the output limit. Go on exactly where you stopped; repeat nothing."
CONCLUDE: dict[FinalizingReason, str] = {
    "max_iterations": (
        "You have used all the tool calls that this request may take. Call no more tools: "
        "answer now from what you have, and say what is still open."
    ),
    "loop_guard": (
        "You are repeating a call that does not get you further. Call no more tools: "
        "answer now from what you have, and say what is still open."
    ),
}
NUDGES = frozenset({ASK_AGAIN, CONTINUE, *CONCLUDE.values()})
"""Texts inserted in the user's place."""
STEERING_PREFIX = "[The user adds, while you work]\n"
CONTINUING = "(I am on it.)"
STOPPED_WITHOUT_WORDS: dict[FinalizingReason, str] = {
    "max_iterations": "I stopped at the limit of tool calls for one request, without a closing answer.",
    "loop_guard": "I stopped because I was repeating the same tool call, without a closing answer.",
}
INTERRUPTED: dict[InterruptReason, str] = {
    "cancelled": "Interrupted: the request was cancelled before this call had finished.",
    "unknown_outcome": (
        "Interrupted: the process that ran this call died. The outcome is unknown: it may have happened, "
        "partly or not at all. Look before you repeat it."
    ),
    "worker_lost": "Error: every worker that ran this call died while doing so. Do not repeat it as it is.",
}


def unfinished(said: str) -> str:
    """The partial text of a cancelled answer, with a mark at its end."""
    return f"{said.rstrip()}\n\n{UNFINISHED}"


def is_unfinished(event: ModelCallFailed) -> bool:
    """Whether the event holds the partial text of a cancelled answer."""
    return event.kind == "cancelled" and bool(event.content.strip())
