"""Synthetic messages: texts that the program inserts as user, assistant or tool."""

from __future__ import annotations

from hermes_jobs.kernel.events import InterruptReason, ModelCallFailed
from hermes_jobs.kernel.turns import references
from hermes_jobs.kernel.turns.turn import FinalizingReason

NO_ANSWER = "(no answer)"
REASONING_ONLY = "(The model gave no answer, only this reasoning:)"
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
GO_ON = "Go on where you were stopped. You may use tools again; repeat nothing that is done."
GO_ON_WITH = f"Go on with this request, which was stopped before it was done:\n\n{{text}}\n\n{GO_ON}"
NUDGES = frozenset({ASK_AGAIN, CONTINUE, GO_ON, *CONCLUDE.values()})
"""Texts inserted in the user's place."""
PLAN_MODE = (
    "[Plan mode: read and think, change nothing. Calls that would change something are refused. Propose what "
    "you would do; the user decides whether you may.]"
)
PLAN_MODE_ENDED = "[Plan mode has ended: you may change things again, as asked.]"
SCHEMA_NOTE = (
    "[Answer this with one JSON document that fits the JSON Schema below, and with nothing before or after "
    "it: no explanation, no code fence. You may use tools first.]"
)
CORRECT = (
    "[Your answer does not fit the JSON Schema that was asked for: {faults}. Answer again: one JSON document "
    "that fits the schema below, and nothing before or after it.]"
)
STEERING_PREFIX = "[The user adds, while you work]\n"
RESTORED = (
    "[The user has restored these files to another state: {files}. "
    "Read a file again before you rely on what it held.]"
)
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


def mode_note(*, plans: bool, noted: bool) -> str:
    """The note on plan mode with the user's text: that it is on, or has ended; empty for neither."""
    return PLAN_MODE if plans else PLAN_MODE_ENDED if noted else ""


def schema_note(schema: str) -> str:
    """The note on the schema of the answer, with the user's text; empty without a schema."""
    return f"{SCHEMA_NOTE}\n{schema}" if schema else ""


def answer_correction(faults: str, schema: str) -> str:
    """The note on an answer that does not fit, with the schema: the first note may have been compressed."""
    return f"{CORRECT.format(faults=faults)}\n{schema}"


def is_nudge(text: str) -> bool:
    """Whether the program inserted the text in the user's place."""
    return text in NUDGES or text.startswith((CORRECT.partition("{")[0], references.HEAD))


def without_notes(text: str) -> str:
    """The user's text as it was written."""
    for note in (PLAN_MODE, PLAN_MODE_ENDED):
        text = text.removesuffix(f"\n\n{note}")
    return text.partition(f"\n\n{SCHEMA_NOTE}\n")[0]


def unfinished(text: str) -> str:
    """The partial text of a cancelled answer, with a mark at its end."""
    return f"{text.rstrip()}\n\n{UNFINISHED}"


def is_unfinished(event: ModelCallFailed) -> bool:
    """Whether the event holds the partial text of a cancelled answer."""
    return event.kind == "cancelled" and bool(event.content.strip())
