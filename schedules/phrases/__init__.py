"""Reads what people write about when: a sentence is taken apart into its timing and its task, or refused."""

from schedules.phrases.outcome import Reason, Refused, Understood
from schedules.phrases.parser import parse
from schedules.phrases.proposals import INSTRUCTIONS, Interpreter, Proposal, judged, may_ask

__all__ = [
    "INSTRUCTIONS",
    "Interpreter",
    "Proposal",
    "Reason",
    "Refused",
    "Understood",
    "judged",
    "may_ask",
    "parse",
]
